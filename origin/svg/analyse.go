package svg

import (
	"bytes"
	"math"
	"slices"
	"strconv"
)

// A verdict lists the colours that an SVG is painted in.
type verdict struct {
	colors       []rgba    // all but currentColor, without their alpha, each once, and at most two
	sources      []*[]byte // the values that set them
	translucent  bool      // some of these values have an alpha
	defaultBlack []int32   // elements painted black because they declare no paint
	current      bool      // currentColor is painted
	mixed        bool      // a colour has a source that can't be replaced by itself
	uncertain    bool      // some colours can't be determined
}

// monochrome reports whether every painted colour is currentColor. That also holds for an SVG that
// paints nothing.
func (v *verdict) monochrome() bool { return !v.uncertain && len(v.colors) == 0 }

// An analyser finds the colours of an SVG by following the way a browser paints it. Where it can't
// determine them, it says so in uncertain.
type analyser struct {
	verdict
	widths
	p        *parser
	sheets   cascade
	dynamic  bool // hidden elements may become visible
	masks    []int32
	stencils []stencil
	tones    *tones         // takes in the opacity of what is painted; nil: it does not
	seen     map[int32]bool // elements painted through references
	long     map[*[]byte]*reading
}

// A reading is what the analyser reads in a value.
type reading struct {
	paint paint
	refs  [][]byte // every "#id"
	only  []byte   // the "#id" that is all of the value; nil: it is more, or none
}

// maxShort is the length of the longest value in bytes that is read again for each element that it
// applies to. Few values are longer.
const maxShort = 64

// read reads a value. A rule can apply a long one to each of thousands of elements.
func (j *analyser) read(src *[]byte) *reading {
	if r := j.long[src]; r != nil {
		return r
	}
	r := &reading{paint: readPaint(*src)}
	r.only, _ = onlyURL(bytes.TrimSpace(*src))
	eachURL(*src, func(ref []byte) { r.refs = append(r.refs, ref) })
	if len(*src) > maxShort {
		if j.long == nil {
			j.long = map[*[]byte]*reading{}
		}
		j.long[src] = r
	}
	return r
}

// paintOf is read for the paint alone.
func (j *analyser) paintOf(src *[]byte) paint {
	if len(*src) > maxShort {
		return j.read(src).paint
	}
	return readPaint(*src)
}

// firstVisit reports whether an element is painted through a reference for the first time.
func (j *analyser) firstVisit(i int32) bool {
	if j.seen[i] {
		return false
	}
	if j.seen == nil {
		j.seen = map[int32]bool{}
	}
	j.seen[i] = true
	return true
}

// inherited holds the properties that an element takes over from its parent.
type inherited struct {
	fill, stroke, color               paint
	opacity                           float64 // of all groups that the element is in
	fillOpacity, strokeOpacity        float64
	thin                              bool // strokes have no width
	hidden                            bool
	markerStart, markerMid, markerEnd *[]byte
	pen                               pen
}

// initial has the initial values of these properties.
var initial = inherited{opacity: 1, fillOpacity: 1, strokeOpacity: 1, pen: pen{width: 1, implied: true, scale: 1}}

// faint is the opacity below which a paint is not visible: design programs export the areas that
// react to a click as paints with an opacity of one percent.
const faint = 0.02

// analyse returns the colours of everything that is painted. Masks and clip paths are not painted:
// they only hide parts of other elements.
func (p *parser) analyse() *analyser {
	j := &analyser{p: p}
	if len(p.sheets) > 0 {
		j.sheets = p.cascade()
	}
	j.uncertain, j.differ = j.sheets.uncertain, j.sheets.restrokes
	j.dynamic = p.animated || j.sheets.inexact
	if p.animated {
		j.animations()
	}
	j.children(0, initial)
	return j
}

func (j *analyser) children(parent int32, in inherited) {
	for c := j.p.nodes[parent].first; c != none; c = j.p.nodes[c].next {
		j.paint(c, in)
	}
}

// paint follows an element as its role requires.
func (j *analyser) paint(i int32, in inherited) {
	n := &j.p.nodes[i]
	if n.elem == nil {
		return
	}
	switch n.elem.role {
	case roleGroup, roleShape, roleLine, roleUse:
	case roleText, roleImage:
		j.uncertain = true
		j.differ = j.differ || n.elem.role == roleText
		return
	default:
		return
	}
	d := j.sheets.declaredOn(n)
	if j.hides(&d) {
		return
	}
	st := j.inherit(in, &d)
	st.opacity *= j.opacity(d[propOpacity], 1)
	if st.opacity < faint {
		return
	}
	j.tones.fade(i, &d, st.opacity)
	st.pen = j.placed(st.pen, n, &d)
	j.effects(&d, st.pen)
	switch n.elem.role {
	case roleGroup:
		j.children(i, st)
	case roleUse:
		j.use(n, st)
	default:
		j.shape(i, n, st)
	}
}

// hides reports whether an element and all its content is not drawn.
func (j *analyser) hides(d *declared) bool {
	return !j.dynamic && d[propDisplay] != nil && string(bytes.TrimSpace(*d[propDisplay])) == "none"
}

// opacity returns a declared opacity, or unless if there is none. It is 1 where it may change.
func (j *analyser) opacity(v *[]byte, unless float64) float64 {
	switch {
	case j.dynamic:
		return 1
	case v == nil || len(*v) > 32:
		return unless
	}
	s, percent := bytes.CutSuffix(bytes.TrimSpace(*v), []byte{'%'})
	f, err := strconv.ParseFloat(string(s), 64)
	switch {
	case err != nil || math.IsNaN(f):
		return unless
	case percent:
		f /= 100
	}
	return min(max(f, 0), 1)
}

// isZero reports whether a declared number is 0.
func isZero(v *[]byte) bool {
	if v == nil || len(*v) == 0 || len(*v) > 16 {
		return false
	}
	s := bytes.TrimSuffix(bytes.TrimSpace(*v), []byte{'%'})
	if len(s) == 1 {
		return s[0] == '0'
	}
	f, err := strconv.ParseFloat(string(s), 64)
	return err == nil && f == 0
}

// inherit returns the style of an element with declarations d in a parent with style in.
func (j *analyser) inherit(in inherited, d *declared) inherited {
	for _, p := range [...]struct {
		to   *paint
		prop property
	}{{&in.fill, propFill}, {&in.stroke, propStroke}, {&in.color, propColor}} {
		src := d[p.prop]
		if src == nil {
			continue
		}
		got := j.paintOf(src)
		got.src = src
		if got.kind == paintInherit || p.prop == propColor && got.kind == paintCurrent {
			continue
		}
		*p.to = got
	}
	in.fillOpacity = j.opacity(d[propFillOpacity], in.fillOpacity)
	in.strokeOpacity = j.opacity(d[propStrokeOpacity], in.strokeOpacity)
	if v := d[propStrokeWidth]; v != nil {
		in.thin = !j.dynamic && isZero(v)
	}
	in.pen = in.pen.inherit(d)
	if v := d[propVisibility]; v != nil && !j.dynamic {
		switch string(bytes.TrimSpace(*v)) {
		case "hidden", "collapse":
			in.hidden = true
		case "inherit", "unset":
		default:
			in.hidden = false
		}
	}
	for _, p := range [...]struct {
		to   **[]byte
		prop property
	}{{&in.markerStart, propMarkerStart}, {&in.markerMid, propMarkerMid}, {&in.markerEnd, propMarkerEnd}} {
		if v := d[propMarker]; v != nil {
			*p.to = v
		}
		if v := d[p.prop]; v != nil {
			*p.to = v
		}
	}
	return in
}

// styleOf returns the style of element i at its own place, which its content has even when it is
// painted through a reference.
func (j *analyser) styleOf(i int32) inherited {
	n := &j.p.nodes[i]
	if n.elem == nil {
		return initial
	}
	d := j.sheets.declaredOn(n)
	st := j.inherit(j.styleOf(n.parent), &d)
	st.pen.scale = math.NaN() // that of the element that refers to it
	return st
}

func (j *analyser) shape(i int32, n *node, st inherited) {
	if st.hidden {
		return
	}
	if n.elem.role == roleShape && j.visible(st.fill, st.color, st.opacity*st.fillOpacity) {
		j.apply(i, st.fill, st.color)
		j.tones.add(toned{i, propFill}, st.fill, st.opacity, st.fillOpacity)
	}
	if st.stroke.kind != paintUnset && !st.thin && j.visible(st.stroke, st.color, st.opacity*st.strokeOpacity) {
		j.apply(i, st.stroke, st.color)
		j.tones.add(toned{i, propStroke}, st.stroke, st.opacity, st.strokeOpacity)
		if st.stroke.kind != paintNone {
			j.stroke(st.pen)
		}
	}
	for _, m := range [...]*[]byte{st.markerStart, st.markerMid, st.markerEnd} {
		if m != nil {
			for _, ref := range j.read(m).refs {
				if t := j.p.reference(ref); t != none && j.firstVisit(t) {
					j.children(t, j.styleOf(t))
				}
			}
		}
	}
}

// visible reports whether a paint with an opacity can be seen. Color is what currentColor means.
func (j *analyser) visible(p, color paint, opacity float64) bool {
	if p.kind == paintCurrent {
		p = color
	}
	if p.kind == paintColor {
		opacity *= float64(p.color.A) / 255
	}
	return j.dynamic || opacity >= faint
}

// use paints the target of a use element, which inherits from the use element.
func (j *analyser) use(n *node, st inherited) {
	t := j.p.target(n)
	if t == none {
		return
	}
	target := &j.p.nodes[t]
	if target.elem.role != roleSymbol {
		j.paint(t, st)
		return
	}
	d := j.sheets.declaredOn(target)
	st = j.inherit(st, &d)
	st.pen = j.placed(st.pen, target, &d)
	if st.opacity *= j.opacity(d[propOpacity], 1); !j.hides(&d) && st.opacity >= faint {
		j.tones.fade(t, &d, st.opacity)
		j.effects(&d, st.pen)
		j.children(t, st)
	}
}

// apply records one paint of one element.
func (j *analyser) apply(i int32, p, color paint) {
	switch p.kind {
	case paintNone:
	case paintUnset:
		j.add(black)
		j.defaultBlack = append(j.defaultBlack, i)
	case paintCurrent:
		if color.kind == paintUnset {
			j.current = true
			return
		}
		j.apply(i, color, paint{})
		if color.kind == paintColor { // both values together set the colour
			j.addSource(p.src)
		}
	case paintColor:
		j.add(p.color)
		j.translucent = j.translucent || p.color.A != 255
		j.addSource(p.src)
	case paintURL:
		j.server(p.ref)
	default:
		j.uncertain = true
	}
}

func (j *analyser) add(c rgba) {
	c.A = 255
	if len(j.colors) < 2 && !slices.Contains(j.colors, c) { // more than two make no difference
		j.colors = append(j.colors, c)
	}
}

func (j *analyser) addSource(src *[]byte) {
	if src == nil {
		j.mixed = true
	} else {
		j.sources = append(j.sources, src)
	}
}
