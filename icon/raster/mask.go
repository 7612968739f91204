package raster

import "math"

// maskOf returns the coverage of a mask, for an element in its own place: the luminance of the
// mask's content, or its alpha. It returns nil for a reference to no mask, which has no effect.
func (d *drawer) maskOf(id string, p place, n *node) (*coverage, error) {
	k, own := d.resource(id, p)
	if k == nil || k.name != "mask" {
		if id == "?" {
			return nil, unsupported("a mask that is no mask element")
		}
		return nil, nil
	}
	if d.layers++; d.layers > maxLayer || p.depth > maxDepth {
		return nil, ErrTooComplex
	}
	defer func() { d.layers-- }()
	region, err := d.regionOf(k, own, p, n)
	if err != nil || region.Empty() {
		return region, err
	}
	if err := d.pay(2000 + 8*len(region.alpha)); err != nil {
		return nil, err
	}
	inner := p
	if k.attr("maskContentUnits") == "objectBoundingBox" {
		b, err := d.boxOf(p, n)
		if err != nil {
			return nil, err
		}
		inner = p.moved(b.matrix())
	}
	inner.img, inner.style, inner.context, inner.depth = d.layer(region.Rectangle), own, nil, p.depth+1
	if err := d.inside(inner, k); err != nil {
		return nil, err
	}
	content := newCoverage(region.Rectangle)
	content.weigh(inner.img.Pix, own)
	d.spare = append(d.spare, inner.img.Pix)
	region.intersect(content)
	if own.mask != "" && own.mask != id {
		p.depth++
		outer, err := d.maskOf(own.mask, p, n)
		if err != nil {
			return nil, err
		}
		if outer != nil {
			region.intersect(outer)
		}
	}
	return region, nil
}

// weigh takes the coverage from pixels by the style of a mask.
func (c *coverage) weigh(pix []uint8, s *style) {
	for i := range c.alpha {
		switch p := pix[4*i : 4*i+4 : 4*i+4]; {
		case p[3] == 0:
		case s.alphaMask:
			c.alpha[i] = p[3]
		case s.linear:
			c.alpha[i] = linearLuminance(p)
		default: // with the coefficients of linear light all the same (CSS Masking 1, section 7.10)
			c.alpha[i] = uint8((2126*uint32(p[0]) + 7152*uint32(p[1]) + 722*uint32(p[2]) + 5000) / 10000)
		}
	}
}

// linearLuminance returns the luminance of a premultiplied pixel in linear light.
func linearLuminance(p []uint8) uint8 {
	sum := 0.0
	for k, weight := range [...]float64{0.2126, 0.7152, 0.0722} {
		sum += weight * toLinear[int(p[k])*255/int(p[3])]
	}
	return uint8(sum*float64(p[3]) + 0.5)
}

// toLinear maps the values of sRGB to linear light from 0 to 1.
var toLinear = func() (table [256]float64) {
	for i := range table {
		if c := float64(i) / 255; c <= 0.04045 {
			table[i] = c / 12.92
		} else {
			table[i] = math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return table
}()

// regionOf returns the coverage of the rectangle that a mask has an effect in. Outside, nothing is
// shown.
func (d *drawer) regionOf(k *node, s *style, p place, n *node) (*coverage, error) {
	var edge box
	if k.attr("maskUnits") == "userSpaceOnUse" {
		w, h := p.view.w, p.view.h
		edge = box{s.length(k.attr("x"), w, -w/10), s.length(k.attr("y"), h, -h/10),
			s.length(k.attr("width"), w, w*1.2), s.length(k.attr("height"), h, h*1.2)}
	} else {
		b, err := d.boxOf(p, n)
		if err != nil {
			return nil, err
		}
		p = p.moved(b.matrix())
		edge = box{fraction(k.attr("x"), -0.1), fraction(k.attr("y"), -0.1),
			fraction(k.attr("width"), 1.2), fraction(k.attr("height"), 1.2)}
	}
	if edge.w <= 0 || edge.h <= 0 {
		return &coverage{}, nil
	}
	return d.fillOf(p, edge.path(), false)
}
