// Package raster draws SVG icons as pixels, without a browser. It reads the SVGs that the cleaner
// of package svg writes: shapes, strokes with dashes, markers, gradients, patterns, embedded
// images, masks, clip paths, blending, symbols, style sheets. Where browsers and the standards
// differ, it does as Chromium does. Draw returns ErrUnsupported for an icon that needs more, such
// as text or a filter, so that the caller can show something else instead of a wrong image.
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

	"github.com/iconedge/iconedge/icon"
)

// Errors of Draw.
var (
	ErrMalformed   = errors.New("malformed SVG")
	ErrUnsupported = errors.New("the SVG needs a feature that package raster does not draw")
	ErrTooComplex  = errors.New("the SVG is too complex to draw")
)

// Limits of an image, in pixels.
const (
	MaxSide   = icon.MaxRowSide
	MaxPixels = icon.MaxRowPixels
)

// Limits of the input.
const (
	maxNodes = 20_000
	maxDepth = 64   // nested elements, with those that a use element refers to
	maxTile  = 2048 // pixels at a side of a pattern's tile
	maxLayer = 12   // nested groups with an opacity, a mask or a clip path
)

// Draw draws an SVG into an image of width by height pixels. preserveAspectRatio decides the place
// of the SVG: by default it keeps its ratio and lies in the middle, and the rest is transparent.
// current is the colour of currentColor. The error wraps one of the errors of this package.
func Draw(svg []byte, width, height int, current color.Color) (*image.RGBA, error) {
	if width < 1 || height < 1 || width > MaxSide || height > MaxSide || width*height > MaxPixels {
		return nil, ErrTooComplex
	}
	doc, err := parse(svg)
	if err != nil {
		return nil, err
	}
	view, ok := doc.root.viewBox()
	if !ok {
		return nil, ErrMalformed
	}
	d := &drawer{
		budget: 10_000_000 + 100*width*height, doc: doc,
		start: initial(color.NRGBAModel.Convert(current).(color.NRGBA)),
	}
	p := place{img: image.NewRGBA(image.Rect(0, 0, width, height)), view: size{view.w, view.h}, style: &d.start,
		m: fit(view, box{0, 0, float64(width), float64(height)}, doc.root.attr("preserveAspectRatio"))}
	p.style = d.styled(doc.root, p)
	d.start.rootSize = p.style.fontSize
	if err := d.inside(p, doc.root); err != nil {
		return nil, err
	}
	return p.img, nil
}

// A drawer draws one SVG.
type drawer struct {
	budget  int // of work, about one for each touched pixel
	doc     *document
	start   style   // of the root's parent
	layers  int     // that are under way, one within the other
	marking []*node // the markers that are under way

	// memory for the next use
	edges   []edge
	spare   [][]uint8
	cascade []declaration
}

// pay takes n from the budget.
func (d *drawer) pay(n int) error {
	if d.budget -= n; d.budget < 0 {
		return ErrTooComplex
	}
	return nil
}

// A place is where an element is drawn.
type place struct {
	img     *image.RGBA
	m       matrix   // from user units to pixels
	view    size     // of the viewport, of which percentages are
	style   *style   // of the parent; of the element itself, once that is known
	context *context // of context-fill and context-stroke
	depth   int
}

// moved returns the place with another transform before that of p.
func (p place) moved(m matrix) place {
	p.m = p.m.Of(m)
	return p
}

// A size is a width and a height in user units.
type size struct{ w, h float64 }

// side returns the length of which percentages are that are neither horizontal nor vertical.
func (s size) side() float64 { return math.Sqrt((s.w*s.w + s.h*s.h) / 2) }

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
