package mcp

import (
	"context"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/client"
	"github.com/iconedge/iconedge/client/output"
	"github.com/iconedge/iconedge/client/react"
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
	if !given {
		format = formats[0]
	}
	color, err := args.color()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (result, error) { return l.icon(ctx, ref, format, color) }, nil
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

// icon returns an icon in one format. It checks the SVG for every format, because the server at the
// API's address need not be the real API.
func (l *library) icon(ctx context.Context, ref icon.Ref, format string, color icon.Color) (result, error) {
	a, err := l.client.Icon(ctx, ref, client.Variant{Color: color})
	if err != nil {
		return result{}, err
	}
	drawn, err := output.Of(ref, a)
	if err != nil {
		return result{}, err
	}
	drawn.Recolored = drawn.Recolored && color != ""
	g := got{Pack: ref.Pack, Name: ref.Name, Format: format, LicenseURL: client.Line(a.Metadata.License.URL), Credit: drawn.Credit, Recolored: drawn.Recolored}
	if g.Content, err = output.Write(format, drawn, output.Options{CDN: l.client.CDN(), Color: color}); err != nil {
		return result{}, err
	}
	if format == "react" {
		g.Component = react.Name(ref.Pack, ref.Name)
	}
	return result{[]string{g.Content, g.words(color)}, g}, nil
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
