// Package svg cleans SVG icons when they are published, and sizes, rotates and flips them when they
// are requested.
//
// Cleaning is an allow-list over a strict parse. The input must be well-formed XML in UTF-8. The
// cleaner leaves out every element and attribute that is not known to be a harmless part of SVG,
// and reads CSS by the rules of CSS Syntax 3. It then writes everything again in canonical form, so
// that it does not matter how another parser would have read the input. The result has no script,
// no event handler and no reference to another document; its depth, its size and the expansion of
// its references are bounded.
//
// The package also determines whether an icon is monochrome (every painted colour is currentColor).
// It rotates and sizes icons exactly as Iconify's renderer does. It knows nothing of packs, stores
// or requests; the only package of this module that it imports is icon.
package svg

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/iconedge/iconedge/icon/viewbox"
)

// Limits of the input. Clean refuses an icon that exceeds any of them.
const (
	MaxBytes  = 1 << 20 // of one SVG
	maxDepth  = 100     // nested elements, and references through references
	maxDrawn  = 50_000  // elements, with the target of every use, pattern, mask, … counted again
	maxAttrs  = 256     // attributes of one element
	maxSpaces = 100     // namespace declarations in force at a time
	maxClass  = 1024    // bytes of a class attribute
	maxRules  = 1 << 24 // selectors times elements
	maxTests  = 1 << 26 // the same, with the parts of each rule and element counted
	maxURLs   = 64      // references in one value
	maxNumber = 1e9     // absolute value of the numbers of a box
)

// ErrUnclean means that an SVG can't be cleaned. Errors that wrap it give the reason, and repeat
// nothing of the input.
var ErrUnclean = errors.New("can't be cleaned")

func unclean(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnclean, fmt.Sprintf(format, args...))
}

// The geometry of an icon: its viewBox, and how an alias turns it.
type (
	Box  = viewbox.Box
	Turn = viewbox.Turn
)

// An Icon is one clean SVG.
type Icon struct {
	SVG           []byte // root: <svg xmlns="…"[ xmlns:xlink="…"] width="…" height="…" viewBox="…">
	ViewBox       string
	Width, Height float64 // intrinsic size in pixels, as on the root
	Monochrome    bool    // every painted colour is currentColor; the word occurs nowhere else
	Emptied       bool    // the cleaner has removed everything that the SVG drew
}

// Clean cleans the body of an Iconify icon: the content of an <svg> element whose viewBox is box.
// The error wraps ErrUnclean.
func Clean(body []byte, box Box) (Icon, error) {
	return CleanTurned(body, box, Turn{})
}

// CleanTurned cleans the body of an alias's parent and applies turn to it, as iconToSVG of
// @iconify/utils does. The box is the one of the merged icon and alias, before the turn. The error
// wraps ErrUnclean.
func CleanTurned(body []byte, box Box, turn Turn) (Icon, error) {
	if err := checkBox(box); err != nil {
		return Icon{}, err
	}
	p := parsers.Get().(*parser)
	defer p.release()
	if err := p.parse(body, false); err != nil {
		return Icon{}, err
	}
	verdict := p.analyse()
	inside := p.writeBody(make([]byte, 0, len(body)+64))
	inside, box = turn.Apply(inside, box)
	return p.finish(inside, box, box.Width, box.Height, verdict.monochrome()), nil
}

// finish puts the root around the inside of an SVG.
func (p *parser) finish(inside []byte, box Box, width, height float64, monochrome bool) Icon {
	r := root{xlink: p.xlink, width: width, height: height, box: box}
	return Icon{
		SVG:        r.around(inside),
		ViewBox:    box.String(),
		Width:      width,
		Height:     height,
		Monochrome: monochrome && p.currentOnlyPaints(inside),
		Emptied:    p.emptied(),
	}
}

// emptied reports whether the cleaner has left something out, and nothing that is left draws. An
// SVG that draws nothing by itself, such as a blank icon, is not emptied.
func (p *parser) emptied() bool {
	removed := p.removed
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.elem == nil {
			continue
		}
		switch n.elem.role {
		case roleShape, roleLine, roleText:
			return false
		case roleUse, roleImage:
			if n.attr(attrHref) != nil || n.attr(attrXlinkHref) != nil {
				return false
			}
			removed = true // its address was outside of the SVG
		}
	}
	return removed
}

func checkBox(b Box) error {
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

// parsers pools parsers for their memory: a library has hundreds of thousands of small icons.
var parsers = sync.Pool{New: func() any { return new(parser) }}
