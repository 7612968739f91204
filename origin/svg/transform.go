package svg

import (
	"bytes"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/viewbox"
)

// Transform applies v to a clean SVG (Icon.SVG): it rotates, flips, sizes and frames it. Without a
// frame, the result equals that of iconToSVG of @iconify/utils for the same customisations. Without
// a size, the SVG keeps its own numbers, swapped after a quarter turn. Given the height alone, the
// width follows from the ratio of the (rotated) viewBox, and the other way round. Transform returns
// an error if svg is not the output of Clean. It does not change svg.
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
	if inside, err = r.turn(svg, inside, v); err != nil {
		return nil, 0, 0, err
	}
	switch w, h := float64(v.Width), float64(v.Height); {
	case v.Width != 0 && v.Height != 0:
		r.width, r.height = w, h
	case v.Width != 0:
		r.width, r.height = w, viewbox.Scaled(w, r.box.Height/r.box.Width)
	case v.Height != 0:
		r.width, r.height = viewbox.Scaled(h, r.box.Width/r.box.Height), h
	}
	if inside, err = r.frame(inside, v.Frame); err != nil {
		return nil, 0, 0, err
	}
	return r.around(inside), r.width, r.height, nil
}

// turn puts the prefix before the ids of a clean SVG and turns it. It returns the new inside.
func (r *root) turn(svg, inside []byte, v icon.Variant) ([]byte, error) {
	inside, err := prepare(svg, inside, r.box, v)
	if err != nil {
		return nil, err
	}
	inside, r.box = viewbox.Turn{HFlip: v.HFlip, VFlip: v.VFlip, Rotate: v.Rotate}.Apply(inside, r.box)
	if v.Rotate%2 != 0 {
		r.width, r.height = r.height, r.width
	}
	return inside, nil
}

// prepare puts the prefix before the ids of a clean SVG, and replaces the percentages that would
// refer to another side once the SVG is turned by 90 degrees. Most icons have neither: prepare then
// returns the inside as it is.
func prepare(svg, inside []byte, box Box, v icon.Variant) ([]byte, error) {
	named := v.ID != "" && bytes.Contains(svg, []byte(` id="`))
	relative := v.Rotate%2 != 0 && (bytes.IndexByte(svg, '%') >= 0 || bytes.Contains(svg[len(rootStart):], []byte("<svg")) ||
		bytes.Contains(svg, []byte("<symbol")))
	if !named && !relative {
		return inside, nil
	}
	p := parsers.Get().(*parser)
	defer p.release()
	if err := p.parse(svg, true); err != nil {
		return nil, err
	}
	top := p.nodes[0].first
	if named {
		prefix := p.prefix(v.ID)
		s := scoping{rename: func(kind nameKind, name string) string {
			if kind == idOf || kind == referredID {
				return prefix + name
			}
			return name
		}}
		if err := s.apply(p); err != nil {
			return nil, err
		}
	}
	if relative {
		p.resolvePercentages(top, box, true)
	}
	return p.writeInside(make([]byte, 0, len(svg)+256), &p.nodes[top]), nil
}

// timed reports whether an animation begins or ends with another one, which its id names.
func (p *parser) timed() bool {
	for i := range p.nodes {
		for _, a := range p.nodes[i].attrs {
			if (a.info.name == "begin" || a.info.name == "end") && syncBase.Match(a.value) {
				return true
			}
		}
	}
	return false
}
