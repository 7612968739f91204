package iconify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/viewbox"
)

// Selectors of a stylesheet whose request names none (@iconify/utils).
const (
	commonSelector = ".icon--{prefix}"
	iconSelector   = ".icon--{prefix}--{name}"
)

// A Styled is an icon as a stylesheet shows it. Its body is clean: < and > occur in its tags only.
type Styled struct {
	Name string
	Body string
	Box  viewbox.Box
	Own  bool // it is monochrome in a colour of its own, which another one replaces
}

// A rule is a selector with its declarations, in order.
type rule struct {
	selector     string
	declarations []declaration
}

type declaration struct{ property, value string }

// Sheet writes the stylesheet of some icons of a set as getIconsCSS of @iconify/utils does. The set
// is coloured if its icons have colours of their own. A comment counts the missing icons, without
// their names: those are the client's input.
func (o Style) Sheet(prefix string, coloured bool, icons []Styled, missing int) string {
	if o.Mode == "" {
		o.Mode = "mask"
		if coloured || o.Color != "" {
			o.Mode = "background"
		}
	}
	if o.Mode == "mask" && o.Variable == "" && !o.NoVariable {
		o.Variable = "svg"
	}
	if o.Icon == "" {
		o.Common, o.Icon, o.Override = commonSelector, iconSelector, commonSelector+iconSelector
	}
	common := commonDeclarations(o)
	apart := o.Common != "" && o.Common != o.Icon
	var rules []rule
	if apart {
		rules = append(rules, rule{Fill(o.Common, prefix, ""), common})
	}
	var selectors []string
	for _, i := range icons {
		declarations := i.declarations(o)
		selector := o.Icon
		if apart && o.Override != "" && overlap(common, declarations) {
			selector = o.Override
		}
		selector = Fill(selector, prefix, i.Name)
		rules = append(rules, rule{selector, declarations})
		if !apart && !slices.Contains(selectors, selector) {
			selectors = append(selectors, selector)
		}
	}
	switch {
	case len(selectors) == 0:
	case len(rules) == 1:
		rules[0].declarations = joined(common, rules[0].declarations)
	default:
		rules = slices.Insert(rules, 0, rule{strings.Join(selectors, separator(o.Format)), common})
	}
	css := format(rules, o.Format)
	if missing > 0 {
		css += fmt.Sprintf("\n/* %d of the requested icons do not exist */\n", missing)
	}
	return css
}

// commonDeclarations returns what all icons of a stylesheet have in common.
func commonDeclarations(o Style) []declaration {
	list := []declaration{{"display", "inline-block"}, {"width", "1em"}, {"height", "1em"}}
	add := func(property, value string) { list = append(list, declaration{property, value}) }
	masked := func(property, value string) {
		add("-webkit-"+property, value)
		add(property, value)
	}
	if o.Pseudo {
		add("content", "''")
	}
	if o.Mode == "background" {
		if o.Variable != "" {
			add("background-image", "var(--"+o.Variable+")")
		}
		add("background-repeat", "no-repeat")
		add("background-size", "100% 100%")
		return list
	}
	add("background-color", "currentColor")
	if o.Variable != "" {
		masked("mask-image", "var(--"+o.Variable+")")
	}
	masked("mask-repeat", "no-repeat")
	masked("mask-size", "100% 100%")
	return list
}

// declarations returns what only this icon has.
func (i Styled) declarations(o Style) []declaration {
	var list []declaration
	box := i.Box
	if box.Width != box.Height {
		if o.Square {
			side := max(box.Width, box.Height)
			box = viewbox.Box{Left: box.Left - (side-box.Width)/2, Top: box.Top - (side-box.Height)/2, Width: side, Height: side}
		} else {
			list = append(list, declaration{"width", viewbox.Follow("1em", box.Width/box.Height)})
		}
	}
	url := i.url(box, o.Color)
	switch {
	case o.Variable != "":
		list = append(list, declaration{"--" + o.Variable, url})
	case o.Mode == "background":
		list = append(list, declaration{"background-image", url})
	default:
		list = append(list, declaration{"-webkit-mask-image", url}, declaration{"mask-image", url})
	}
	return list
}

// inURL escapes the characters that end a CSS string or an address. The quotation marks of
// attributes become apostrophes; those in their values become references first.
var inURL = strings.NewReplacer(`"`, "'", "'", "%26apos;", "%", "%25", "#", "%23", "<", "%3C", ">", "%3E", `\`, "%5C",
	"\n", " ", "\r", " ", "\t", " ", "\f", " ", "\x00", "")

// url returns the icon as a url() with a data URI.
func (i Styled) url(box viewbox.Box, color string) string {
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg"`)
	if strings.Contains(i.Body, "xlink:") {
		b.WriteString(` xmlns:xlink="http://www.w3.org/1999/xlink"`)
	}
	edges := strings.Split(box.String(), " ")
	fmt.Fprintf(&b, ` viewBox="%s" width="%s" height="%s">`, box, edges[2], edges[3])
	b.WriteString(i.painted(color))
	b.WriteString("</svg>")
	return `url("data:image/svg+xml,` + inURL.Replace(b.String()) + `")`
}

// painted returns the body in a colour; empty: none is asked for.
func (i Styled) painted(color string) string {
	switch {
	case i.Own && color != "" && color != currentColor:
		return string(icon.Replace([]byte(i.Body), color))
	case color == "":
		color = "black"
	}
	return strings.ReplaceAll(i.Body, currentColor, color)
}

// overlap reports whether two lists have a property in common.
func overlap(a, b []declaration) bool {
	return slices.ContainsFunc(b, func(d declaration) bool {
		return slices.ContainsFunc(a, func(c declaration) bool { return c.property == d.property })
	})
}

// joined returns the declarations of both lists; those of the second one count.
func joined(a, b []declaration) []declaration {
	all := slices.Clone(a)
	for _, d := range b {
		if i := slices.IndexFunc(all, func(c declaration) bool { return c.property == d.property }); i >= 0 {
			all[i] = d
		} else {
			all = append(all, d)
		}
	}
	return all
}

func separator(format string) string {
	if format == "compressed" {
		return ","
	}
	return ", "
}

// format writes rules in one of three layouts, as formatCSS of @iconify/utils does.
func format(rules []rule, layout string) string {
	open, before, colon, end, between := " {", "\n  ", ": ", ";\n}\n", "\n"
	switch layout {
	case "compact":
		before, end = " ", "; }\n"
	case "compressed":
		open, before, colon, end, between = "{", "", ":", "}", ""
	}
	var b strings.Builder
	for i, r := range rules {
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(r.selector + open)
		for k, d := range r.declarations {
			if k > 0 {
				b.WriteByte(';')
			}
			b.WriteString(before + d.property + colon + d.value)
		}
		b.WriteString(end)
	}
	return b.String()
}
