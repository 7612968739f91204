// Package svg cleans SVG icons when they are published, and sizes, rotates and flips them when they
// are requested.
//
// Cleaning is an allow-list over a strict parse. The input must be well-formed XML in UTF-8, UTF-16
// or Latin-1. The cleaner leaves out every element and attribute that is not known to be a harmless
// part of SVG, and reads CSS by the rules of CSS Syntax 3. It then writes everything again in
// canonical form, so that it does not matter how another parser would have read the input. The
// result has no script, no event handler and no reference to another document; its depth, its size
// and the expansion of its references are bounded. In a document, style sheets become attributes
// where they can (styles.go), and names become those of the icon alone (names.go); so they do in a
// body with a style sheet.
//
// The package also determines whether an icon is monochrome: everything in it is painted in one
// colour, which is that of the text (currentColor) or the icon's own.
// It rotates and sizes icons exactly as Iconify's renderer does. It knows nothing of packs, stores
// or requests; it imports icon and the geometry below it alone.
package svg

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/iconedge/iconedge/icon"
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
	// SVG has the root <svg xmlns="…"[ xmlns:xlink="…"] width="…" height="…" viewBox="…"
	// [preserveAspectRatio="none"][ color="…"]>.
	SVG           []byte
	ViewBox       string
	Width, Height float64 // intrinsic size in pixels, as on the root
	// Monochrome says that every painted colour is the same: icon.Literal finds it, and its text
	// occurs nowhere else. Color is that colour, which the root has as an attribute for clients
	// that have the SVG alone; empty: it is currentColor.
	Monochrome bool
	Color      icon.Color
	// Stroke is the width of all strokes when the icon is 24 pixels high, which Restroke changes;
	// 0: there are none, or they have several widths.
	Stroke float64
	// TwoTone says that a monochrome icon has opaque parts, and translucent ones, whose colour
	// Retone changes.
	TwoTone   bool
	Recolored bool     // it was drawn in black, and takes the colour of the text
	Removed   []string // the removed parts that run, load or draw something, such as script
	Emptied   bool     // the cleaner has removed everything that the SVG drew
}

// Clean cleans the body of an Iconify icon: the content of an <svg> element whose viewBox is box.
// It keeps ids and classes as they are, unless the body has a style sheet, which applies to all
// icons of a page: then it does as CleanDocument does. The error wraps ErrUnclean.
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
	if len(p.sheets) > 0 {
		p.reset()
		return p.cleanStyled(body, box, turn)
	}
	return p.cleanBody(len(body), box, turn), nil
}

// cleanBody makes an icon of a parsed body of that size.
func (p *parser) cleanBody(size int, box Box, turn Turn) Icon {
	if turn.Rotate%2 != 0 {
		p.resolvePercentages(0, box, true)
	}
	inside := p.writeBody(make([]byte, 0, size+64))
	mono := p.paintedAlike(inside)
	inside, box = turn.Apply(inside, box)
	return p.finish(inside, frame{box: box, width: box.Width, height: box.Height}, mono)
}

// paintedAlike returns in which one colour a body is painted, without a change of it.
func (p *parser) paintedAlike(inside []byte) monochrome {
	j := p.analyse()
	if j.monochrome() && p.currentOnlyPaints(inside) {
		return monochrome{is: true}
	}
	return j.drawnInOne(inside)
}

// finish puts the root around the inside of an SVG.
func (p *parser) finish(inside []byte, f frame, mono monochrome) Icon {
	r := root{xlink: p.xlink, width: f.width, height: f.height, box: f.box, stretched: f.stretched, color: mono.literal}
	ic := Icon{
		SVG:        r.around(inside),
		ViewBox:    f.box.String(),
		Width:      f.width,
		Height:     f.height,
		Monochrome: mono.is,
		Color:      mono.color,
		Recolored:  mono.recolored,
		TwoTone:    mono.is && p.isTwoTone(inside),
		Emptied:    p.emptied(),
		Removed:    slices.Clone(p.notes),
	}
	if bytes.Contains(inside, []byte("stroke")) && !f.stretched {
		ic.Stroke = p.analyse().strokeWidth(inside, f.box.Height)
	}
	return ic
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
