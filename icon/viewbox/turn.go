package viewbox

import "bytes"

// A Turn is the way an alias shows its parent: flipped first, then rotated clockwise by Rotate
// quarter turns (any whole number, as in Iconify).
type Turn struct {
	HFlip, VFlip bool
	Rotate       int
}

// Apply wraps the inside of an SVG in a group with the transform that the turn requires, and turns
// its box, as iconToSVG of @iconify/utils 3.1.7 does: numbers, order and spelling are those of that
// function. The inside must be clean: < and > occur in its tags only.
func (turn Turn) Apply(inside []byte, box Box) ([]byte, Box) {
	var ops [][]byte
	quarters := turn.Rotate
	switch {
	case turn.HFlip && turn.VFlip:
		quarters += 2
	case turn.HFlip:
		ops = append(ops, Operation("translate", box.Width+box.Left, 0-box.Top), []byte("scale(-1 1)"))
		box.Left, box.Top = 0, 0
	case turn.VFlip:
		ops = append(ops, Operation("translate", 0-box.Left, box.Height+box.Top), []byte("scale(1 -1)"))
		box.Left, box.Top = 0, 0
	}
	quarters = (quarters%4 + 4) % 4
	var rotate []byte
	switch quarters {
	case 1:
		c := box.Height/2 + box.Top
		rotate = Operation("rotate", 90, c, c)
	case 2:
		rotate = Operation("rotate", 180, box.Width/2+box.Left, box.Height/2+box.Top)
	case 3:
		c := box.Width/2 + box.Left
		rotate = Operation("rotate", -90, c, c)
	}
	if rotate != nil {
		ops = append([][]byte{rotate}, ops...)
	}
	if quarters%2 == 1 {
		box.Left, box.Top = box.Top, box.Left
		box.Width, box.Height = box.Height, box.Width
	}
	if len(ops) == 0 {
		return inside, box
	}
	return grouped(inside, bytes.Join(ops, []byte{' '})), box
}

// Operation returns one operation of a transform, such as rotate(90 12 12).
func Operation(name string, args ...float64) []byte {
	out := append([]byte(name), '(')
	for i, f := range args {
		if i > 0 {
			out = append(out, ' ')
		}
		out = AppendNumber(out, f)
	}
	return append(out, ')')
}

// grouped puts everything but definitions into a group. Definitions stay outside of it, all in one
// element: gradients and masks turn with the elements that refer to them, and would otherwise turn
// twice.
func grouped(inside, transform []byte) []byte {
	defs, rest := splitDefs(inside)
	out := make([]byte, 0, len(inside)+len(transform)+64)
	if len(defs) > 0 {
		out = append(out, "<defs>"...)
		out = append(out, defs...)
		out = append(out, "</defs>"...)
	}
	out = append(out, `<g transform="`...)
	out = append(out, transform...)
	out = append(out, `">`...)
	out = append(out, rest...)
	return append(out, "</g>"...)
}

var (
	defsStart = []byte("<defs")
	defsEnd   = []byte("</defs>")
)

// splitDefs takes the definitions out of inside, wherever they are. In a clean SVG, < and > occur
// in tags only, so tags can be found by their bytes, as in splitSVGDefs of @iconify/utils. Unlike
// that function, it handles several definitions, nested ones and empty ones.
func splitDefs(inside []byte) (defs, rest []byte) {
	if !bytes.Contains(inside, defsStart) {
		return nil, inside
	}
	depth := 0
	for len(inside) > 0 {
		tag, size := nextDefs(inside)
		text := inside[:tag]
		if depth > 0 {
			defs = append(defs, text...)
		} else {
			rest = append(rest, text...)
		}
		if size == 0 {
			break
		}
		mark := inside[tag : tag+size]
		inside = inside[tag+size:]
		closing, empty := mark[1] == '/', mark[size-2] == '/'
		if closing {
			depth--
		}
		if depth > 0 { // nested definitions keep their tags
			defs = append(defs, mark...)
		}
		if !closing && !empty {
			depth++
		}
	}
	return defs, rest
}

// nextDefs finds the next start or end tag of a defs element. It returns a size of 0 if there is
// none.
func nextDefs(b []byte) (at, size int) {
	for at = 0; ; at++ {
		i := bytes.Index(b[at:], []byte("defs"))
		if i < 0 {
			return len(b), 0
		}
		at += i
		for _, mark := range [][]byte{defsStart, defsEnd[:6]} {
			start := at + 4 - len(mark)
			if start >= 0 && bytes.HasPrefix(b[start:], mark) {
				end := bytes.IndexByte(b[start:], '>')
				if end < 0 {
					return len(b), 0
				}
				return start, end + 1
			}
		}
	}
}
