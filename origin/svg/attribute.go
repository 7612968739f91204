package svg

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"strings"
)

// filterAttrs appends the attributes of p.raw that may stay to p.attrs. It reports whether the
// element may stay with them: an animation of an attribute that must not change, or an image
// without pixels, is useless once that attribute is removed.
func (p *parser) filterAttrs(elem *element) (ok bool, err error) {
	first := len(p.attrs)
	ok = true
	for i := range p.raw {
		raw := &p.raw[i]
		info := attributes[string(raw.name)]
		if bytes.IndexByte(raw.name, ':') >= 0 {
			if info, err = p.qualifiedAttr(raw.name); err != nil {
				return false, err
			}
		}
		if info == nil {
			p.noteAttribute(raw.name, nil)
			continue
		}
		a := attr{info: info, value: raw.value, simple: raw.simple}
		keep, harmless := p.checkAttr(elem, &a)
		ok = ok && harmless
		if !keep {
			p.noteAttribute(raw.name, raw.value)
			continue
		}
		for _, other := range p.attrs[first:] { // two prefixes of one namespace
			if other.info == info {
				return false, malformed("an attribute is given twice")
			}
		}
		p.attrs = append(p.attrs, a)
	}
	return ok && p.complete(elem, p.attrs[first:]), nil
}

// complete reports whether an element still has an effect with its remaining attributes.
func (p *parser) complete(elem *element, attrs []attr) bool {
	switch elem.role {
	case roleImage:
		for _, a := range attrs {
			if a.info.check == checkHref {
				return true
			}
		}
		return false
	case roleStyle:
		for _, a := range attrs {
			if a.info == attrType && !strings.EqualFold(string(bytes.TrimSpace(a.value)), "text/css") {
				return false
			}
		}
	}
	return true
}

// checkAttr decides whether an attribute is kept, and normalises its value. It returns harmless =
// false if the element itself must be left out.
func (p *parser) checkAttr(elem *element, a *attr) (keep, harmless bool) {
	switch a.info.check {
	case checkCSS:
		return a.setCSS(), true
	case checkPaint:
		keep = a.setCSS() // setCSS decodes escapes, so canonicalCurrent runs after it
		a.value = canonicalCurrent(a.value)
		return keep, true
	case checkStyle:
		if outsideURL.Match(a.value) {
			p.note(outside)
		}
		return a.setStyle(), true
	case checkHref:
		if !elem.refer {
			return false, true
		}
		if !a.setHref(elem) {
			return false, elem.role != roleAnimation // without href, it would animate its parent
		}
		p.xlink = p.xlink || a.info == attrXlinkHref
		return true, true
	case checkTarget:
		return true, elem.role == roleAnimation && mayAnimate(a.value)
	case checkAnimated:
		a.value = canonicalCurrent(a.value)
		harmless := harmlessValues(a.value)
		return harmless, harmless
	case checkName:
		p.named = p.named || a.info == attrID
		return a.info != attrClass || len(a.value) <= maxClass, true
	case checkPlain:
		return harmlessPlain(a.value), true
	case checkSpace: // some SVGs repeat the declaration on an inner element
		return string(a.value) == svgSpace, true
	}
	return true, true
}

// setHref keeps references within the SVG, and the data: URLs of raster images.
func (a *attr) setHref(elem *element) bool {
	v := bytes.Trim(a.value, " \t\r\n")
	inside := len(v) > 0 && v[0] == '#'
	if elem.role == roleImage || elem.name == "feImage" && !inside {
		if v = pixels(v); v == nil {
			return false
		}
	} else if !inside {
		return false
	}
	a.value, a.simple = v, a.simple && bytes.Equal(a.value, v)
	return true
}

// pixels returns a data: URL of a raster image in normal form; nil if v is no such URL. The first
// bytes of the image decide about its kind, as in browsers, not the media type of the URL. Raster
// formats hold nothing but pixels; an SVG within an SVG would not be cleaned.
func pixels(v []byte) []byte {
	const scheme, coding = "data:", ";base64"
	if len(v) < len(scheme) || !strings.EqualFold(string(v[:len(scheme)]), scheme) {
		return nil
	}
	media, code, found := bytes.Cut(v[len(scheme):], []byte{','})
	if n := len(media) - len(coding); !found || n < 0 || !strings.EqualFold(string(media[n:]), coding) {
		return nil
	}
	text, err := url.PathUnescape(string(code))
	if err != nil {
		return nil
	}
	// Browsers accept white space in the code, and a missing end (Infra Standard, section 8).
	text = strings.TrimRight(strings.Join(strings.Fields(text), ""), "=")
	data, err := base64.RawStdEncoding.DecodeString(text)
	kind := pixelKind(data)
	if err != nil || kind == "" {
		return nil
	}
	return base64.StdEncoding.AppendEncode([]byte("data:image/"+kind+";base64,"), data)
}

// pixelKind returns the format of a raster image; "" if it is none.
func pixelKind(data []byte) string {
	for _, format := range [...]struct{ name, magic string }{
		{"png", "\x89PNG\r\n\x1a\n"}, {"jpeg", "\xff\xd8\xff"}, {"gif", "GIF87a"}, {"gif", "GIF89a"},
	} {
		if bytes.HasPrefix(data, []byte(format.magic)) {
			return format.name
		}
	}
	if len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP" {
		return "webp"
	}
	return ""
}

// harmlessPlain reports whether the value of a plain attribute is free of anything that looks like
// a URL. Browsers follow no URL in these attributes, but other SVG software may treat some of them
// differently.
func harmlessPlain(v []byte) bool {
	if bytes.IndexByte(v, '(') < 0 {
		return true
	}
	if bytes.IndexByte(v, '\\') >= 0 || bytes.Contains(v, []byte("/*")) {
		return false
	}
	s := strings.ToLower(string(v))
	for _, sign := range [...]string{"url(", "src(", "image(", "image-set(", "expression(", "//", "script:", "behavior", "@"} {
		if strings.Contains(s, sign) {
			return false
		}
	}
	return true
}

// mayAnimate reports whether an animation may change the attribute with this name. References,
// event handlers and styles must not change.
func mayAnimate(name []byte) bool {
	s := strings.ToLower(string(name))
	for _, c := range []byte(s) {
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-') {
			return false
		}
	}
	switch s {
	case "", "href", "src", "style", "class", "id", "attributename", "xmlns", "type", "media", "target", "values",
		"from", "to", "by", "begin", "end", "cursor":
		return false
	}
	return !strings.HasPrefix(s, "on") && !strings.HasPrefix(s, "xlink") && !strings.HasPrefix(s, "xml")
}

// harmlessValues reports whether the values of an animation have nothing in them that a browser
// could follow or run. References within the SVG are refused too, because checkExpansion counts
// references as they are in the file and not as an animation would make them.
func harmlessValues(v []byte) bool {
	if bytes.IndexByte(v, '\\') >= 0 { // no honest tool writes escapes here
		return false
	}
	if bytes.IndexByte(v, '(') < 0 && bytes.IndexByte(v, ':') < 0 {
		return true
	}
	tight := strings.ToLower(string(bytes.Join(bytes.Fields(v), nil)))
	for _, scheme := range [...]string{"script:", "data:", "http:", "https:", "file:", "blob:"} {
		if strings.Contains(tight, scheme) {
			return false
		}
	}
	for part := range bytes.SplitSeq(v, []byte{';'}) {
		if _, ok := cleanValue(part); !ok {
			return false
		}
	}
	refers := false
	eachURL(v, func([]byte) { refers = true })
	return !refers
}
