// Package raster draws SVG icons as pixels, without a browser. It reads the SVGs that the cleaner
// of package svg writes: paths, shapes, strokes with dashes, gradients, masks, clip paths, symbols,
// style sheets with simple selectors. Draw returns ErrUnsupported for an icon that needs more, so
// that the caller can show something else instead of a wrong image.
//
// Draw is pure and needs no network, no file and no font. Its time and memory are bounded by the
// size of the image, for any input: every element, line and layer is paid from a budget, and
// an SVG that exhausts it gets ErrTooComplex.
package raster

import (
	"errors"
	"image"
	"image/color"
	"math"
)

// Errors of Draw.
var (
	ErrMalformed   = errors.New("malformed SVG")
	ErrUnsupported = errors.New("the SVG needs a feature that package raster does not draw")
	ErrTooComplex  = errors.New("the SVG is too complex to draw")
)

// MaxSide is the largest width and height of an image, in pixels.
const MaxSide = 2048

// Limits of the input.
const (
	maxNodes = 20_000
	maxDepth = 64 // nested elements, with those that a use element refers to
	maxLayer = 12 // nested groups with an opacity, a mask or a clip path
)

// Draw draws an SVG into an image of width by height pixels. The SVG keeps its ratio and lies in
// the middle; what it does not cover is transparent. current is the colour of currentColor. The
// error wraps one of the errors of this package.
func Draw(svg []byte, width, height int, current color.Color) (*image.RGBA, error) {
	if width < 1 || height < 1 || width > MaxSide || height > MaxSide {
		return nil, ErrTooComplex
	}
	d := &drawer{width: width, height: height, budget: 10_000_000 + 60*width*height}
	doc, err := parse(svg)
	if err != nil {
		return nil, err
	}
	d.doc = doc
	box, ok := doc.root.viewBox()
	if !ok {
		return nil, ErrMalformed
	}
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	s := initial(color.NRGBAModel.Convert(current).(color.NRGBA))
	m := fit(box, 0, 0, float64(width), float64(height), "")
	if err := d.inside(img, doc.root, m, d.styled(doc.root, &s, 0), 0); err != nil {
		return nil, err
	}
	return img, nil
}

// A drawer draws one SVG.
type drawer struct {
	width, height int
	budget        int // of work, about one for each touched pixel
	doc           *document
	layers        int
	acc           []float32
}

// pay takes n from the budget.
func (d *drawer) pay(n int) error {
	if d.budget -= n; d.budget < 0 {
		return ErrTooComplex
	}
	return nil
}

// A point is a place in the plane.
type point struct{ x, y float64 }

func (p point) sane() bool { return math.Abs(p.x) < 1e7 && math.Abs(p.y) < 1e7 } // not NaN either

func (p point) add(q point) point        { return point{p.x + q.x, p.y + q.y} }
func (p point) sub(q point) point        { return point{p.x - q.x, p.y - q.y} }
func (p point) times(f float64) point    { return point{p.x * f, p.y * f} }
func (p point) length() float64          { return math.Hypot(p.x, p.y) }
func (p point) cross(q point) float64    { return p.x*q.y - p.y*q.x }
func (p point) dot(q point) float64      { return p.x*q.x + p.y*q.y }
func mix(p, q point, t float64) point    { return point{p.x + (q.x-p.x)*t, p.y + (q.y-p.y)*t} }
func clamp(f, low, high float64) float64 { return min(max(f, low), high) }
