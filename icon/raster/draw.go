package raster

import (
	"math"
	"strings"
	"sync"

	"github.com/iconedge/iconedge/icon/geometry"
)

// inside draws the children of an element, whose style p has.
func (d *drawer) inside(p place, n *node) error {
	p.depth++
	for _, c := range n.children {
		if err := d.element(p, c); err != nil {
			return err
		}
	}
	return nil
}

// firstOf draws the child of a switch element that a browser shows: the first that is admitted.
func (d *drawer) firstOf(p place, n *node) error {
	p.depth++
	for _, c := range n.children {
		if !aside[c.name] && c.admitted() {
			return d.element(p, c)
		}
	}
	return nil
}

// admitted reports whether a browser with American English shows an element (SVG 2, section 5.9).
func (n *node) admitted() bool {
	for _, a := range n.attrs {
		switch a.name {
		case "requiredExtensions":
			return false
		case "systemLanguage":
			return speaks(a.value)
		}
	}
	return true
}

// speaks reports whether a list of languages has one that is, or begins with, English.
func speaks(list string) bool {
	for tag := range strings.SplitSeq(list, ",") {
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(tag)), "en") {
			return true
		}
	}
	return false
}

// aside has the names of the elements that draw nothing in their own place.
var aside = map[string]bool{"defs": true, "clipPath": true, "mask": true, "linearGradient": true, "radialGradient": true, "pattern": true,
	"marker": true, "filter": true, "style": true, "title": true, "desc": true, "metadata": true, "animate": true,
	"animateTransform": true, "animateMotion": true, "set": true, "stop": true}

// element draws an element with its own style.
func (d *drawer) element(p place, n *node) error {
	if aside[n.name] || n.name == "symbol" {
		return nil
	}
	return d.sized(p, n, n)
}

// sized draws an element. If it is a symbol or an svg, it has the size that another element says.
func (d *drawer) sized(p place, n, by *node) error {
	if err := d.pay(500); err != nil || p.depth > maxDepth {
		return ErrTooComplex
	}
	if !n.admitted() {
		return nil
	}
	s := d.styled(n, p)
	if s.none || s.opacity == 0 {
		return nil
	}
	if err := d.refuse(n, s); err != nil {
		return err
	}
	p, err := d.placed(p, n, s)
	if err != nil {
		return err
	}
	if _, ok := inverse(p.m); !ok {
		return nil // a flat element shows nothing, not even a stroke
	}
	s.fadeItself(n)
	return d.effects(p, n, func(p place) error { return d.content(p, n, by) })
}

// effects draws an element with the opacity, blending, clip path and mask of its style, which p
// has.
func (d *drawer) effects(p place, n *node, draw func(place) error) error {
	s := p.style
	g := group{opacity: s.opacity, blend: s.blend, isolated: s.isolated}
	if s.clip != "" {
		if err := g.through(d.clipOf(s.clip, p, n)); err != nil {
			return err
		}
	}
	if s.mask != "" {
		if err := g.through(d.maskOf(s.mask, p, n)); err != nil {
			return err
		}
	}
	return d.group(p, g, draw)
}

// through adds a coverage to a group, unless it is nil.
func (g *group) through(c *coverage, err error) error {
	if c != nil {
		g.clips = append(g.clips, c)
	}
	return err
}

// refuse returns an error for an element that would look wrong.
func (d *drawer) refuse(n *node, s *style) error {
	switch {
	case n.name == "text" && n.words, n.name == "foreignObject":
		return unsupported(n.name)
	case s.filter == "?", s.filter != "" && d.doc.ids[s.filter] != nil:
		return unsupported("filter")
	case s.foreign != "":
		return unsupported(s.foreign)
	}
	return nil
}

// fadeItself makes the opacity of a shape with one paint that of the paint, which looks the same
// and needs no layer.
func (s *style) fadeItself(n *node) {
	fill, stroke := s.fill != paintValue{word: "none"}, s.stroke != paintValue{word: "none"}
	if shapes[n.name] && fill != stroke && s.markers == [3]string{} {
		s.fillOpacity, s.strokeOpacity, s.opacity = s.fillOpacity*s.opacity, s.strokeOpacity*s.opacity, 1
	}
}

// content draws what an element shows, without its opacity, mask and clip path.
func (d *drawer) content(p place, n, by *node) error {
	switch n.name {
	case "g", "a":
		return d.inside(p, n)
	case "switch":
		return d.firstOf(p, n)
	case "svg", "symbol":
		return d.viewport(p, n, p.port(n, by))
	case "use":
		return d.use(p, n)
	case "image":
		return d.image(p, n)
	}
	if p.style.hidden || !shapes[n.name] {
		return nil
	}
	return d.paint(p, n, d.shape(p, n))
}

// use draws the element that a use element refers to.
func (d *drawer) use(p place, n *node) error {
	target := d.doc.target(n)
	if target == nil || aside[target.name] {
		return nil
	}
	user := p
	p.context = &context{p, sync.OnceValues(func() (box, error) { return d.boxOf(user, n) })}
	p = p.moved(p.offset(n))
	p.depth++
	return d.sized(p, target, n)
}

// offset returns the transform of x and y of a use element.
func (p place) offset(n *node) matrix {
	s := p.style
	return geometry.Translate(s.length(s.value(n, "x"), p.view.w, 0), s.length(s.value(n, "y"), p.view.h, 0))
}

// tolerance is the largest distance in pixels between a curve and the lines that are drawn for it.
const tolerance = 0.03

// flat returns a path as lines in user units, which m maps to pixels.
func (d *drawer) flat(shape path, m matrix) ([]polyline, error) {
	if err := d.pay(len(shape)); err != nil {
		return nil, err
	}
	lines, err := shape.flatten(tolerance / max(scaleOf(m), 1e-6))
	if err != nil {
		return nil, err
	}
	return lines, d.payPoints(lines, 4)
}

func (d *drawer) payPoints(lines []polyline, each int) error {
	points := 0
	for i := range lines {
		points += len(lines[i].points)
	}
	return d.pay(each * points)
}

// mapped returns the lines in pixels.
func mapped(lines []polyline, m matrix) []polyline {
	out := make([]polyline, len(lines))
	for i, l := range lines {
		out[i] = polyline{points: make([]point, len(l.points)), corner: l.corner, closed: l.closed}
		for k, p := range l.points {
			out[i].points[k] = apply(m, p)
		}
	}
	return out
}

// fillOf returns the coverage of the inside of a path.
func (d *drawer) fillOf(p place, shape path, evenOdd bool) (*coverage, error) {
	lines, err := d.flat(shape, p.m)
	if err != nil {
		return nil, err
	}
	return d.cover(mapped(lines, p.m), evenOdd, p.img.Rect)
}

// paint fills and strokes a shape and draws its markers.
func (d *drawer) paint(p place, n *node, shape path) error {
	lines, err := d.flat(shape, p.m)
	if err != nil || len(lines) == 0 {
		return err
	}
	area := bounds(lines)
	for _, part := range p.style.order {
		switch part {
		case 'f':
			err = d.fillLines(p, lines, area)
		case 's':
			err = d.stroke(p, lines, area)
		case 'm':
			err = d.markers(p, n, shape, area)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *drawer) fillLines(p place, lines []polyline, area box) error {
	with, err := d.paintOf(p.style.fill, p.style.fillOpacity, area, p)
	if err != nil || with == nil {
		return err
	}
	return d.over(p.img, with, mapped(lines, p.m), p.style.evenOdd)
}

// hair is the width in pixels up to which a stroke is a hairline.
const hair = 1.0001

// stroke strokes lines.
func (d *drawer) stroke(p place, lines []polyline, area box) error {
	s := p.style
	if s.pen.width <= 0 {
		return nil
	}
	m := p.m
	if s.fixed { // the width is in pixels
		lines, m = mapped(lines, m), geometry.Identity
	}
	opacity := s.strokeOpacity
	across, along := s.pen.width*math.Hypot(m[0], m[1]), s.pen.width*math.Hypot(m[2], m[3])
	thin := across <= hair && along <= hair
	if thin {
		opacity *= min(1, (across+along)/2)
	}
	with, err := d.paintOf(s.stroke, opacity, area, p)
	if err != nil || with == nil {
		return err
	}
	if lines, err = s.pen.dashed(lines); err != nil {
		return err
	}
	if err := d.payPoints(lines, 40); err != nil {
		return err
	}
	var outline []polyline
	if thin {
		outline = s.pen.hairlines(mapped(lines, m))
	} else {
		s.pen.tolerance = tolerance / max(scaleOf(m), 1e-6)
		outline = mapped(s.pen.outline(lines), m)
	}
	if err := d.payPoints(outline, 40); err != nil {
		return err
	}
	return d.over(p.img, with, outline, false)
}
