package site

import (
	"html/template"
	"net/url"
	"strconv"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/catalog"
)

// functions are those that templates call.
var functions = template.FuncMap{
	"groups":   groups,
	"plural":   plural,
	"linkable": linkable,
	"advice":   advice,
	"options":  options,
	"query":    url.QueryEscape,
	"add":      func(a, b int) int { return a + b },
}

// groups returns the digits of a number in groups of three. Pages show them apart, by style alone,
// so that the text stays the number.
func groups(n int) (parts []string) {
	s := strconv.Itoa(n)
	for len(s) > 3 {
		parts = append([]string{s[len(s)-3:]}, parts...)
		s = s[:len(s)-3]
	}
	return append([]string{s}, parts...)
}

// plural returns word, with an s unless n is 1.
func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// linkable reports whether an address in the metadata of a pack can be a link.
func linkable(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// A picture is an icon in a list.
type picture struct {
	Ref        icon.Ref
	Name       string // in the list
	Look       look
	PackName   string // empty: the list is of one pack
	License    string // empty: the list does not name it
	Restricted bool   // its licence allows no commercial use
}

// Page returns the address of the icon's page.
func (p picture) Page() string { return "/icon/" + p.Ref.String() }

// Image returns the address of the icon, on the page's own host.
func (p picture) Image() string { return "/" + p.Ref.String() + ".svg" }

// Class returns the class by which the style sheet shows the icon on a dark ground.
func (p picture) Class() string { return p.Look.class() }

// A look says how a page shows an icon, by the icon's colours.
type look uint8

const (
	own   look = iota // it has colours of its own
	text              // it has the colour of the text
	light             // it is of one light colour
)

// lookOf returns the look of an icon. Color is that of a monochrome icon.
func lookOf(monochrome bool, color icon.Color) look {
	switch {
	case !monochrome:
		return own
	case color == "":
		return text
	}
	c, _ := icon.ReadColor(string(color))
	if luma := 299*int(c.R) + 587*int(c.G) + 114*int(c.B); luma > 220_000 { // of 255,000
		return light
	}
	return own
}

// lookIn returns the look of an icon of a release.
func lookIn(ic catalog.Icon) look {
	if !ic.Own {
		return lookOf(ic.Monochrome, "")
	}
	return lookOf(true, ic.Meta().Color)
}

// class returns the class of an icon: m is black, and white on a dark ground; c has its own
// colours, and l needs a dark ground.
func (l look) class() string {
	switch l {
	case text:
		return "m"
	case light:
		return "c l"
	}
	return "c"
}
