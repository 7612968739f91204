package svg

import (
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/viewbox"
)

// Transform applies v to a clean SVG (Icon.SVG): it rotates, flips and sizes it. The result equals
// that of iconToSVG of @iconify/utils for the same customisations. Without a size, the SVG keeps
// its own numbers, swapped after a quarter turn. Given the height alone, the width follows from the
// ratio of the (rotated) viewBox, and the other way round. Transform returns an error if svg is not
// the output of Clean. It does not change svg.
func Transform(svg []byte, v icon.Variant) (out []byte, width, height float64, err error) {
	r, inside, err := readRoot(svg)
	if err != nil {
		return nil, 0, 0, err
	}
	if v.Plain() {
		return svg, r.width, r.height, nil
	}
	if v.Box || v.Download || v.WidthText != "" || v.HeightText != "" {
		out, err := Customise(svg, v, true)
		return out, r.width, r.height, err
	}
	inside, r.box = viewbox.Turn{HFlip: v.HFlip, VFlip: v.VFlip, Rotate: v.Rotate}.Apply(inside, r.box)
	if v.Rotate%2 != 0 {
		r.width, r.height = r.height, r.width
	}
	switch w, h := float64(v.Width), float64(v.Height); {
	case v.Width != 0 && v.Height != 0:
		r.width, r.height = w, h
	case v.Width != 0:
		r.width, r.height = w, viewbox.Scaled(w, r.box.Height/r.box.Width)
	case v.Height != 0:
		r.width, r.height = viewbox.Scaled(h, r.box.Width/r.box.Height), h
	}
	return r.around(inside), r.width, r.height, nil
}
