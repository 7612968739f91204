package svg

import (
	"bytes"
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	rootForm = regexp.MustCompile(`^<svg xmlns="http://www\.w3\.org/2000/svg"( xmlns:xlink="http://www\.w3\.org/1999/xlink")? ` +
		`width="[0-9.e+-]+" height="[0-9.e+-]+" viewBox="[0-9.e+-]+ [0-9.e+-]+ [0-9.e+-]+ [0-9.e+-]+"( preserveAspectRatio="none")?( color="#[0-9A-Fa-f]{3,6}")?>`)
	cssEscape  = regexp.MustCompile(`\\([0-9a-fA-F]{1,6})[ \t\n]?|\\(.)`)
	cssComment = regexp.MustCompile(`(?s)/\*.*?\*/`)
	// binds matches a whole declaration.
	binds    = regexp.MustCompile(`(^|[;{}])\s*((-ms-)?behavior|-moz-binding)\s*:[^;{]*([;}]|$)`)
	internal = regexp.MustCompile(`^\(\s*["']?#`)
	pixelURL = regexp.MustCompile(`^data:image/(png|jpeg|jpg|gif|webp);base64,[A-Za-z0-9+/]+=*$`)
)

// faults lists everything in a clean SVG that is not allowed. It shares no code with the cleaner:
// it uses another parser, lists of forbidden instead of allowed names, and a rough reading of CSS.
func faults(doc []byte) (list []string) {
	add := func(what string) { list = append(list, what) }
	if !utf8.Valid(doc) {
		add("it is not UTF-8")
	}
	if bytes.Contains(doc, []byte("<!")) || bytes.Contains(doc, []byte("<?")) {
		add("it has a declaration")
	}
	if !rootForm.Match(doc) {
		add("the root has the wrong form")
	}
	dec := xml.NewDecoder(bytes.NewReader(doc))
	inStyle, depth := false, 0
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return list
		}
		if err != nil {
			return append(list, "encoding/xml can't read it: "+err.Error())
		}
		switch t := tok.(type) {
		case xml.StartElement:
			depth++
			if depth > maxDepth+2 {
				add("the elements are nested too deep")
			}
			inStyle = t.Name.Local == "style"
			if t.Name.Space != svgSpace {
				add("an element of another namespace")
			}
			switch strings.ToLower(t.Name.Local) {
			case "script", "foreignobject", "iframe", "a", "handler", "metadata", "embed", "object",
				"link", "meta", "base", "audio", "video", "img":
				add("an element " + t.Name.Local)
			}
			for _, a := range t.Attr {
				list = append(list, attrFaults(t, a)...)
			}
		case xml.EndElement:
			depth--
			inStyle = false
		case xml.CharData:
			if inStyle {
				list = append(list, cssFaults(string(t))...)
			}
		default:
			add("markup other than elements and text")
		}
	}
}

func attrFaults(e xml.StartElement, a xml.Attr) (list []string) {
	name, value := strings.ToLower(a.Name.Local), a.Value
	switch {
	case a.Name.Space == "xmlns":
		if value != xlinkSpace {
			list = append(list, "a namespace is declared")
		}
		return list
	case name == "xmlns":
		if value != svgSpace {
			list = append(list, "another namespace is declared")
		}
		return list
	case strings.HasPrefix(name, "on"), strings.HasPrefix(name, "data-"), name == "src", name == "base":
		list = append(list, "an attribute "+name)
	case name == "href" && !strings.HasPrefix(value, "#") &&
		!(strings.HasSuffix(strings.ToLower(e.Name.Local), "image") && pixelURL.MatchString(value)):
		list = append(list, "an href of "+value)
	case name == "attributename":
		// Browsers ignore names that merely contain one of these.
		switch v := strings.TrimSpace(strings.ToLower(value)); {
		case v == "href", v == "style", v == "src", v == "class", v == "id", strings.HasPrefix(v, "on"), strings.Contains(v, ":"):
			list = append(list, "an animation of "+value)
		}
	}
	switch name {
	case "id", "class", "lang", "role", "type", "media", "version", "baseprofile", "requiredfeatures",
		"requiredextensions", "systemlanguage",
		// Words that no browser follows.
		"aria-label", "aria-hidden", "aria-labelledby", "aria-describedby", "space":
		return list
	}
	if strings.Contains(value, "(") || name == "style" {
		return append(list, cssFaults(value)...)
	}
	return list
}

// cssFaults looks for CSS that fetches or runs something, with comments removed and escapes
// decoded.
func cssFaults(css string) (list []string) {
	css = cssComment.ReplaceAllString(css, "")
	css = strings.ToLower(cssEscape.ReplaceAllStringFunc(css, func(s string) string {
		if m := cssEscape.FindStringSubmatch(s); m[1] != "" {
			var r rune
			for _, c := range m[1] {
				r = r<<4 | rune(hexDigit(byte(c)))
			}
			return string(r)
		}
		return s[1:]
	}))
	for rest := css; ; {
		_, after, found := strings.Cut(rest, "url")
		if !found {
			break
		}
		if strings.HasPrefix(after, "(") && !internal.MatchString(after) {
			list = append(list, "a url() that refers outside of the SVG: "+css)
		}
		rest = after
	}
	if binds.MatchString(css) {
		list = append(list, "a property that binds a script: "+css)
	}
	for _, bad := range []string{"@import", "@font-face", "@charset", "@namespace", "expression(", "image-set(", "src(", "script:", "//"} {
		if strings.Contains(css, bad) {
			list = append(list, "CSS with "+bad+": "+css)
		}
	}
	return list
}
