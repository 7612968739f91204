package shape

import (
	"bytes"
	"sync"

	"github.com/iconedge/iconedge/icon/geometry"
)

const (
	maxTags  = 5_000 // painted for one icon, those of use elements and masks counted again
	maxDepth = 16    // use elements and masks in each other
)

// A painter paints one SVG at a time.
type painter struct {
	svg    []byte
	attrs  []attr
	tracer tracer
	filler filler
	grid   grid
	tags   int
	depth  int
	solid  bool // all ink is black
	mask   bool // white is ink, because it is what a mask shows
}

var painters = sync.Pool{New: func() any { return new(painter) }}

// paint paints a clean SVG; with solid, everything that it paints is black.
func (p *painter) paint(svg []byte, solid bool) *grid {
	p.svg, p.tags, p.depth, p.solid, p.mask = svg, 0, 0, solid, false
	clear(p.grid[:])
	p.element(svg, p.initial(), &p.grid, false)
	return &p.grid
}

// initial is the state outside of all elements: black, or, in a mask, what shows nothing.
func (p *painter) initial() state {
	ink := float32(1)
	if p.mask {
		ink = 0
	}
	return state{by: geometry.Identity, fill: ink, stroke: noInk, color: ink, opacity: 1, fillOpacity: 1, strokeOpacity: 1, width: 1}
}

// content paints elements up to the end tag of the element that has them, and returns the SVG after
// that tag.
func (p *painter) content(svg []byte, in state, g *grid) (rest []byte) {
	for {
		t, after, ok := next(svg, p.attrs)
		p.attrs = t.attrs
		if !ok || t.end {
			return after
		}
		svg = p.element(svg, in, g, false)
	}
}

// element paints the element that svg begins with, and returns the SVG after it.
func (p *painter) element(svg []byte, in state, g *grid, unmasked bool) (rest []byte) {
	t, rest, ok := next(svg, p.attrs)
	p.attrs = t.attrs
	if p.tags++; !ok || p.tags > maxTags {
		return nil
	}
	st := in.with(&t, p)
	mask := reference(t.value("mask"))
	switch kind := kinds[string(t.name)]; {
	case kind == kindOther || st.opacity == 0:
	case mask != nil && !unmasked:
		return p.masked(svg, mask, in, g)
	case kind == kindGroup && t.empty:
	case kind == kindGroup:
		if len(svg) == len(p.svg) {
			st.by = viewBox(t.value("viewBox"))
		}
		return p.content(rest, st, g)
	case kind == kindUse:
		p.use(&t, st, g)
	case !st.hidden:
		p.shape(&t, st, g)
	}
	if t.empty {
		return rest
	}
	return skip(rest, p.attrs)
}

type kind uint8

const (
	kindOther kind = iota // not painted in its place: defs, mask, text, …
	kindGroup
	kindUse
	kindShape
)

var kinds = map[string]kind{
	"svg": kindGroup, "g": kindGroup, "switch": kindGroup, "use": kindUse, "path": kindShape, "rect": kindShape, "circle": kindShape,
	"ellipse": kindShape, "line": kindShape, "polyline": kindShape, "polygon": kindShape,
}

// masked paints an element as far as a mask shows it.
func (p *painter) masked(svg, mask []byte, in state, g *grid) (rest []byte) {
	content := element(p.svg, mask)
	layer, shown := new(grid), new(grid)
	if p.depth++; content != nil && p.depth < maxDepth {
		was := p.mask
		p.mask = true
		st := p.initial()
		st.by = in.by
		if _, inside, ok := next(content, p.attrs); ok {
			p.content(inside, st, shown)
		}
		p.mask = was
	}
	rest = p.element(svg, in, layer, true)
	p.depth--
	for i := range g {
		g[i] += (1 - g[i]) * layer[i] * shown[i]
	}
	return rest
}

// use paints the element that a use element refers to.
func (p *painter) use(t *tag, st state, g *grid) {
	href := t.value("href")
	if href == nil {
		href = t.value("xlink:href")
	}
	id, ok := bytes.CutPrefix(href, []byte{'#'})
	if !ok || p.depth >= maxDepth {
		return
	}
	x, _ := number(t.value("x"))
	y, _ := number(t.value("y"))
	st.by = st.by.Of(geometry.Translate(x, y))
	target := element(p.svg, id)
	if target == nil {
		return
	}
	p.depth++
	defer func() { p.depth-- }()
	if first, inside, ok := next(target, p.attrs); ok && string(first.name) == "symbol" && !first.empty {
		p.content(inside, st, g)
		return
	}
	p.element(target, st, g, false)
}

// shape paints the interior of a shape, then its outline.
func (p *painter) shape(t *tag, st state, g *grid) {
	p.tracer.reset(st.by)
	p.trace(t)
	if st.fill != noInk && string(t.name) != "line" {
		for _, l := range p.tracer.lines {
			for i, q := range l.points {
				p.filler.edge(q, l.points[(i+1)%len(l.points)])
			}
		}
		g.blend(p.filler.fill(st.evenOdd), st.fill, st.opacity*st.fillOpacity)
	}
	if width := st.width * p.tracer.scale; st.stroke != noInk && width > 0 {
		for _, l := range p.tracer.lines {
			p.filler.stroke(l, width)
		}
		g.blend(p.filler.fill(false), st.stroke, st.opacity*st.strokeOpacity)
	}
}

// trace follows the shape of an element.
func (p *painter) trace(t *tag) {
	tr := &p.tracer
	of := func(name string) float64 {
		f, _ := number(t.value(name))
		return f
	}
	switch string(t.name) {
	case "path":
		tr.path(string(t.value("d")))
	case "rect":
		if w, h := of("width"), of("height"); w > 0 && h > 0 {
			tr.rectangle(of("x"), of("y"), w, h, max(of("rx"), of("ry")))
		}
	case "circle":
		tr.ellipse(point{of("cx"), of("cy")}, of("r"), of("r"))
	case "ellipse":
		tr.ellipse(point{of("cx"), of("cy")}, of("rx"), of("ry"))
	case "line":
		tr.move(point{of("x1"), of("y1")})
		tr.line(point{of("x2"), of("y2")})
	default:
		tr.polygon(string(t.value("points")), string(t.name) == "polygon")
	}
}

// viewBox returns the transform from a viewBox to the grid, in whose middle it is.
func viewBox(value []byte) matrix {
	box, ok := geometry.List(string(value))
	if !ok || len(box) != 4 || max(box[2], box[3]) <= 0 {
		return geometry.Identity
	}
	k := cells / max(box[2], box[3])
	return matrix{k, 0, 0, k, (cells-k*box[2])/2 - k*box[0], (cells-k*box[3])/2 - k*box[1]}
}
