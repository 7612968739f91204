package raster

import (
	"image"
)

// A group says how the picture of an element is composed over the picture so far.
type group struct {
	opacity  float64
	blend    string // a mode other than normal, or ""
	isolated bool
	clips    []*coverage
}

// group composes the layer that draw fills. It makes none if draw on the image looks the same.
func (d *drawer) group(p place, g group, draw func(place) error) error {
	area := p.img.Rect
	through := g.clips[:0]
	for _, c := range g.clips {
		area = area.Intersect(c.Rectangle)
		if !c.full() {
			through = append(through, c)
		}
	}
	if g.clips = through; area.Empty() {
		return nil
	}
	if g.opacity == 1 && g.blend == "" && !g.isolated && len(g.clips) == 0 {
		p.img = p.img.SubImage(area).(*image.RGBA)
		return draw(p)
	}
	if d.layers++; d.layers > maxLayer {
		return ErrTooComplex
	}
	defer func() { d.layers-- }()
	each := 6
	if g.blend != "" {
		each = 80
	}
	if err := d.pay(1000 + each*area.Dx()*area.Dy()); err != nil {
		return err
	}
	under := p.img
	p.img = d.layer(area)
	if err := draw(p); err != nil {
		return err
	}
	g.compose(under, p.img)
	d.spare = append(d.spare, p.img.Pix)
	return nil
}

// layer returns an empty image, for which it takes the memory of an earlier one if that fits.
func (d *drawer) layer(area image.Rectangle) *image.RGBA {
	n := 4 * area.Dx() * area.Dy()
	if last := len(d.spare) - 1; last >= 0 && cap(d.spare[last]) >= n {
		pix := d.spare[last][:n]
		d.spare = d.spare[:last]
		clear(pix)
		return &image.RGBA{Pix: pix, Stride: 4 * area.Dx(), Rect: area}
	}
	return image.NewRGBA(area)
}

// compose puts a layer over an image.
func (g *group) compose(img, layer *image.RGBA) {
	area := layer.Rect
	whole := uint32(g.opacity*255 + 0.5)
	mode := blendModes[g.blend]
	for y := area.Min.Y; y < area.Max.Y; y++ {
		from, to := layer.Pix[layer.PixOffset(area.Min.X, y):], img.Pix[img.PixOffset(area.Min.X, y):]
		for i := range area.Dx() {
			src := [4]uint8(from[4*i : 4*i+4])
			if src[3] == 0 {
				continue
			}
			alpha := whole
			for _, c := range g.clips {
				alpha = (alpha*uint32(c.row(y)[area.Min.X-c.Min.X+i]) + 127) / 255
			}
			if mode != nil {
				src = mode.mix(faded(src, alpha), [4]uint8(to[4*i:4*i+4]))
				alpha = 255
			}
			blend(to[4*i:4*i+4:4*i+4], src, alpha)
		}
	}
}

// blend composes a premultiplied colour over a pixel, with an alpha from 0 to 255.
func blend(dst []uint8, src [4]uint8, alpha uint32) {
	if uint32(src[3])*alpha == 255*255 {
		copy(dst, src[:])
		return
	}
	if alpha == 255 {
		keep := 255 - uint32(src[3])
		for k := range 4 {
			dst[k] = src[k] + uint8((uint32(dst[k])*keep+127)/255)
		}
		return
	}
	keep := 255*255 - uint32(src[3])*alpha
	for k := range 4 {
		dst[k] = uint8((uint32(src[k])*alpha*255 + uint32(dst[k])*keep + 255*255/2) / (255 * 255))
	}
}

// fill composes a paint over the image where a path is.
func (d *drawer) fill(p place, shape path, with *paint) error {
	lines, err := d.flat(shape, p.m)
	if err != nil {
		return err
	}
	return d.over(p.img, with, mapped(lines, p.m), false)
}

// over composes a paint over an image where the polygons are, in pixels.
func (d *drawer) over(img *image.RGBA, with *paint, lines []polyline, evenOdd bool) error {
	area := areaOf(lines, img.Rect)
	if with.shader == nil {
		return d.scan(lines, evenOdd, area, func(x, y int, alpha []uint8) {
			solid(img.Pix[img.PixOffset(x, y):], with.solid, alpha)
		})
	}
	colours := make([][4]uint8, area.Dx())
	var late error
	err := d.scan(lines, evenOdd, area, func(x, y int, alpha []uint8) {
		if late = d.pay(with.shader.cost() * len(alpha)); late != nil {
			return
		}
		pix, row := img.Pix[img.PixOffset(x, y):], colours[:len(alpha)]
		with.shader.row(row, point{float64(x) + 0.5, float64(y) + 0.5})
		for i, a := range alpha {
			if a != 0 && row[i][3] != 0 {
				blend(pix[4*i:4*i+4:4*i+4], row[i], uint32(a))
			}
		}
	})
	if err == nil {
		err = late
	}
	return err
}

// solid composes one colour over a row of pixels.
func solid(pix []uint8, c [4]uint8, alpha []uint8) {
	for i, a := range alpha {
		switch {
		case a == 0:
		case a == 255 && c[3] == 255:
			*(*[4]uint8)(pix[4*i:]) = c
		default:
			blend(pix[4*i:4*i+4:4*i+4], c, uint32(a))
		}
	}
}
