package raster

import (
	"math"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon/geometry"
)

// A vertex is a point of a path that can have a marker.
type vertex struct {
	at      point
	in, out point // the directions of the path before and after it
	end     byte  // s at the start of an open subpath, e at its end, otherwise 0
}

// angle returns the direction of a marker in degrees: between those of the path before and after
// it.
func (v vertex) angle() float64 {
	in, out := degrees(v.in), degrees(v.out)
	switch v.end {
	case 's':
		return out
	case 'e':
		return in
	}
	if diff := in - out; diff > 180 || diff <= -180 {
		in += 360
	}
	return (in + out) / 2
}

func degrees(p point) float64 { return math.Atan2(p.y, p.x) * 180 / math.Pi }

// vertices returns the vertices of a path with their directions.
func (p path) vertices() (list []vertex) {
	var at, start, out point
	begin, within := 0, false
	for _, c := range p {
		to, first, last := c.p, c.p.sub(at), c.p.sub(at)
		switch c.kind {
		case 'C':
			first, last = curveEnds(at, c)
		case 'Z':
			to, first, last = start, start.sub(at), start.sub(at)
		}
		if !within {
			out = first
		}
		if at, within = to, c.inner; within { // an arc goes on
			continue
		}
		v := vertex{at: to, in: last, end: 'e'}
		before := len(list) - 1
		switch c.kind {
		case 'M':
			start, begin, v.end = to, len(list), 's'
			list = append(list, v)
			continue
		case 'Z': // both ends have one direction
			v.end, v.out = 0, list[begin].out
			list[begin].end, list[begin].in = 0, last
		}
		if list[before].out = out; list[before].end == 'e' {
			list[before].end = 0
		}
		list = append(list, v)
	}
	return list
}

// curveEnds returns the directions of a curve at its start and end.
func curveEnds(from point, c command) (first, last point) {
	first = firstNonZero(c.c1.sub(from), c.c2.sub(from), c.p.sub(from))
	last = firstNonZero(c.p.sub(c.c2), c.p.sub(c.c1), c.p.sub(from))
	return first, last
}

func firstNonZero(list ...point) point {
	for _, p := range list {
		if p != (point{}) {
			return p
		}
	}
	return point{}
}

// markers draws the markers of a shape.
func (d *drawer) markers(p place, n *node, shape path, area box) error {
	ids := p.style.markers
	if ids == [3]string{} || n.name == "rect" || n.name == "circle" || n.name == "ellipse" {
		return nil
	}
	list := shape.vertices()
	if err := d.pay(10 * len(list)); err != nil {
		return err
	}
	inner := p
	inner.context, inner.depth = &context{p, func() (box, error) { return area, nil }}, p.depth+1
	for i, v := range list {
		if i == 0 {
			if err := d.marker(inner, ids[0], v, true); err != nil {
				return err
			}
		} else if i < len(list)-1 {
			if err := d.marker(inner, ids[1], v, false); err != nil {
				return err
			}
		}
		if i == len(list)-1 {
			if err := d.marker(inner, ids[2], v, false); err != nil {
				return err
			}
		}
	}
	return nil
}

// marker draws one marker. p has the style of the shape.
func (d *drawer) marker(p place, id string, v vertex, first bool) error {
	k, s := d.resource(id, p)
	if k == nil || k.name != "marker" || slices.Contains(d.marking, k) {
		return nil // a marker has no marker that is itself
	}
	d.marking = append(d.marking, k)
	defer func() { d.marking = d.marking[:len(d.marking)-1] }()
	if err := d.pay(10_000); err != nil || p.depth > maxDepth {
		return ErrTooComplex
	}
	m := geometry.Translate(v.at.x, v.at.y).Of(rotation(k.attr("orient"), v, first))
	if k.attr("markerUnits") != "userSpaceOnUse" {
		w := p.style.pen.width
		m = m.Of(matrix{w, 0, 0, w, 0, 0})
	}
	port := box{w: s.length(k.attr("markerWidth"), p.view.w, 3), h: s.length(k.attr("markerHeight"), p.view.h, 3)}
	if port.w <= 0 || port.h <= 0 {
		return nil
	}
	view, boxed := readViewBox(k.attr("viewBox"))
	if !boxed {
		view = box{w: p.view.w, h: p.view.h}
	}
	ref := point{s.length(placeWord(k.attr("refX")), view.w, 0), s.length(placeWord(k.attr("refY")), view.h, 0)}
	if boxed && view.w > 0 && view.h > 0 {
		ref = apply(fit(view, port, k.attr("preserveAspectRatio")), ref)
	}
	p = p.moved(m.Of(geometry.Translate(-ref.x, -ref.y)))
	p.style = s
	if _, ok := inverse(p.m); !ok {
		return nil
	}
	return d.effects(p, k, func(p place) error { return d.viewport(p, k, port) })
}

// rotation returns the turn of a marker by its orient attribute.
func rotation(orient string, v vertex, first bool) matrix {
	angle := 0.0
	switch orient = strings.TrimSpace(orient); orient {
	case "auto":
		angle = v.angle()
	case "auto-start-reverse":
		if angle = v.angle(); first {
			angle += 180
		}
	default:
		angle = readAngle(orient)
	}
	sin, cos := math.Sincos(angle * math.Pi / 180)
	return matrix{cos, sin, -sin, cos, 0, 0}
}

// readAngle reads an angle in degrees; 0 for an invalid one.
func readAngle(v string) float64 {
	in := geometry.Numbers{Rest: v}
	f, ok := in.Next()
	factor, known := map[string]float64{"": 1, "deg": 1, "grad": 0.9, "rad": 180 / math.Pi, "turn": 360}[in.Rest]
	if !ok || !known {
		return 0
	}
	return f * factor
}
