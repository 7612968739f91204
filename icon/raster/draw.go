package raster

import (
	"image"
	"strings"
)

// inside draws the children of an element, whose style is s.
func (d *drawer) inside(img *image.RGBA, n *node, m matrix, s *style, depth int) error {
	for _, c := range n.children {
		if err := d.element(img, c, m, s, depth+1); err != nil {
			return err
		}
		if n.name == "switch" && drawn(c) {
			return nil // a switch shows the first child
		}
	}
	return nil
}

func drawn(n *node) bool {
	switch n.name {
	case "title", "desc", "style", "defs":
		return false
	}
	return true
}

// element draws an element with its own style.
func (d *drawer) element(img *image.RGBA, n *node, m matrix, parent *style, depth int) error {
	switch n.name {
	case "defs", "clipPath", "mask", "linearGradient", "radialGradient", "pattern", "symbol", "marker", "filter", "style", "title", "desc",
		"animate", "animateTransform", "animateMotion", "set", "stop":
		return nil
	case "text", "image", "foreignObject":
		return unsupported(n.name)
	}
	if err := d.pay(100 + 50*len(d.doc.rules)); err != nil || depth > maxDepth {
		return ErrTooComplex
	}
	s := d.styled(n, parent, d.side())
	if s.none || s.opacity == 0 {
		return nil
	}
	switch {
	case s.filter != "":
		return unsupported("filter")
	case s.blend:
		return unsupported("blending or animation")
	case s.markers:
		return unsupported("marker")
	case s.ordered:
		return unsupported("paint-order")
	}
	own, err := s.matrix()
	if err != nil {
		return err
	}
	m = m.of(own)
	if s.opacity == 1 && s.clip == "" && s.mask == "" {
		return d.content(img, n, m, s, depth)
	}
	return d.layer(img, n, m, s, depth)
}

// side is the length of which percentages are that are neither horizontal nor vertical.
func (d *drawer) side() float64 {
	view, _ := d.doc.root.viewBox()
	return point{view.w, view.h}.length() / 1.4142135623730951
}

// matrix returns the transform of an element.
func (s *style) matrix() (matrix, error) {
	if s.transform == "" {
		return identity, nil
	}
	m, ok := parseTransform(s.transform)
	if !ok {
		return identity, nil // browsers ignore a malformed attribute
	}
	if s.origin == "" {
		return m, nil
	}
	n, ok := numbers(strings.ReplaceAll(s.origin, "px", ""))
	if !ok || len(n) != 2 {
		return identity, unsupported("transform-origin")
	}
	return translate(n[0], n[1]).of(m).of(translate(-n[0], -n[1])), nil
}

// content draws what an element shows, without its opacity, mask and clip path.
func (d *drawer) content(img *image.RGBA, n *node, m matrix, s *style, depth int) error {
	switch n.name {
	case "g", "a", "switch":
		return d.inside(img, n, m, s, depth)
	case "svg":
		return d.nested(img, n, n, m, s, depth)
	case "use":
		target := d.doc.ids[strings.TrimPrefix(n.attr("href"), "#")]
		if target == nil {
			return nil
		}
		m = m.of(translate(length(n.attr("x"), 0, 0), length(n.attr("y"), 0, 0)))
		if target.name == "symbol" || target.name == "svg" {
			return d.nested(img, target, n, m, d.styled(target, s, d.side()), depth+1)
		}
		return d.element(img, target, m, s, depth+1)
	}
	if s.hidden {
		return nil
	}
	p := d.shape(n)
	if len(p) == 0 {
		return nil
	}
	return d.paint(img, p, m, s, n.name != "line")
}

// nested draws an svg or symbol element, whose place and size size gives.
func (d *drawer) nested(img *image.RGBA, n, size *node, m matrix, s *style, depth int) error {
	view, ok := n.viewBox()
	whole, _ := d.doc.root.viewBox()
	x, y := 0.0, 0.0
	if n == size {
		x, y = length(n.attr("x"), whole.w, 0), length(n.attr("y"), whole.h, 0)
	}
	w := length(size.attr("width"), whole.w, length(n.attr("width"), whole.w, whole.w))
	h := length(size.attr("height"), whole.h, length(n.attr("height"), whole.h, whole.h))
	if w <= 0 || h <= 0 {
		return nil
	}
	inner := m.of(translate(x, y))
	if ok && n.attr("viewBox") != "" {
		inner = m.of(fit(view, x, y, w, h, n.attr("preserveAspectRatio")))
	}
	if s.overflowVisible(n) {
		return d.inside(img, n, inner, s, depth)
	}
	var edge path
	edge.rect(x, y, w, h, 0, 0)
	c, err := d.fillOf(edge, m, false)
	if err != nil {
		return err
	}
	return d.through(img, func(l *image.RGBA) error { return d.inside(l, n, inner, s, depth) }, 1, &c, nil)
}

// overflowVisible reports whether an element is drawn beyond its edges too.
func (s *style) overflowVisible(n *node) bool {
	return n.attr("overflow") == "visible" || n.attr("overflow") == "auto" || strings.Contains(n.attr("style"), "overflow:visible")
}

// shape returns the outline of a shape element in user units; nil for other elements.
func (d *drawer) shape(n *node) (p path) {
	whole, _ := d.doc.root.viewBox()
	x := func(name string) float64 { return length(n.attr(name), whole.w, 0) }
	y := func(name string) float64 { return length(n.attr(name), whole.h, 0) }
	switch n.name {
	case "path":
		data := strings.TrimSpace(n.attr("d"))
		if inner, ok := strings.CutPrefix(data, "path("); ok { // as CSS and animations have it
			data = strings.Trim(inner, `"') `)
		}
		return parsePath(data)
	case "rect":
		w, h := x("width"), y("height")
		if w <= 0 || h <= 0 {
			return nil
		}
		rx, ry := length(n.attr("rx"), whole.w, -1), length(n.attr("ry"), whole.h, -1)
		if rx < 0 {
			rx = ry
		}
		if ry < 0 {
			ry = rx
		}
		p.rect(x("x"), y("y"), w, h, min(rx, w/2), min(ry, h/2))
	case "circle":
		if r := length(n.attr("r"), d.side(), 0); r > 0 {
			p.ellipse(x("cx"), y("cy"), r, r)
		}
	case "ellipse":
		rx, ry := length(n.attr("rx"), whole.w, -1), length(n.attr("ry"), whole.h, -1)
		if rx < 0 {
			rx = ry
		}
		if ry < 0 {
			ry = rx
		}
		if rx > 0 && ry > 0 {
			p.ellipse(x("cx"), y("cy"), rx, ry)
		}
	case "line":
		p.move(point{x("x1"), y("y1")})
		p.line(point{x("x2"), y("y2")})
	case "polyline", "polygon":
		in := scanner{s: n.attr("points")}
		for {
			px, ok := in.number()
			py, ok2 := in.number()
			if !ok || !ok2 {
				break
			}
			if len(p) == 0 {
				p.move(point{px, py})
			} else {
				p.line(point{px, py})
			}
		}
		if n.name == "polygon" && len(p) > 0 {
			p.close()
		}
	}
	return p
}

// tolerance is the largest distance in pixels between a curve and the lines that are drawn for it.
const tolerance = 0.08

// flat returns a path as lines in user units, which m maps to pixels.
func (d *drawer) flat(p path, m matrix) ([]polyline, error) {
	if err := d.pay(len(p)); err != nil {
		return nil, err
	}
	lines, err := p.flatten(tolerance / max(m.scale(), 1e-6))
	if err != nil {
		return nil, err
	}
	points := 0
	for i := range lines {
		points += len(lines[i].points)
	}
	return lines, d.pay(4 * points)
}

// mapped returns the lines in pixels.
func mapped(lines []polyline, m matrix) []polyline {
	out := make([]polyline, len(lines))
	for i, l := range lines {
		out[i] = polyline{points: make([]point, len(l.points)), corner: l.corner, closed: l.closed}
		for k, p := range l.points {
			out[i].points[k] = m.apply(p)
		}
	}
	return out
}

// fillOf returns the coverage of the inside of a path.
func (d *drawer) fillOf(p path, m matrix, evenOdd bool) (coverage, error) {
	lines, err := d.flat(p, m)
	if err != nil {
		return coverage{}, err
	}
	return d.cover(mapped(lines, m), evenOdd)
}

// paint fills and strokes a path.
func (d *drawer) paint(img *image.RGBA, p path, m matrix, s *style, fill bool) error {
	lines, err := d.flat(p, m)
	if err != nil {
		return err
	}
	area := bounds(lines)
	if fill {
		colour, err := d.paintOf(s.fill, s, s.fillOpacity, area, m)
		if err != nil {
			return err
		}
		if colour != nil {
			c, err := d.cover(mapped(lines, m), s.evenOdd)
			if err != nil {
				return err
			}
			if err := d.over(img, colour, c); err != nil {
				return err
			}
		}
	}
	if s.pen.width <= 0 || s.stroke == "none" {
		return nil
	}
	colour, err := d.paintOf(s.stroke, s, s.strokeOpacity, area, m)
	if err != nil || colour == nil {
		return err
	}
	if s.fixed { // the width is in pixels
		lines, m = mapped(lines, m), identity
	}
	c, err := d.strokeOf(lines, m, s.pen)
	if err != nil {
		return err
	}
	return d.over(img, colour, c)
}

// strokeOf returns the coverage of a stroke along the lines.
func (d *drawer) strokeOf(lines []polyline, m matrix, p pen) (coverage, error) {
	p.tolerance = tolerance / max(m.scale(), 1e-6)
	outline, err := p.outline(lines)
	if err != nil {
		return coverage{}, err
	}
	points := 0
	for _, l := range outline {
		points += len(l.points)
	}
	if err := d.pay(4 * points); err != nil {
		return coverage{}, err
	}
	return d.cover(mapped(outline, m), false)
}
