package svg

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/iconedge/iconedge/icon/geometry"
	"github.com/iconedge/iconedge/icon/viewbox"
)

// widths describes the widths of all strokes that are painted, also in masks.
type widths struct {
	one     float64 // the width of all of them, in units of the viewBox; 0: there is no stroke yet
	implied bool    // some have the initial width, because nothing declares one
	fixed   bool    // the width is in pixels at any size of the icon
	differ  bool    // they differ, or change, or are not known
}

// add takes in a stroke.
func (w *widths) add(width float64, p pen) {
	const same = 1e-3 // transforms are written with few digits
	switch {
	case !(width > 0): // not known: NaN
		w.differ = true
	case w.one == 0:
		w.one, w.fixed = width, p.fixed
	case p.fixed != w.fixed:
		w.differ = true
	case math.Abs(width-w.one) > same*w.one:
		w.differ = true
	}
	w.implied = w.implied || p.implied
}

// A pen draws the strokes of an element.
type pen struct {
	width   float64 // in the units of the element; NaN: not known
	implied bool    // nothing declares the width
	scale   float64 // of these units in the viewBox; NaN: not known, or not alike in all directions
	fixed   bool    // the scale does not change the width
}

// inherit returns the pen of an element with declarations d.
func (p pen) inherit(d *declared) pen {
	if v := d[propStrokeWidth]; v != nil && string(bytes.TrimSpace(*v)) != "inherit" {
		p.width, p.implied = strokeLength(*v), false
	}
	return p
}

// placed returns the pen of an element at the place where it is painted.
func (j *analyser) placed(p pen, n *node, d *declared) pen {
	p.fixed = d[propVectorEffect] != nil && string(bytes.TrimSpace(*d[propVectorEffect])) != "none"
	nested := n.elem.name == "svg" && !(j.p.document && n.parent == 0)
	if d[propScale] != nil || nested || n.elem.role == roleSymbol && n.attr(attributes["viewBox"]) != nil {
		p.scale = math.NaN()
	}
	if v := d[propTransform]; v != nil {
		p.scale *= scaleOf(*v)
	}
	return p
}

// maxTransform is the length in bytes of the longest transform whose scale is determined, because a
// rule can apply it to each of thousands of elements.
const maxTransform = 256

// scaleOf returns the factor by which a transform scales in all directions; NaN: there is none.
func scaleOf(v []byte) float64 {
	if len(v) > maxTransform {
		return math.NaN()
	}
	s := strings.TrimSpace(string(v))
	m, ok := geometry.Transform(s)
	switch {
	case ok:
		x, y := math.Hypot(m[0], m[1]), math.Hypot(m[2], m[3])
		if skew := m[0]*m[2] + m[1]*m[3]; math.Abs(x-y) > 1e-3*x || math.Abs(skew) > 1e-3*x*y {
			return math.NaN()
		}
		return x
	case resizes(v):
		return math.NaN()
	}
	return 1 // CSS, such as rotate(45deg)
}

// resizes reports whether a transform of CSS may do more than rotate and move.
func resizes(v []byte) bool {
	s := strings.ToLower(string(v))
	return slices.ContainsFunc([]string{"scale", "matrix", "skew", "perspective", "var("},
		func(word string) bool { return strings.Contains(s, word) })
}

// strokeLength returns the length of a stroke-width; NaN: it depends on something else.
func strokeLength(v []byte) float64 {
	if isZero(&v) {
		return 0
	}
	const longest = 32
	if s := readSide(string(v[:min(len(v), longest)])); s.pixels > 0 && !s.relative && len(v) <= longest {
		return s.pixels
	}
	return math.NaN()
}

// stroke takes in the stroke of a shape.
func (j *analyser) stroke(p pen) {
	if p.width == 0 {
		return
	}
	if p.fixed {
		p.scale = 1
	}
	j.widths.add(p.width*p.scale, p)
}

// A stencil is a mask, and the scale of the element that it hides parts of.
type stencil struct {
	mask  int32
	scale float64
}

// cut notes the masks of a painted element.
func (j *analyser) cut(masks *[]byte, p pen) {
	for _, ref := range j.read(masks).refs {
		t := j.p.reference(ref)
		if t == none {
			continue
		}
		s := stencil{t, p.scale}
		if j.p.nodes[t].attrIs("maskContentUnits", "objectBoundingBox") {
			s.scale = math.NaN()
		}
		if !slices.Contains(j.stencils, s) && len(j.stencils) < maxStencils {
			j.stencils = append(j.stencils, s)
		}
	}
}

// maxStencils bounds the masks in which strokes are looked for.
const maxStencils = 64

// maskStrokes takes in the strokes in masks: they draw the shapes that are visible.
func (j *analyser) maskStrokes() {
	m := &analyser{p: j.p, sheets: j.sheets, dynamic: j.dynamic, stencils: j.stencils}
	m.widths = j.widths
	for k := 0; k < len(m.stencils); k++ {
		st := m.styleOf(m.stencils[k].mask)
		st.pen.scale = m.stencils[k].scale
		m.children(m.stencils[k].mask, st)
	}
	if len(m.stencils) == maxStencils {
		m.differ = true
	}
	j.widths = m.widths
}

var strokeWidthName = []byte("stroke-width")

// strokeWidth returns the width of all strokes in an icon whose viewBox has that height; 0: they
// have not one width, or Restroke could not change it in the SVG as it is written.
func (j *analyser) strokeWidth(written []byte, height float64) float64 {
	j.maskStrokes()
	declared := 0
	j.p.eachDeclaration(func(prop property, _ *[]byte) {
		if prop == propStrokeWidth {
			declared++
		}
	})
	switch {
	case j.differ, j.implied && declared > 0, bytes.Count(written, strokeWidthName) != declared:
		return 0
	}
	one := j.one
	if !j.fixed && height > 0 {
		one *= strokeGrid / height
	}
	return math.Round(one*1000) / 1000
}

// strokeGrid is the height of an icon in the unit of the width of its strokes: most icons with
// strokes are drawn on a grid of 24 pixels.
const strokeGrid = 24

// changesStrokes reports whether a declaration that may or may not apply may change the width of a
// stroke.
func (d *decl) changesStrokes() bool {
	switch d.prop {
	case propStroke, propStrokeWidth, propVectorEffect, propScale, propAll:
		return true
	case propTransform:
		return resizes(d.value)
	}
	return false
}

// animatesStrokes reports whether an animation of a property may change the width of a stroke.
func animatesStrokes(n *node, prop property) bool {
	switch prop {
	case propStroke, propStrokeWidth, propVectorEffect:
		return true
	case propTransform:
		return !n.attrIs("type", "", "translate", "rotate")
	}
	return false
}

// Restroke gives the strokes of a clean SVG, which have the width own, the width to. It keeps the
// ratio of the numbers that are written, because transforms scale some of them.
func Restroke(svg []byte, own, to float64) []byte {
	at := bytes.Index(svg, strokeWidthName)
	if at < 0 { // all have the initial width
		inside := bytes.IndexByte(svg, '>') + 1
		end := len(svg) - len(rootEnd)
		out := append(make([]byte, 0, len(svg)+40), svg[:inside]...)
		out = append(appendWidth(append(out, `<g stroke-width="`...), to/own), `">`...)
		return append(append(append(out, svg[inside:end]...), "</g>"...), svg[end:]...)
	}
	out := make([]byte, 0, len(svg)+64)
	for at >= 0 {
		at += len(strokeWidthName)
		for at < len(svg) && (svg[at] == '=' || svg[at] == '"' || svg[at] == ':' || svg[at] == ' ') {
			at++
		}
		end := at
		for end < len(svg) && ('0' <= svg[end] && svg[end] <= '9' || svg[end] == '.') {
			end++
		}
		out = append(out, svg[:at]...)
		if f, err := strconv.ParseFloat(string(svg[at:end]), 64); err == nil {
			out = appendWidth(out, f*to/own)
		} else {
			out = append(out, svg[at:end]...)
		}
		svg = svg[end:]
		at = bytes.Index(svg, strokeWidthName)
	}
	return append(out, svg...)
}

// appendWidth appends a width with so many digits as can be seen.
func appendWidth(dst []byte, f float64) []byte {
	return viewbox.AppendNumber(dst, math.Round(f*1e4)/1e4)
}
