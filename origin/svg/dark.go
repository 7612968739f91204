package svg

import (
	"bytes"
	"fmt"

	"github.com/iconedge/iconedge/icon"
)

// Darken returns a clean monochrome SVG in the colour light, and in dark where the reader prefers
// dark pages. Without light, the icon keeps its own colour, which may be that of the text. Its
// content becomes a group, which has the light colour, and a rule for the dark one. The class of
// the rule names the colour, so that in a page with several such icons no rule changes another.
func Darken(svg []byte, light, dark icon.Color) ([]byte, error) {
	r, inside, err := readRoot(svg)
	if err != nil {
		return nil, err
	}
	literal := icon.Literal(svg)
	if literal == nil {
		return svg, nil // it paints nothing
	}
	if own, err := icon.ParseColor(string(literal)); light == "" && err == nil {
		light = own
	}
	r.color = ""
	color, opacity := parted(dark)
	class := darkClass + string(dark[1:])
	out := fmt.Appendf(make([]byte, 0, len(inside)+256), `<g class="%s"`, class)
	if light != "" {
		color, opacity := parted(light)
		out = fmt.Appendf(out, ` color="%s"`, color)
		if opacity != "1" {
			out = fmt.Appendf(out, ` opacity="%s"`, opacity)
		}
	}
	// The rule has an opacity also if it is 1, because the light colour may have another one.
	out = fmt.Appendf(out, `><style>@media (prefers-color-scheme:dark){.%s{color:%s;opacity:%s}}</style>`, class, color, opacity)
	out = append(out, bytes.ReplaceAll(inside, literal, []byte("currentColor"))...)
	return r.around(append(out, "</g>"...)), nil
}

// darkClass begins the class of a group with a rule for dark pages.
const darkClass = "iconedge-dark-"

// parted returns a colour without its alpha, and the alpha as an opacity of the whole icon, because
// its shapes may lie upon each other.
func parted(c icon.Color) (color icon.Color, opacity string) {
	p, _ := icon.ReadColor(string(c))
	return c.Opaque(), string(icon.AppendShare(nil, p.A))
}
