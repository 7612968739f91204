package raster

// clipOf returns the coverage of a clip path, for an element in its own place. It returns nil for a
// reference to no clip path, which has no effect.
func (d *drawer) clipOf(id string, p place, n *node) (*coverage, error) {
	c, own := d.resource(id, p)
	if c == nil || c.name != "clipPath" {
		if id == "?" {
			return nil, unsupported("a clip-path that is no clipPath element")
		}
		return nil, nil
	}
	if d.layers++; d.layers > maxLayer || p.depth > maxDepth {
		return nil, ErrTooComplex
	}
	defer func() { d.layers-- }()
	inner, err := d.placed(p, c, own)
	if err != nil {
		return nil, err
	}
	inner.depth = p.depth + 1
	if c.attr("clipPathUnits") == "objectBoundingBox" {
		b, err := d.boxOf(p, n)
		if err != nil {
			return nil, err
		}
		inner = inner.moved(b.matrix())
	}
	all := &coverage{}
	for _, child := range c.children {
		one, err := d.clipChild(inner, child)
		if err != nil {
			return nil, err
		}
		if all, err = d.union(all, one); err != nil {
			return nil, err
		}
	}
	return all, d.clipAgain(all, own.clip, p, n)
}

// clipAgain intersects a coverage with a further clip path, if id names one.
func (d *drawer) clipAgain(c *coverage, id string, p place, n *node) error {
	if id == "" {
		return nil
	}
	p.depth++
	outer, err := d.clipOf(id, p, n)
	if err == nil && outer != nil {
		c.intersect(outer)
	}
	return err
}

// clipChild returns the coverage of a child of a clip path; nil if it shows nothing.
func (d *drawer) clipChild(p place, n *node) (*coverage, error) {
	if err := d.pay(500); err != nil || p.depth > maxDepth {
		return nil, ErrTooComplex
	}
	s := d.styled(n, p)
	if s.none || !n.admitted() {
		return nil, nil
	}
	if n.name == "text" && n.words {
		return nil, unsupported("text")
	}
	p, err := d.placed(p, n, s)
	if err != nil {
		return nil, err
	}
	c, err := d.clipShape(p, n)
	if err != nil || c == nil {
		return nil, err
	}
	return c, d.clipAgain(c, s.clip, p, n)
}

func (d *drawer) clipShape(p place, n *node) (*coverage, error) {
	if n.name == "use" {
		target := d.doc.target(n)
		if target == nil || !shapes[target.name] && target.name != "text" {
			return nil, nil // it must refer to a shape (CSS Masking 1, section 5.1)
		}
		p = p.moved(p.offset(n))
		p.depth++
		return d.clipChild(p, target)
	}
	if p.style.hidden || !shapes[n.name] {
		return nil, nil
	}
	return d.fillOf(p, d.shape(p, n), p.style.clipEvenOdd)
}

// union returns the coverage of two shapes together. The second may be nil.
func (d *drawer) union(a, b *coverage) (*coverage, error) {
	switch {
	case b == nil || b.Empty():
		return a, nil
	case a.Empty():
		return b, nil
	}
	all := newCoverage(a.Union(b.Rectangle))
	if err := d.pay(4 * len(all.alpha)); err != nil {
		return nil, err
	}
	for _, c := range []*coverage{a, b} {
		for y := c.Min.Y; y < c.Max.Y; y++ {
			to := all.row(y)[c.Min.X-all.Min.X:]
			for i, v := range c.row(y) {
				to[i] = uint8(255 - (255-uint32(to[i]))*(255-uint32(v))/255)
			}
		}
	}
	return all, nil
}

// intersect multiplies c by another coverage.
func (c *coverage) intersect(with *coverage) {
	both := c.Rectangle.Intersect(with.Rectangle)
	for y := c.Min.Y; y < c.Max.Y; y++ {
		row := c.row(y)
		if y < both.Min.Y || y >= both.Max.Y {
			clear(row)
			continue
		}
		clear(row[:both.Min.X-c.Min.X])
		clear(row[both.Max.X-c.Min.X:])
		other := with.row(y)[both.Min.X-with.Min.X:]
		for i, a := range row[both.Min.X-c.Min.X : both.Max.X-c.Min.X] {
			row[both.Min.X-c.Min.X+i] = uint8((uint32(a)*uint32(other[i]) + 127) / 255)
		}
	}
}
