// Package svg cleans drawings when they are published, and sizes, turns and flips them when they are asked for.
//
// Cleaning is an allow-list over a strict parse: the drawing must be well-formed XML in UTF-8, what is not known to be a
// harmless element or attribute of SVG is left out, CSS is read by the rules of CSS Syntax 3, and everything is written
// again by this package in one spelling, so that it does not matter how another parser would have read the original. What
// is left has no script, no event, no reference that leaves the drawing, and bounded depth, size and use of itself.
//
// It also judges whether a drawing is monochrome (every painted colour is currentColor), and turns and sizes drawings
// exactly as Iconify's renderer does. It knows nothing of packs, stores or requests; of ours it imports icon.
package svg

import (
	"errors"
	"fmt"
	"math"
	"sync"
)

// Bounds of what is cleaned; more than any of them is refused.
const (
	MaxBytes  = 1 << 20 // of one drawing
	maxDepth  = 100     // elements in elements, and references in what is referred to
	maxDrawn  = 50_000  // elements once every use, pattern, mask, … is drawn out
	maxAttrs  = 256     // attributes of one element
	maxSpaces = 100     // namespace declarations in force at a time
	maxClass  = 1024    // bytes of a class attribute
	maxRules  = 1 << 24 // selectors times elements they may be held against
	maxNumber = 1e9     // of a box's edges
)

// ErrUnclean says that a drawing can't be cleaned; errors that wrap it say why, in words that repeat nothing of the drawing.
var ErrUnclean = errors.New("can't be cleaned")

func unclean(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnclean, fmt.Sprintf(format, args...))
}

// A Box is the part of the plane that a drawing shows, in its own units.
type Box struct{ Left, Top, Width, Height float64 }

// A Turn is how an alias shows its parent: flipped, then turned clockwise by quarters (any whole number, as Iconify takes).
type Turn struct {
	HFlip, VFlip bool
	Rotate       int
}

// A Drawing is one clean drawing.
type Drawing struct {
	SVG           []byte // complete; its root is <svg xmlns="…"[ xmlns:xlink="…"] width="…" height="…" viewBox="…">
	ViewBox       string
	Width, Height float64 // the drawing's own size, in pixels, as on the root
	Monochrome    bool    // every painted colour is currentColor, and the word stands nowhere else
}

// Clean cleans an Iconify body: what stands inside of an <svg> whose viewBox is box. The error wraps ErrUnclean.
func Clean(body []byte, box Box) (Drawing, error) {
	return CleanTurned(body, box, Turn{})
}

// CleanTurned cleans the body of an alias's parent and shows it turned, as iconToSVG of @iconify/utils does. The box is
// that of the two merged, before the turn. The error wraps ErrUnclean.
func CleanTurned(body []byte, box Box, turn Turn) (Drawing, error) {
	if err := box.check(); err != nil {
		return Drawing{}, err
	}
	p := parsers.Get().(*parser)
	defer p.release()
	if err := p.parse(body, false); err != nil {
		return Drawing{}, err
	}
	verdict := p.judge()
	inside := p.writeBody(make([]byte, 0, len(body)+64))
	inside, box = turned(inside, box, turn)
	return p.finish(inside, box, box.Width, box.Height, verdict.monochrome()), nil
}

// finish puts the root around the inside of a drawing.
func (p *parser) finish(inside []byte, box Box, width, height float64, monochrome bool) Drawing {
	r := root{xlink: p.xlink, width: width, height: height, box: box}
	return Drawing{
		SVG:        r.around(inside),
		ViewBox:    box.String(),
		Width:      width,
		Height:     height,
		Monochrome: monochrome && p.currentOnlyPaints(inside),
	}
}

func (b Box) check() error {
	for _, f := range []float64{b.Left, b.Top, b.Width, b.Height} {
		if math.IsNaN(f) || math.Abs(f) > maxNumber {
			return unclean("its box is not four finite numbers")
		}
	}
	if b.Width < 0 || b.Height < 0 {
		return unclean("its box has a negative side")
	}
	return nil
}

// parsers are kept for their memory: a library has hundreds of thousands of small drawings.
var parsers = sync.Pool{New: func() any { return new(parser) }}
