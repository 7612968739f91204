package site

import (
	"html/template"
	"net/url"
	"strconv"

	"github.com/iconedge/iconedge/icon"
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
	Monochrome bool
	PackName   string // empty: the list is of one pack
	License    string // empty: the list does not name it
	Restricted bool   // its licence allows no commercial use
}

// Page returns the address of the icon's page.
func (p picture) Page() string { return "/icon/" + p.Ref.String() }

// Image returns the address of the icon, on the page's own host.
func (p picture) Image() string { return "/" + p.Ref.String() + ".svg" }

// Class returns the class by which the style sheet shows the icon on a dark ground.
func (p picture) Class() string { return classOf(p.Monochrome) }

// classOf returns the class of an icon: m is black, and white on a dark ground; c has its own
// colours.
func classOf(monochrome bool) string {
	if monochrome {
		return "m"
	}
	return "c"
}
