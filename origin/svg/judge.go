package svg

import (
	"bytes"
	"slices"
	"strconv"
)

// A verdict says in which colours a drawing is painted.
type verdict struct {
	colors  []rgba    // other than currentColor, each once; two at most
	sources []*[]byte // where they are written
	bare    []int32   // elements painted black because nothing says otherwise
	current bool      // currentColor is painted
	mixed   bool      // a colour stands where it can't be exchanged by itself
	doubt   bool      // something has colours that can't be told
}

// monochrome reports whether every painted colour is currentColor; a drawing that paints nothing is.
func (v *verdict) monochrome() bool { return !v.doubt && len(v.colors) == 0 }

// judge looks at the paint of a drawing as a browser would paint it. Where in doubt it says so.
type judge struct {
	verdict
	p       *parser
	sheets  cascade
	dynamic bool // what can't be seen now may be seen later
	masks   []int32
	seen    map[int32]bool // what is painted through references: its colors do not depend on what refers to it
}

// first reports whether an element is painted through a reference for the first time.
func (j *judge) first(i int32) bool {
	if j.seen[i] {
		return false
	}
	if j.seen == nil {
		j.seen = map[int32]bool{}
	}
	j.seen[i] = true
	return true
}

// inherited is what an element takes over from its parent.
type inherited struct {
	fill, stroke, color               paint
	fillClear, strokeClear, thin      bool // nothing of it can be seen
	hidden                            bool
	markerStart, markerMid, markerEnd *[]byte
}

// judge gives the verdict on everything that is painted; masks and clip paths are not, they only take away.
func (p *parser) judge() *judge {
	j := &judge{p: p}
	if len(p.sheets) > 0 {
		j.sheets = p.cascade()
	}
	j.doubt = j.sheets.doubt
	j.dynamic = p.animated || j.sheets.rest
	if p.animated {
		j.animations()
	}
	j.children(0, inherited{})
	return j
}

func (j *judge) children(parent int32, in inherited) {
	for c := j.p.nodes[parent].first; c != none; c = j.p.nodes[c].next {
		j.paint(c, in)
	}
}

// paint follows what an element paints, in the way of its role.
func (j *judge) paint(i int32, in inherited) {
	n := &j.p.nodes[i]
	if n.elem == nil {
		return
	}
	switch n.elem.role {
	case roleGroup, roleShape, roleLine, roleUse:
	case roleText, roleImage:
		j.doubt = true
		return
	default:
		return
	}
	d := j.sheets.on(n)
	if j.gone(&d) {
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

// gone reports whether nothing of an element and what is in it can be seen.
func (j *judge) gone(d *declared) bool {
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

// inherit is an element's own style.
func (j *judge) inherit(in inherited, d *declared) inherited {
	for _, p := range [...]struct {
		to   *paint
		prop property
	}{{&in.fill, propFill}, {&in.stroke, propStroke}, {&in.color, propColor}} {
		src := d[p.prop]
		if src == nil {
			continue
		}
		got := readPaint(*src)
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

// of is the style that the content of an element that is painted through a reference has: that of where it stands.
func (j *judge) of(i int32) inherited {
	n := &j.p.nodes[i]
	if n.elem == nil {
		return inherited{}
	}
	d := j.sheets.on(n)
	return j.inherit(j.of(n.parent), &d)
}

func (j *judge) shape(i int32, n *node, st inherited) {
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
			eachURL(*m, func(ref []byte) {
				if t := j.p.reference(ref); t != none && j.first(t) {
					j.children(t, j.of(t))
				}
			})
		}
	}
}

// use paints what it refers to, which inherits from it.
func (j *judge) use(n *node, st inherited) {
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
	d := j.sheets.on(target)
	if !j.gone(&d) {
		j.effects(&d)
		j.children(t, j.inherit(st, &d))
	}
}

// apply takes in one paint of one element.
func (j *judge) apply(i int32, p, color paint) {
	switch p.kind {
	case paintNone:
	case paintUnset:
		j.add(black)
		j.bare = append(j.bare, i)
	case paintCurrent:
		if color.kind == paintUnset {
			j.current = true
			return
		}
		j.apply(i, color, paint{})
	case paintColor:
		j.add(p.color)
		j.written(p.src)
	case paintURL:
		j.server(p.ref)
	default:
		j.doubt = true
	}
}

func (j *judge) add(c rgba) {
	if len(j.colors) < 2 && !slices.Contains(j.colors, c) { // how many more there are does not matter
		j.colors = append(j.colors, c)
	}
}

func (j *judge) written(src *[]byte) {
	if src == nil {
		j.mixed = true
	} else {
		j.sources = append(j.sources, src)
	}
}
