package svg

import "github.com/iconedge/iconedge/icon"

// Transform shows a clean drawing (Drawing.SVG) as v asks: turned, flipped, and sized in pixels. The result is what
// iconToSVG of @iconify/utils gives for the same customisations; without a size, the drawing's own numbers stay, swapped
// where it lies on its side. Given the height alone, the width follows the ratio of the (turned) viewBox, and the other way
// round. The error says that svg is not a drawing that Clean made; svg is not changed.
func Transform(svg []byte, v icon.Variant) (out []byte, width, height float64, err error) {
	r, inside, err := readRoot(svg)
	if err != nil {
		return nil, 0, 0, err
	}
	if v.Plain() {
		return svg, r.width, r.height, nil
	}
	inside, r.box = turned(inside, r.box, Turn{HFlip: v.HFlip, VFlip: v.VFlip, Rotate: v.Rotate})
	if v.Rotate%2 != 0 {
		r.width, r.height = r.height, r.width
	}
	switch w, h := float64(v.Width), float64(v.Height); {
	case v.Width != 0 && v.Height != 0:
		r.width, r.height = w, h
	case v.Width != 0:
		r.width, r.height = w, follow(w, r.box.Height/r.box.Width)
	case v.Height != 0:
		r.width, r.height = follow(h, r.box.Width/r.box.Height), h
	}
	return r.around(inside), r.width, r.height, nil
}
