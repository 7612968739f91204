// Package output writes an icon in the forms in which programs insert it: SVG, a React component,
// declarations of CSS, an address, a data URI, a name. It decides which form fits a document, and
// how the credit stands above it; text of the API never ends a comment and never becomes code.
//
// clients/testdata/output.json has its cases. It makes no request.
package output

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/iconedge/iconedge/client"
	"github.com/iconedge/iconedge/client/react"
	"github.com/iconedge/iconedge/icon"
)

// Forms lists the forms of an icon. Auto chooses one by the language of the document.
var Forms = []string{"svg", "react", "css", "url", "datauri", "name"}

// Auto is the form that Choose replaces.
const Auto = "auto"

// An Icon is what a form is made of.
type Icon struct {
	icon.Ref
	SVG           string // not needed for css, url and name
	Credit        client.Credit
	Monochrome    bool
	Recolored     bool    // the service has applied the requested colour
	Width, Height float64 // of the requested variant
}

// Of returns the icon of an API's response. It fails if the SVG could run a script or load
// something, because the service need not be the one that cleans its icons.
func Of(ref icon.Ref, a *icon.Answer) (Icon, error) {
	if err := react.Check(a.SVG); err != nil {
		return Icon{}, &client.Error{Sentence: "The icon service returned an SVG for " + ref.String() + " that is not safe to use.", Err: err}
	}
	m := a.Metadata
	return Icon{Ref: ref, SVG: a.SVG, Credit: client.CreditOf(a.License, m.Attribution, m.CommercialUse),
		Monochrome: m.Monochrome, Recolored: m.Recolored, Width: m.Width, Height: m.Height}, nil
}

// Options are the choices of a user.
type Options struct {
	CDN   string // base address, without a slash at its end
	Color icon.Color
	Size  int // height in pixels; 0: the icon's own
	// Separator is between pack and name in the form name; empty: a slash. The prefix i- makes the
	// class of an icon.
	Separator string
	Prefix    string
}

// Write returns an icon in a form, without the credit; react has it in a comment of its own.
func Write(form string, i Icon, o Options) (string, error) {
	switch form {
	case "svg":
		return i.SVG, nil
	case "react":
		return component(i, o)
	case "css":
		return css(i, o), nil
	case "url":
		return Address(i, o), nil
	case "datauri":
		return DataURI(i.SVG), nil
	case "name":
		separator := o.Separator
		if separator == "" {
			separator = "/"
		}
		return o.Prefix + i.Pack + separator + i.Name, nil
	}
	return "", &client.Error{Sentence: "The form must be one of " + strings.Join(Forms, ", ") + "."}
}

func component(i Icon, o Options) (string, error) {
	d, err := react.Render(i.SVG)
	if errors.Is(err, react.ErrRefused) {
		return "", &client.Error{Sentence: i.Ref.String() + " can't be a React component; ask for format svg, url or datauri.", Err: err}
	}
	if err != nil {
		return "", err
	}
	if o.Size > 0 {
		d.Width, d.Height = number(i.Width), number(i.Height)
	}
	return d.Component(react.Name(i.Pack, i.Name), Words(i)), nil
}

// Words returns the credit of an icon as one line: its name, licence and attribution.
func Words(i Icon) string { return i.Ref.String() + ": " + i.Credit.String() }

// css returns declarations. A monochrome icon is a mask, so that it takes the colour of the text.
func css(i Icon, o Options) string {
	where := fmt.Sprintf("url(%q) center / contain no-repeat;", o.CDN+"/"+i.Ref.String()+".svg")
	lines := []string{"background: " + where}
	if i.Monochrome {
		color := "currentColor"
		if o.Color != "" {
			color = string(o.Color)
		}
		lines = []string{"mask: " + where, "background-color: " + color + ";"}
	}
	if o.Size > 0 {
		width := float64(o.Size)
		if i.Height > 0 && i.Width > 0 {
			width = float64(o.Size) * i.Width / i.Height
		}
		lines = append(lines, "width: "+number(width)+"px;", "height: "+strconv.Itoa(o.Size)+"px;")
	}
	return strings.Join(lines, "\n")
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// Address returns the address of an icon on the CDN, in its colour and size.
func Address(i Icon, o Options) string {
	values := url.Values{}
	if o.Color != "" && i.Recolored {
		values.Set("color", string(o.Color))
	}
	if o.Size > 0 {
		values.Set("size", strconv.Itoa(o.Size))
	}
	address := o.CDN + "/" + i.Ref.String() + ".svg"
	if len(values) > 0 {
		address += "?" + values.Encode()
	}
	return address
}

// DataURI returns an SVG as a data URI (RFC 2397). It is in base64, so no character has a meaning
// in HTML, CSS or JavaScript.
func DataURI(svg string) string {
	return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(svg))
}

// languages lists the form that a document of each language gets; the identifiers are those of the
// Language Server Protocol.
var languages = map[string][]string{
	"css":   {"css", "scss", "less", "sass", "stylus", "postcss"},
	"react": {"javascriptreact", "typescriptreact"},
	"svg":   {"html", "vue", "svelte", "astro", "xml", "svg"},
	"url":   {"markdown", "mdx"},
}

// Choose returns the form for a document of a language, such as html.
func Choose(form, language string) string {
	if form != Auto && form != "" {
		return form
	}
	for form, names := range languages {
		if slices.Contains(names, language) {
			return form
		}
	}
	return "name"
}

// Insert returns the text to insert into a document: the icon in its form, and above svg and css
// its credit in a comment. Without credit, the comment is left out, unless the licence requires it.
func Insert(form, language string, i Icon, o Options, credit bool) (string, error) {
	form = Choose(form, language)
	text, err := Write(form, i, o)
	if err != nil {
		return "", err
	}
	if form == "url" && slices.Contains(languages["url"], language) {
		return "![" + i.Ref.String() + "](" + text + ")", nil
	}
	credit = credit || i.Credit.Required()
	switch {
	case form == "react" && !credit:
		_, text, _ = strings.Cut(text, "\n") // its first line is the comment
	case form == "svg" && credit && slices.Contains(languages["react"], language):
		text = "{/* " + escape(Words(i)) + " */}\n" + text
	case form == "svg" && credit:
		text = "<!-- " + escape(Words(i)) + " -->\n" + text
	case form == "css" && credit:
		text = "/* " + escape(Words(i)) + " */\n" + text
	}
	return text, nil
}

// escape makes a line fit for a comment of HTML, CSS and JavaScript alike: it ends none of them,
// and begins none.
func escape(s string) string {
	s = client.Line(s)
	for _, sign := range [...]string{"*/", "/*", "--", "<!", "->"} {
		for strings.Contains(s, sign) {
			s = strings.ReplaceAll(s, sign, sign[:1]+" "+sign[1:])
		}
	}
	return strings.NewReplacer("{", "(", "}", ")", "`", "'").Replace(s)
}
