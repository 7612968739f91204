package svg

import (
	"strconv"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/viewbox"
)

// Body returns the content of the <svg> element of a clean SVG, and its viewBox.
func Body(svg []byte) (inside []byte, box Box, err error) {
	r, inside, err := readRoot(svg)
	return inside, r.box, err
}

// Customise returns a variant of a clean SVG in the way of Iconify's SVG address (iconToSVG of
// @iconify/utils): the attributes are written as requested, and a missing one follows by the ratio
// of the viewBox. If both are missing, the SVG has the size of the text around it (1em), or, with
// own, its own size in pixels.
func Customise(svg []byte, v icon.Variant, own bool) ([]byte, error) {
	r, inside, err := readRoot(svg)
	if err != nil {
		return nil, err
	}
	if inside, err = r.turn(svg, inside, v); err != nil {
		return nil, err
	}
	width, height := text(v.Width, v.WidthText), text(v.Height, v.HeightText)
	switch {
	case width == "" && height == "" && own:
		width, height = viewbox.Number(r.width), viewbox.Number(r.height)
	case width == "":
		if height == "" {
			height = "1em"
		} else if height == "auto" {
			height = viewbox.Number(r.box.Height)
		}
		width = viewbox.Follow(height, r.box.Width/r.box.Height)
	case height == "":
		if width == "auto" {
			width = viewbox.Number(r.box.Width)
		}
		height = viewbox.Follow(width, r.box.Height/r.box.Width)
	}
	if width == "auto" {
		width = viewbox.Number(r.box.Width)
	}
	if height == "auto" {
		height = viewbox.Number(r.box.Height)
	}
	if inside, err = r.frame(inside, v.Frame); err != nil {
		return nil, err
	}
	if v.Box {
		inside = append(rectangle(r.box), inside...)
	}
	if !own {
		r.color = "" // Iconify's SVGs have no such attribute
	}
	return r.written(width, height, inside), nil
}

func text(pixels int, s string) string {
	if pixels != 0 {
		return strconv.Itoa(pixels)
	}
	return s
}

// rectangle returns a transparent rectangle of the size of a box.
func rectangle(b Box) []byte {
	return []byte(`<rect ` + place(b) + `" fill="rgba(255, 255, 255, 0)"/>`)
}

// written is around with attributes as text; it leaves out those that are none.
func (r root) written(width, height string, inside []byte) []byte {
	out := append(make([]byte, 0, len(inside)+256), rootStart...)
	if r.xlink {
		out = append(out, rootXlink...)
	}
	for _, a := range [][2]string{{"width", width}, {"height", height}} {
		if a[1] != "none" {
			out = append(out, ` `+a[0]+`="`+a[1]+`"`...)
		}
	}
	out = append(out, ` viewBox="`+r.box.String()+`"`...)
	if r.stretched {
		out = append(out, rootFills...)
	}
	if r.color != "" {
		out = append(out, rootColor+r.color+`"`...)
	}
	out = append(append(out, '>'), inside...)
	return append(out, rootEnd...)
}
