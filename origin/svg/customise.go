package svg

import (
	"bytes"
	"math"
	"strconv"

	"github.com/iconedge/iconedge/icon"
)

// Body returns the content of the <svg> element of a clean SVG, and its viewBox.
func Body(svg []byte) (inside []byte, box Box, err error) {
	r, inside, err := readRoot(svg)
	return inside, r.box, err
}

// ParseBox reads a viewBox in the form of Box.String.
func ParseBox(s string) (b Box, ok bool) {
	edges := bytes.Split([]byte(s), []byte{' '})
	to := []*float64{&b.Left, &b.Top, &b.Width, &b.Height}
	if len(edges) != len(to) {
		return b, false
	}
	for i, e := range edges {
		f, err := strconv.ParseFloat(string(e), 64)
		if err != nil {
			return b, false
		}
		*to[i] = f
	}
	return b, true
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
	inside, r.box = turned(inside, r.box, Turn{HFlip: v.HFlip, VFlip: v.VFlip, Rotate: v.Rotate})
	if v.Rotate%2 != 0 {
		r.width, r.height = r.height, r.width
	}
	width, height := text(v.Width, v.WidthText), text(v.Height, v.HeightText)
	switch {
	case width == "" && height == "" && own:
		width, height = number(r.width), number(r.height)
	case width == "":
		if height == "" {
			height = "1em"
		} else if height == "auto" {
			height = number(r.box.Height)
		}
		width = Follow(height, r.box.Width/r.box.Height)
	case height == "":
		if width == "auto" {
			width = number(r.box.Width)
		}
		height = Follow(width, r.box.Height/r.box.Width)
	}
	if width == "auto" {
		width = number(r.box.Width)
	}
	if height == "auto" {
		height = number(r.box.Height)
	}
	if v.Box {
		inside = append(rectangle(r.box), inside...)
	}
	return r.written(width, height, inside), nil
}

func text(pixels int, s string) string {
	if pixels != 0 {
		return strconv.Itoa(pixels)
	}
	return s
}

// Follow returns the other side of a side that is a number, with or without a unit, as
// calculateSize of @iconify/utils does. Any other value stays as it is.
func Follow(side string, ratio float64) string {
	digits, unit := icon.SplitLength(side)
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || ratio == 1 || math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return side
	}
	return number(scaledSide(f, ratio)) + unit
}

// rectangle returns a transparent rectangle of the size of a box.
func rectangle(b Box) []byte {
	return []byte(`<rect x="` + number(b.Left) + `" y="` + number(b.Top) + `" width="` + number(b.Width) + `" height="` + number(b.Height) +
		`" fill="rgba(255, 255, 255, 0)"/>`)
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
	out = append(append(out, ` viewBox="`+r.box.String()+`">`...), inside...)
	return append(out, rootEnd...)
}
