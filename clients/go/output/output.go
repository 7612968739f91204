// Package output writes an icon in the forms in which programs insert it: SVG, a React component,
// declarations of CSS, an address, a data URI, a name, the address of a picture. It decides which
// form fits a document, and how the credit stands above it; text of the API never ends a comment
// and never becomes code.
//
// clients/testdata/output.json has its cases. It makes no request.
package output

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/clients/go/react"
	"github.com/iconedge/iconedge/icon"
)

// Forms lists the forms of an icon. Auto chooses one by the language of the document.
var Forms = []string{"svg", "react", "css", "url", "datauri", "name", PNG}

// PNG is the form of an icon in pixels. As text it is the address of the picture, for documents; a
// program that takes pictures gets them from Client.Picture.
const PNG = "png"

// extensions are those of files with a form; that of the others is .txt.
var extensions = map[string]string{"svg": ".svg", "react": ".tsx", "css": ".css", PNG: ".png"}

// FileName returns the name of a file with an icon in a form.
func FileName(form string, ref icon.Ref) string {
	return ref.Pack + "-" + ref.Name + cmp.Or(extensions[form], ".txt")
}

// Auto is the form that Choose replaces.
const Auto = "auto"

// An Icon has the data that every form is made from.
type Icon struct {
	icon.Ref
	SVG           string // not needed for css, url and name
	Credit        client.Credit
	Monochrome    bool
	Color         icon.Color // of a monochrome icon; empty: that of the text
	Recolored     bool       // the service has applied the requested colour
	Stroke        float64    // width of all strokes at a height of 24 pixels; 0: they have not one
	TwoTone       bool
	Width, Height float64 // of the requested variant
}

// Of returns the icon of an API's response. It fails if the SVG could run a script or load
// something, because the service need not be the one that cleans its icons.
func Of(ref icon.Ref, a *icon.Answer) (Icon, error) {
	if err := react.Check(a.SVG); err != nil {
		return Icon{}, &client.Error{Sentence: "The icon service returned an SVG for " + ref.String() +
			" that is not safe to use.", Err: err}
	}
	m := a.Metadata
	stroke := 0.0
	if m.Stroke != nil {
		stroke = *m.Stroke
	}
	return Icon{Ref: ref, SVG: a.SVG, Credit: client.CreditOf(a.License, m.Attribution, m.CommercialUse),
		Monochrome: m.Monochrome, Color: ColorOf(m.Color), Recolored: m.Recolored,
		Stroke: stroke, TwoTone: m.TwoTone, Width: m.Width, Height: m.Height}, nil
}

// Options are the choices of a user.
type Options struct {
	CDN string // base address, without a slash at its end
	client.Variant
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
	case PNG:
		o.Variant = o.Variant.Picture()
		return address(i, o, ".png"), nil
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
	if o.Width > 0 || o.Height > 0 {
		d.Width, d.Height = number(i.Width), number(i.Height)
	}
	return d.Component(react.Name(i.Pack, i.Name), Words(i)), nil
}

// Unstyled returns sentences about the parts of a style that the icon can't have.
func Unstyled(i Icon, s icon.Style) (sentences []string) {
	if s.Stroke != 0 && i.Stroke == 0 {
		sentences = append(sentences, "The stroke was not applied: this icon has no strokes of one width.")
	}
	if s.Secondary != "" && !i.TwoTone {
		sentences = append(sentences, "The secondary color was not applied: this icon does not have two tones.")
	}
	return sentences
}

// Words returns the credit of an icon as one line: its name, licence and attribution.
func Words(i Icon) string { return i.Ref.String() + ": " + i.Credit.String() }

// ColorOf returns the colour that an icon has in the API; empty: that of the text.
func ColorOf(c *icon.Color) icon.Color {
	if c == nil {
		return ""
	}
	return *c
}

// css returns declarations. An icon is a mask, so that it takes the colour of the text or another
// one, unless it or its ground has colours of its own. The size is that of the element.
func css(i Icon, o Options) string {
	at := o
	at.Width, at.Height = 0, 0
	toned := o.Style.Of(i.Stroke, i.TwoTone).Secondary != ""
	masked := i.Monochrome && (i.Color == "" || o.Color != "") && o.Background == "" && !toned
	if o.Background == "" && !toned {
		at.Color = ""
	}
	where := fmt.Sprintf("url(%q) center / contain no-repeat;", Address(i, at))
	lines := []string{"background: " + where}
	if masked {
		color := "currentColor"
		if o.Color != "" {
			color = string(o.Color)
		}
		lines = []string{"mask: " + where, "background-color: " + color + ";"}
	}
	if o.Width > 0 || o.Height > 0 {
		ratio := 1.0
		if i.Height > 0 && i.Width > 0 {
			ratio = i.Width / i.Height
		}
		width, height := float64(o.Width), float64(o.Height)
		if width == 0 {
			width = height * ratio
		}
		if height == 0 {
			height = width / ratio
		}
		lines = append(lines, "width: "+number(width)+"px;", "height: "+number(height)+"px;")
	}
	return strings.Join(lines, "\n")
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// Address returns the address of an icon's SVG on the CDN, in its colour and size.
func Address(i Icon, o Options) string { return address(i, o, ".svg") }

func address(i Icon, o Options, extension string) string {
	if !i.Recolored {
		o.Color = ""
	}
	o.ID, o.Style = "", o.Style.Of(i.Stroke, i.TwoTone) // ids are only for markup
	a := o.CDN + "/" + i.Ref.String() + extension
	if q := o.Query(); len(q) > 0 {
		a += "?" + q.Encode()
	}
	return a
}

// adapted returns the address of an icon in an image of Markdown. An icon in the colour of the text
// is black in an image, and invisible on dark pages: it gets a colour for each kind of page.
func adapted(address string, i Icon, o Options) string {
	switch {
	case !i.Monochrome || i.Color != "" || o.Color != "":
		return address
	case strings.Contains(address, "?"):
		return address + "&color=000&dark=fff"
	}
	return address + "?color=000&dark=fff"
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
	if (form == "url" || form == PNG) && slices.Contains(languages["url"], language) {
		if form == "url" {
			text = adapted(text, i, o)
		}
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
