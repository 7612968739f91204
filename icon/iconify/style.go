package iconify

import (
	"net/url"
	"strings"

	"github.com/iconedge/iconedge/icon"
)

// A Style is the options of a stylesheet. The zero Style is the default.
type Style struct {
	Format string // compact or compressed; empty: expanded
	Mode   string // mask or background; empty: as the set's palette needs
	Color  string // of monochrome icons as backgrounds; canonical, or currentColor
	Square bool
	Pseudo bool // the selectors are those of pseudo-elements
	// Selectors with the placeholders {prefix} and {name}. Common and Override count only with an
	// Icon. An empty Common joins the common rules with those of the icons.
	Common, Icon, Override string
	// Variable is the name of the CSS variable for the image. Its default depends on the mode.
	Variable   string
	NoVariable bool
}

const currentColor = "currentColor"

// Recolours reports whether the stylesheet asks for a colour that replaces the own one of an icon.
func (s Style) Recolours() bool { return s.Color != "" && s.Color != currentColor }

var styleParams = []string{
	"format", "mode", "color", "square", "forceSquare", "force-square", "pseudo", "pseudoSelector", "pseudo-selector",
	"common", "commonSelector", "selector", "iconSelector", "override", "overrideSelector", "var", "varName",
}

const (
	maxSelector = 200
	maxVariable = 64
)

// parseStyle reads the options. A value that is not valid counts as absent.
func parseStyle(p icon.Params) (s Style) {
	if f := p["format"]; f == "compact" || f == "compressed" {
		s.Format = f
	}
	switch p["mode"] {
	case "mask":
		s.Mode = "mask"
	case "background", "bg":
		s.Mode = "background"
	}
	if c := p["color"]; icon.IsCurrentColor(c) {
		s.Color = currentColor
	} else if hex, ok := icon.CSSColor(c); ok {
		s.Color = string(hex)
	}
	s.Square = isTrue(first(p, "square", "forceSquare", "force-square"))
	s.Pseudo = isTrue(first(p, "pseudo", "pseudoSelector", "pseudo-selector"))
	if s.Icon = selector(first(p, "iconSelector", "selector"), true); s.Icon != "" {
		s.Common = selector(first(p, "commonSelector", "common"), false)
		s.Override = selector(first(p, "overrideSelector", "override"), true)
	}
	_, short := p["var"]
	_, long := p["varName"]
	switch name := first(p, "varName", "var"); {
	case !short && !long:
	case name == "", name == "null", isFalse(name):
		s.NoVariable = true
	case isVariable(name):
		s.Variable = name
	}
	return s
}

// first returns the first parameter that is not empty.
func first(p icon.Params, names ...string) string {
	for _, name := range names {
		if p[name] != "" {
			return p[name]
		}
	}
	return ""
}

func isVariable(s string) bool {
	return len(s) <= maxVariable && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// Placeholders in selectors.
const (
	prefixMark = "{prefix}"
	nameMark   = "{name}"
)

// selectorBytes are the characters of a selector besides placeholders. They allow no at-rule, no
// escape, no comment and no block.
const selectorBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:[]=\"'*>+~ #(),"

// unquoted removes what Iconify removes from selectors.
var unquoted = strings.NewReplacer(`'`, "", `"`, "", ">", "")

// selector returns a selector, or "" if it is not valid. Its brackets must be balanced and it must
// have no url(), so that the rest of the stylesheet keeps its meaning.
func selector(s string, named bool) string {
	bare := strings.ReplaceAll(s, prefixMark, "")
	if named {
		bare = strings.ReplaceAll(bare, nameMark, "")
	}
	if len(bare) > maxSelector || len(s) > maxCanonical || strings.Trim(bare, selectorBytes) != "" {
		return ""
	}
	s = strings.TrimSpace(unquoted.Replace(s))
	if strings.Contains(strings.ToLower(s), "url(") || !balanced(s) {
		return ""
	}
	return s
}

const maxCanonical = 1000

func balanced(s string) bool {
	var open []byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '(':
			open = append(open, ')')
		case '[':
			open = append(open, ']')
		case ')', ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return false
			}
			open = open[:len(open)-1]
		}
	}
	return len(open) == 0
}

// query returns the canonical parameters.
func (s Style) query() (q []string) {
	for _, o := range []struct {
		name, value string
	}{
		{"format", s.Format}, {"mode", s.Mode}, {"color", s.Color}, {"common", s.Common}, {"selector", s.Icon},
		{"override", s.Override}, {"var", s.Variable},
	} {
		if o.value != "" {
			q = append(q, o.name+"="+url.QueryEscape(o.value))
		}
	}
	if s.NoVariable {
		q = append(q, "var=0")
	}
	if s.Square {
		q = append(q, "square=1")
	}
	if s.Pseudo {
		q = append(q, "pseudo=1")
	}
	return q
}

// Fill returns a selector with its placeholders replaced. Prefix and name must be valid keys.
func Fill(selector, prefix, name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(selector, prefixMark, prefix), nameMark, name)
}
