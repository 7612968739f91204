package svg

import (
	"bytes"
	"slices"
	"strconv"
)

// A verdict lists the colours that an SVG is painted in.
type verdict struct {
	colors       []rgba    // all but currentColor, each once, and at most two
	sources      []*[]byte // the values that set them
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
	p       *parser
	sheets  cascade
	dynamic bool // hidden elements may become visible
	masks   []int32
	seen    map[int32]bool // elements painted through references
	long    map[*[]byte]*reading
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
	fillClear, strokeClear, thin      bool // the paint is invisible
	hidden                            bool
	markerStart, markerMid, markerEnd *[]byte
}

// analyse returns the colours of everything that is painted. Masks and clip paths are not painted:
// they only hide parts of other elements.
func (p *parser) analyse() *analyser {
	j := &analyser{p: p}
	if len(p.sheets) > 0 {
		j.sheets = p.cascade()
	}
	j.uncertain = j.sheets.uncertain
	j.dynamic = p.animated || j.sheets.inexact
	if p.animated {
		j.animations()
	}
	j.children(0, inherited{})
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
		return
	default:
		return
	}
	d := j.sheets.declaredOn(n)
	if j.invisible(&d) {
		return
	}
	st := j.inherit(in, &d)
	j.effects(&d)
	switch n.elem.role {
	case roleGroup:
		j.children(i, st)
	case roleUse:
		j.use(n, st)
	default:
		j.shape(i, n, st)
	}
}

// invisible reports whether an element and all its content can't be seen.
func (j *analyser) invisible(d *declared) bool {
	if j.dynamic {
		return false
	}
	return isZero(d[propOpacity]) || d[propDisplay] != nil && string(bytes.TrimSpace(*d[propDisplay])) == "none"
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
	for _, p := range [...]struct {
		to   *bool
		prop property
	}{{&in.fillClear, propFillOpacity}, {&in.strokeClear, propStrokeOpacity}, {&in.thin, propStrokeWidth}} {
		if d[p.prop] != nil {
			*p.to = !j.dynamic && isZero(d[p.prop])
		}
	}
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
		return inherited{}
	}
	d := j.sheets.declaredOn(n)
	return j.inherit(j.styleOf(n.parent), &d)
}

func (j *analyser) shape(i int32, n *node, st inherited) {
	if st.hidden {
		return
	}
	if n.elem.role == roleShape && !st.fillClear {
		j.apply(i, st.fill, st.color)
	}
	if st.stroke.kind != paintUnset && !st.strokeClear && !st.thin {
		j.apply(i, st.stroke, st.color)
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

// use paints the target of a use element, which inherits from the use element.
func (j *analyser) use(n *node, st inherited) {
	a := n.attr(attrHref)
	if a == nil {
		a = n.attr(attrXlinkHref)
	}
	if a == nil {
		return
	}
	t := j.p.reference(a.value)
	if t == none {
		return
	}
	target := &j.p.nodes[t]
	if target.elem.role != roleSymbol {
		j.paint(t, st)
		return
	}
	d := j.sheets.declaredOn(target)
	if !j.invisible(&d) {
		j.effects(&d)
		j.children(t, j.inherit(st, &d))
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
	case paintColor:
		j.add(p.color)
		j.addSource(p.src)
	case paintURL:
		j.server(p.ref)
	default:
		j.uncertain = true
	}
}

func (j *analyser) add(c rgba) {
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
