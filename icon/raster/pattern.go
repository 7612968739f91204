package raster

import (
	"image"
	"math"

	"github.com/iconedge/iconedge/icon/geometry"
)

// A tiling repeats a picture over the plane.
type tiling struct {
	pixels
	inverse matrix // from pixels of the image to those of the tile
	opacity uint32
}

func (t *tiling) row(out [][4]uint8, p point) {
	for i := range out {
		out[i] = faded(t.sample(apply(t.inverse, point{p.x + float64(i), p.y}), wrapped), t.opacity)
	}
}

func (t *tiling) cost() int { return 40 }

// patternOf makes the paint of a pattern element with the style own: it draws one tile, with as
// many pixels as that will have in the image.
func (d *drawer) patternOf(n *node, own *style, opacity float64, area box, p place) (*paint, error) {
	tile, ok := d.tileOf(n, own, area, p.view)
	content := d.contentOf(n)
	if !ok || content == nil {
		return nil, nil
	}
	t, err := own.serverTransform(d.inherited(n, "patternTransform"), p.view)
	if err != nil {
		return nil, err
	}
	m := p.m.Of(t).Of(geometry.Translate(tile.x, tile.y))
	pixelsOf := func(length, scale float64) int { return int(clamp(math.Ceil(length*scale-1e-6), 1, maxTile)) }
	w := pixelsOf(tile.w, math.Hypot(m[0], m[1]))
	h := pixelsOf(tile.h, math.Hypot(m[2], m[3]))
	toTile := matrix{float64(w) / tile.w, 0, 0, float64(h) / tile.h, 0, 0}
	fromTile, ok := inverse(toTile)
	if !ok {
		return nil, nil
	}
	back, ok := inverse(m.Of(fromTile))
	if !ok {
		return nil, nil
	}
	inner := place{m: toTile, view: p.view, depth: p.depth + 1}
	inner.style, _ = d.ancestry(content, p)
	if view, ok := readViewBox(d.inherited(n, "viewBox")); ok {
		if view.w == 0 || view.h == 0 {
			return nil, nil
		}
		inner.m = toTile.Of(fit(view, box{0, 0, tile.w, tile.h}, d.inherited(n, "preserveAspectRatio")))
		inner.view = size{view.w, view.h}
	} else if d.inherited(n, "patternContentUnits") == "objectBoundingBox" {
		inner.m = toTile.Of(matrix{area.w, 0, 0, area.h, 0, 0})
	}
	img, err := d.tile(w, h, inner, content)
	if err != nil {
		return nil, err
	}
	return &paint{shader: &tiling{pixels: img, inverse: back, opacity: uint32(opacity*255 + 0.5)}}, nil
}

// tile draws the children of an element as a picture.
func (d *drawer) tile(w, h int, p place, content *node) (pixels, error) {
	if d.layers++; d.layers > maxLayer || p.depth > maxDepth {
		return pixels{}, ErrTooComplex
	}
	defer func() { d.layers-- }()
	if err := d.pay(5000 + 3*w*h); err != nil {
		return pixels{}, err
	}
	p.img = image.NewRGBA(image.Rect(0, 0, w, h))
	return pixels{pix: p.img.Pix, w: w, h: h}, d.inside(p, content)
}

// tileOf returns the place of the first tile of a pattern. It is not ok if it has no area.
func (d *drawer) tileOf(n *node, s *style, area box, view size) (b box, ok bool) {
	length := func(name string, base float64) float64 { return s.length(d.inherited(n, name), base, 0) }
	if d.inherited(n, "patternUnits") == "userSpaceOnUse" {
		b = box{length("x", view.w), length("y", view.h), length("width", view.w), length("height", view.h)}
	} else {
		b = box{area.x + area.w*length("x", 1), area.y + area.h*length("y", 1), area.w * length("width", 1), area.h * length("height", 1)}
	}
	return b, b.w > flat && b.h > flat && point{b.x, b.y}.sane() && point{b.w, b.h}.sane()
}

// contentOf returns the pattern whose children are drawn: the first by href that has any.
func (d *drawer) contentOf(n *node) *node {
	for source := range d.sources(n) {
		if len(source.children) > 0 {
			return source
		}
	}
	return nil
}
