package mcp

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	client "github.com/iconedge/iconedge/clients/go"
	"github.com/iconedge/iconedge/clients/go/output"
	"github.com/iconedge/iconedge/clients/go/react"
	"github.com/iconedge/iconedge/icon"
)

type got struct {
	Pack       string `json:"pack"`
	Name       string `json:"name"`
	Format     string `json:"format"`
	Content    string `json:"content"`
	Component  string `json:"component,omitempty"`
	LicenseURL string `json:"license_url"`
	client.Credit
	Recolored bool `json:"recolored"`
}

var formats = []string{"svg", "react", "url", "datauri"}

func getIcon(l *library, args arguments) (func(context.Context) (result, error), error) {
	var ref icon.Ref
	var err error
	if ref.Pack, err = args.key("pack", "lucide"); err != nil {
		return nil, err
	}
	if ref.Name, err = args.key("name", "trash-2"); err != nil {
		return nil, err
	}
	format, given, err := args.text("format")
	if err != nil || given && !slices.Contains(formats, format) {
		return nil, refusef("format must be one of %s.", strings.Join(formats, ", "))
	}
	picture, err := args.picture(given)
	if err != nil {
		return nil, err
	}
	switch {
	case picture:
		format = output.PNG
	case !given:
		format = formats[0]
	}
	v, err := args.variant(picture)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (result, error) { return l.icon(ctx, ref, format, v) }, nil
}

// id reads the prefix of the ids within; if it is absent, the result is empty.
func (a arguments) id() (string, error) {
	value, given, err := a.text("id")
	if err != nil || !given {
		return "", err
	}
	v, err := icon.ParseVariant(icon.Params{"id": value})
	if err != nil {
		return "", refusef("%s.", err)
	}
	return v.ID, nil
}

// picture reports whether output asks for a picture, which then has no other format.
func (a arguments) picture(formatted bool) (bool, error) {
	value, given, err := a.text("output")
	switch {
	case err != nil:
		return false, err
	case given && value != "text" && value != output.PNG:
		return false, refusef("output must be text or png.")
	case value == output.PNG && formatted:
		return false, refusef("format is for output text; leave it out for output png.")
	}
	return value == output.PNG, nil
}

// variant reads the colour, the prefix of ids, the style and, of a picture, its size and ground.
func (a arguments) variant(picture bool) (v client.Variant, err error) {
	if v.Color, err = a.color(); err != nil {
		return v, err
	}
	if v.ID, err = a.id(); err != nil {
		return v, err
	}
	if v.Style, err = a.style(); err != nil {
		return v, err
	}
	_, sized := a["size"]
	background, grounded, err := a.text("background")
	switch {
	case err != nil:
		return v, err
	case !picture && (sized || grounded):
		return v, refusef("size and background are for output png.")
	case !picture:
		return v, nil
	}
	if v.Height, err = a.whole("size", icon.DefaultPicture, icon.MaxPicture); err != nil {
		return v, err
	}
	if grounded {
		if v.Frame, err = icon.ParseFrame(icon.Params{"background": background}); err != nil {
			return v, refusef("background must be a CSS color, such as #ffffff or white.")
		}
	}
	return v, nil
}

// color reads a hex colour; if it is absent, the result is empty.
func (a arguments) color() (icon.Color, error) {
	value, given, err := a.text("color")
	if err != nil || !given {
		return "", err
	}
	c, err := icon.ParseColor(value)
	if err != nil {
		return "", refusef("color must be a hex color, such as #ff0000 or #f00.")
	}
	return c, nil
}

// style reads the width of strokes and the second colour.
func (a arguments) style() (icon.Style, error) {
	p := icon.Params{}
	if value, given, err := a.text("secondary"); err != nil {
		return icon.Style{}, err
	} else if given {
		p["secondary"] = value
	}
	if width, given := a["stroke"]; given {
		p["stroke"] = string(width) // a number, or something that is refused
	}
	s, err := icon.ParseStyle(p)
	if err != nil {
		return s, refusef("%s.", err)
	}
	return s, nil
}

// icon returns an icon in one format. It checks the SVG for every format, because the server at the
// API's address need not be the real API.
func (l *library) icon(ctx context.Context, ref icon.Ref, format string, v client.Variant) (result, error) {
	a, err := l.client.Icon(ctx, ref, v)
	if err != nil {
		return result{}, err
	}
	drawn, err := output.Of(ref, a)
	if err != nil {
		return result{}, err
	}
	drawn.Recolored = drawn.Recolored && v.Color != ""
	g := got{Pack: ref.Pack, Name: ref.Name, Format: format, LicenseURL: client.Line(a.Metadata.License.URL),
		Credit: drawn.Credit, Recolored: drawn.Recolored}
	words := strings.Join(append([]string{g.words(v.Color)}, output.Unstyled(drawn, v.Style)...), "\n")
	if format == output.PNG {
		picture, err := l.client.Picture(ctx, ref, v)
		g.Content = base64.StdEncoding.EncodeToString(picture)
		return result{texts: []string{words}, picture: picture, structured: g}, err
	}
	if g.Content, err = output.Write(format, drawn, output.Options{CDN: l.client.CDN(), Variant: v}); err != nil {
		return result{}, err
	}
	if format == "react" {
		g.Component = react.Name(ref.Pack, ref.Name)
	}
	return result{texts: []string{g.Content, words}, structured: g}, nil
}

func (g *got) ref() string { return g.Pack + "/" + g.Name }

// words returns the credit of the icon, and says so if the colour was not applied.
func (g *got) words(color icon.Color) string {
	s := g.ref() + ": " + g.Credit.String() + ". Keep license and attribution where you use it."
	if g.LicenseURL != "" {
		s += " License text: " + g.LicenseURL
	}
	if color != "" && !g.Recolored {
		s += "\nThe color was not applied: this icon has colors of its own."
	}
	return s
}
