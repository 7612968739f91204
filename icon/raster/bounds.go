package raster

import "github.com/iconedge/iconedge/icon/geometry"

// boxOf returns the bounding box of an element in its own units, without strokes. The style of p is
// that of the element.
func (d *drawer) boxOf(p place, n *node) (box, error) {
	var lines []polyline
	p.m = geometry.Identity
	if err := d.collect(&lines, p, n, n); err != nil {
		return box{}, err
	}
	return bounds(lines), nil
}

// collect appends the outlines of the shapes in an element, whose style p has. by is the element
// that says its size, as for sized.
func (d *drawer) collect(lines *[]polyline, p place, n, by *node) error {
	if err := d.pay(500); err != nil || p.depth > maxDepth {
		return ErrTooComplex
	}
	p.depth++
	switch n.name {
	case "use":
		target := d.doc.target(n)
		if target == nil {
			return nil
		}
		return d.collectChild(lines, p.moved(p.offset(n)), target, n)
	case "svg", "symbol":
		var ok bool
		if p, ok = p.within(n, p.port(n, by)); !ok {
			return nil
		}
	}
	outline, err := d.outline(p, n)
	if err != nil {
		return err
	}
	flat, err := d.flat(outline, geometry.Identity)
	if err != nil {
		return err
	}
	*lines = append(*lines, mapped(flat, p.m)...)
	for _, c := range n.children {
		if err := d.collectChild(lines, p, c, c); err != nil {
			return err
		}
	}
	return nil
}

// outline returns the outline of a shape or an image; nil for other elements.
func (d *drawer) outline(p place, n *node) (path, error) {
	switch {
	case n.name == "text" && n.words:
		return nil, unsupported("text")
	case n.name == "image":
		_, port, err := d.pictureOf(p, n)
		return port.path(), err
	}
	return d.shape(p, n), nil
}

func (d *drawer) collectChild(lines *[]polyline, p place, n, by *node) error {
	if aside[n.name] || n.name == "symbol" && n == by || !n.admitted() {
		return nil
	}
	s := d.styled(n, p)
	if s.none {
		return nil
	}
	p, err := d.placed(p, n, s)
	if err != nil {
		return err
	}
	return d.collect(lines, p, n, by)
}
