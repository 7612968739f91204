package raster

import "image"

// over composes a paint over an image where c covers it.
func (d *drawer) over(img *image.RGBA, p *paint, c coverage) error {
	if p.gradient != nil {
		if err := d.pay(4 * len(c.alpha)); err != nil {
			return err
		}
	}
	for y := c.Min.Y; y < c.Max.Y; y++ {
		row := c.row(y)
		pix := img.Pix[img.PixOffset(c.Min.X, y):]
		for i, a := range row {
			if a == 0 {
				continue
			}
			src := p.solid
			if p.gradient != nil {
				src = p.gradient.at(point{float64(c.Min.X+i) + 0.5, float64(y) + 0.5})
			}
			blend(pix[4*i:4*i+4:4*i+4], src, uint32(a))
		}
	}
	return nil
}

// blend composes a premultiplied colour over a pixel, with an alpha from 0 to 255.
func blend(dst []uint8, src [4]uint8, alpha uint32) {
	if uint32(src[3])*alpha == 255*255 {
		copy(dst, src[:])
		return
	}
	keep := 255*255 - uint32(src[3])*alpha
	for k := range 4 {
		dst[k] = uint8((uint32(src[k])*alpha*255 + uint32(dst[k])*keep + 255*255/2) / (255 * 255))
	}
}

// layer draws an element with an opacity, a mask or a clip path.
func (d *drawer) layer(img *image.RGBA, n *node, m matrix, s *style, depth int) error {
	var clip, mask *coverage
	if s.clip != "" {
		c, err := d.clipOf(s.clip, n, m, s, depth)
		if err != nil {
			return err
		}
		clip = c
	}
	if s.mask != "" {
		c, err := d.maskOf(s.mask, n, m, s, depth)
		if err != nil {
			return err
		}
		mask = c
	}
	return d.through(img, func(l *image.RGBA) error { return d.content(l, n, m, s, depth) }, s.opacity, clip, mask)
}

// through draws into a layer of its own and composes that over the image, with an opacity and
// through up to two coverages.
func (d *drawer) through(img *image.RGBA, draw func(*image.RGBA) error, opacity float64, clips ...*coverage) error {
	if d.layers++; d.layers > maxLayer {
		return ErrTooComplex
	}
	defer func() { d.layers-- }()
	area := img.Bounds()
	for _, c := range clips {
		if c != nil {
			area = area.Intersect(c.Rectangle)
		}
	}
	if area.Empty() {
		return nil
	}
	if err := d.pay(2*d.width*d.height + area.Dx()*area.Dy()); err != nil {
		return err
	}
	l := image.NewRGBA(img.Bounds())
	if err := draw(l); err != nil {
		return err
	}
	whole := uint32(opacity*255 + 0.5)
	for y := area.Min.Y; y < area.Max.Y; y++ {
		from, to := l.Pix[l.PixOffset(area.Min.X, y):], img.Pix[img.PixOffset(area.Min.X, y):]
		for i := range area.Dx() {
			src := [4]uint8(from[4*i : 4*i+4])
			if src[3] == 0 {
				continue
			}
			alpha := whole
			for _, c := range clips {
				if c != nil {
					alpha = (alpha*uint32(c.row(y)[area.Min.X-c.Min.X+i]) + 127) / 255
				}
			}
			blend(to[4*i:4*i+4:4*i+4], src, alpha)
		}
	}
	return nil
}

// everywhere returns a coverage of the whole image.
func (d *drawer) everywhere(alpha uint8) *coverage {
	c := &coverage{image.Rect(0, 0, d.width, d.height), make([]uint8, d.width*d.height)}
	for i := range c.alpha {
		c.alpha[i] = alpha
	}
	return c
}

// clipOf returns the coverage of a clip path. A reference to no clip path has no effect.
func (d *drawer) clipOf(id string, n *node, m matrix, s *style, depth int) (*coverage, error) {
	c := d.doc.ids[id]
	if c == nil || c.name != "clipPath" {
		if id == "?" {
			return nil, unsupported("clip-path")
		}
		return nil, nil
	}
	if d.layers++; d.layers > maxLayer || depth > maxDepth {
		return nil, ErrTooComplex
	}
	defer func() { d.layers-- }()
	own := d.styled(c, s, d.side())
	t, err := own.matrix()
	if err != nil {
		return nil, err
	}
	m = m.of(t)
	if c.attr("clipPathUnits") == "objectBoundingBox" {
		b, err := d.boxOf(n)
		if err != nil {
			return nil, err
		}
		m = m.of(b.matrix())
	}
	if err := d.pay(4 * d.width * d.height); err != nil {
		return nil, err
	}
	all := d.everywhere(0)
	for _, child := range c.children {
		if err := d.clipChild(all, child, m, own, depth+1); err != nil {
			return nil, err
		}
	}
	if own.clip != "" {
		outer, err := d.clipOf(own.clip, n, m, s, depth+1)
		if err != nil {
			return nil, err
		}
		if outer != nil {
			all.intersect(outer)
		}
	}
	return all, nil
}

// clipChild adds a shape of a clip path to its coverage.
func (d *drawer) clipChild(all *coverage, n *node, m matrix, parent *style, depth int) error {
	if err := d.pay(100 + 50*len(d.doc.rules)); err != nil || depth > maxDepth {
		return ErrTooComplex
	}
	s := d.styled(n, parent, d.side())
	if s.none || s.hidden || n.name == "text" {
		if n.name == "text" {
			return unsupported("text")
		}
		return nil
	}
	t, err := s.matrix()
	if err != nil {
		return err
	}
	m = m.of(t)
	if n.name == "use" {
		target := d.doc.ids[reference("url("+n.attr("href")+")")]
		if target != nil && target.name == "use" {
			return nil // it must refer to a shape (CSS Masking 1, section 5.1)
		}
		if target != nil && s.clip == "" {
			m = m.of(translate(length(n.attr("x"), 0, 0), length(n.attr("y"), 0, 0)))
			return d.clipChild(all, target, m, s, depth+1)
		}
		return unsupported("clip-path")
	}
	p := d.shape(n)
	if len(p) == 0 {
		return nil
	}
	c, err := d.fillOf(p, m, s.clipEvenOdd)
	if err != nil {
		return err
	}
	if s.clip != "" {
		inner, err := d.clipOf(s.clip, n, m, s, depth+1)
		if err != nil {
			return err
		}
		if inner != nil {
			c.intersect(inner)
		}
	}
	for y := c.Min.Y; y < c.Max.Y; y++ {
		to := all.row(y)[c.Min.X:]
		for i, a := range c.row(y) {
			to[i] = uint8(255 - (255-uint32(to[i]))*(255-uint32(a))/255)
		}
	}
	return nil
}

// intersect multiplies c by another coverage.
func (c *coverage) intersect(with *coverage) {
	for y := c.Min.Y; y < c.Max.Y; y++ {
		for i, a := range c.row(y) {
			f := uint32(0)
			if (image.Point{c.Min.X + i, y}).In(with.Rectangle) {
				f = uint32(with.row(y)[c.Min.X+i-with.Min.X])
			}
			c.row(y)[i] = uint8((uint32(a)*f + 127) / 255)
		}
	}
}

// maskOf returns the coverage of a mask: the luminance of its content, or its alpha.
func (d *drawer) maskOf(id string, n *node, m matrix, s *style, depth int) (*coverage, error) {
	k := d.doc.ids[id]
	if k == nil || k.name != "mask" {
		if id == "?" {
			return nil, unsupported("mask")
		}
		return nil, nil
	}
	if d.layers++; d.layers > maxLayer || depth > maxDepth {
		return nil, ErrTooComplex
	}
	defer func() { d.layers-- }()
	if err := d.pay(4 * d.width * d.height); err != nil {
		return nil, err
	}
	start := initial(s.color) // a mask inherits from its own ancestors, which seldom style it
	own := d.styled(k, d.ancestry(k, &start), d.side())
	inner := m
	if k.attr("maskContentUnits") == "objectBoundingBox" {
		b, err := d.boxOf(n)
		if err != nil {
			return nil, err
		}
		inner = m.of(b.matrix())
	}
	img := image.NewRGBA(image.Rect(0, 0, d.width, d.height))
	if err := d.inside(img, k, inner, own, depth+1); err != nil {
		return nil, err
	}
	c := d.everywhere(0)
	for i := range c.alpha {
		p := img.Pix[4*i : 4*i+4]
		if own.alphaMask {
			c.alpha[i] = p[3]
		} else { // linear coefficients of sRGB (CSS Masking 1, section 7.10)
			c.alpha[i] = uint8((2126*uint32(p[0]) + 7152*uint32(p[1]) + 722*uint32(p[2]) + 5000) / 10000)
		}
	}
	region, err := d.regionOf(k, n, m)
	if err != nil {
		return nil, err
	}
	if region != nil {
		c.intersect(region)
	}
	if own.mask != "" && own.mask != id {
		outer, err := d.maskOf(own.mask, n, m, s, depth+1)
		if err != nil {
			return nil, err
		}
		if outer != nil {
			c.intersect(outer)
		}
	}
	return c, nil
}

// regionOf returns the coverage of the rectangle that a mask has an effect in. Outside, nothing is
// shown.
func (d *drawer) regionOf(k, n *node, m matrix) (*coverage, error) {
	var edge path
	if k.attr("maskUnits") == "userSpaceOnUse" {
		whole, _ := d.doc.root.viewBox()
		edge.rect(length(k.attr("x"), whole.w, -whole.w/10), length(k.attr("y"), whole.h, -whole.h/10),
			length(k.attr("width"), whole.w, whole.w*1.2), length(k.attr("height"), whole.h, whole.h*1.2), 0, 0)
	} else {
		b, err := d.boxOf(n)
		if err != nil {
			return nil, err
		}
		m = m.of(b.matrix())
		edge.rect(fraction(k.attr("x"), -0.1), fraction(k.attr("y"), -0.1), fraction(k.attr("width"), 1.2), fraction(k.attr("height"), 1.2), 0, 0)
	}
	c, err := d.fillOf(edge, m, false)
	return &c, err
}

// ancestry returns the style that an element inherits from its ancestors.
func (d *drawer) ancestry(n *node, start *style) *style {
	if n.parent == nil {
		return start
	}
	return d.styled(n.parent, d.ancestry(n.parent, start), d.side())
}

// boxOf returns the bounding box of an element in its own units, without strokes.
func (d *drawer) boxOf(n *node) (box, error) {
	var lines []polyline
	if err := d.collect(&lines, n, identity, 0); err != nil {
		return box{}, err
	}
	return bounds(lines), nil
}

// collect appends the outlines of the shapes in an element, in units of its parent.
func (d *drawer) collect(lines *[]polyline, n *node, m matrix, depth int) error {
	if err := d.pay(50); err != nil || depth > maxDepth {
		return ErrTooComplex
	}
	children := n.children
	switch n.name {
	case "defs", "clipPath", "mask", "symbol", "pattern", "marker", "text":
		return nil
	case "use":
		target := d.doc.ids[reference("url("+n.attr("href")+")")]
		if target == nil {
			return nil
		}
		if target.name == "symbol" || target.name == "svg" {
			return unsupported("bounding box of a symbol")
		}
		m = m.of(translate(length(n.attr("x"), 0, 0), length(n.attr("y"), 0, 0)))
		children = []*node{target}
	case "svg":
		return unsupported("bounding box of an svg")
	}
	flat, err := d.flat(d.shape(n), identity)
	if err != nil {
		return err
	}
	*lines = append(*lines, mapped(flat, m)...)
	for _, c := range children {
		t, ok := parseTransform(c.attr("transform"))
		if !ok {
			t = identity
		}
		if err := d.collect(lines, c, m.of(t), depth+1); err != nil {
			return err
		}
	}
	return nil
}
