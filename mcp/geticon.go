package mcp

import (
	"context"
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/mcp/react"
)

type got struct {
	Pack       string `json:"pack"`
	Name       string `json:"name"`
	Format     string `json:"format"`
	Content    string `json:"content"`
	Component  string `json:"component,omitempty"`
	LicenseURL string `json:"license_url"`
	credit
	Recolored bool `json:"recolored"`
}

var formats = []string{"svg", "react", "url", "datauri"}

func getIcon(l *library, args arguments) (func(context.Context) (output, error), error) {
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
	return func(ctx context.Context) (output, error) { return l.icon(ctx, ref, format, color) }, nil
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
func (l *library) icon(ctx context.Context, ref icon.Ref, format string, color icon.Color) (output, error) {
	a, err := l.upstream.icon(ctx, ref, color)
	if err != nil {
		return output{}, err
	}
	m := a.Metadata
	g := got{Pack: ref.Pack, Name: ref.Name, Format: format, LicenseURL: line(m.License.URL),
		credit: creditOf(a.License, m.Attribution, m.CommercialUse), Recolored: color != "" && m.Recolored}
	if err := react.Check(a.SVG); err != nil {
		return output{}, refusef("The icon service returned an SVG for %s that is not safe to use.", ref)
	}
	if err := g.fill(a.SVG, l.cdn, color); err != nil {
		return output{}, err
	}
	return output{[]string{g.Content, g.words(color)}, g}, nil
}

// fill sets the content.
func (g *got) fill(svg, cdn string, color icon.Color) error {
	switch g.Format {
	case "react":
		d, err := react.Render(svg)
		if errors.Is(err, react.ErrRefused) {
			return refusef("%s can't be a React component; ask for format svg, url or datauri.", g.ref())
		}
		if err != nil {
			return err
		}
		g.Component = react.Name(g.Pack, g.Name)
		g.Content = d.Component(g.Component, g.ref()+": "+g.credit.String())
	case "url":
		g.Content = cdn + "/" + g.ref() + ".svg"
		if g.Recolored {
			g.Content += "?" + url.Values{"color": {string(color)}}.Encode()
		}
	case "datauri":
		g.Content = dataURI(svg)
	default:
		g.Content = svg
	}
	return nil
}

func (g *got) ref() string { return g.Pack + "/" + g.Name }

// words returns the credit of the icon, and says so if the colour was not applied.
func (g *got) words(color icon.Color) string {
	s := g.ref() + ": " + g.credit.String() + ". Keep license and attribution where you use it."
	if g.LicenseURL != "" {
		s += " License text: " + g.LicenseURL
	}
	if color != "" && !g.Recolored {
		s += "\nThe color was not applied: this icon has colors of its own."
	}
	return s
}

// dataURI returns an SVG as a data URI (RFC 2397). It is in base64, so no character has a meaning
// in HTML, CSS or JavaScript.
func dataURI(svg string) string {
	return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(svg))
}
