package svg

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/iconedge/iconedge/icon/viewbox"
)

// An axis is the side of a box to which a percentage refers.
type axis uint8

const (
	noAxis axis = iota
	acrossBox
	downBox
	diagonal
)

// axes has the attributes whose percentages refer to the nearest viewport (SVG 2, section 8.9).
var axes = func() map[string]axis {
	table := map[string]axis{}
	for a, names := range map[axis]string{
		acrossBox: "x x1 x2 cx rx fx width dx",
		downBox:   "y y1 y2 cy ry fy height dy",
		diagonal:  "r fr stroke-width stroke-dasharray stroke-dashoffset",
	} {
		for _, name := range strings.Fields(names) {
			table[name] = a
		}
	}
	return table
}()

// resolvePercentages replaces percentages of a box by numbers, in everything below a node. Turning
// an icon by 90 degrees swaps the sides of its box, and fitting it to another ratio changes them.
// If sizes is set, elements without a size that are as large as the box get one.
func (p *parser) resolvePercentages(i int32, b Box, sizes bool) {
	for c := p.nodes[i].first; c != none; c = p.nodes[c].next {
		n := &p.nodes[c]
		if n.elem == nil {
			continue
		}
		if p.inUserSpace(c) {
			n.resolvePercentages(b)
		}
		viewport := n.elem.name == "svg"
		if sizes && (viewport || n.elem.role == roleUse && p.usesViewport(n)) {
			n.setSize(b)
		}
		if !viewport && !n.hasOwnUnits() {
			p.resolvePercentages(c, b, sizes)
		}
	}
}

// hasOwnUnits reports whether the content of an element has another system of coordinates.
func (n *node) hasOwnUnits() bool {
	if n.elem.role == roleSymbol || n.elem.name == "marker" || n.attr(attributes["viewBox"]) != nil {
		return true
	}
	for _, name := range [...]string{"patternContentUnits", "maskContentUnits", "clipPathUnits", "primitiveUnits"} {
		if n.attrIs(name, "objectBoundingBox") {
			return true
		}
	}
	return false
}

// inUserSpace reports whether the percentages of an element refer to the viewport, and not to
// another element that it paints.
func (p *parser) inUserSpace(i int32) bool {
	n := &p.nodes[i]
	switch n.elem.name {
	case "linearGradient", "radialGradient":
		return p.units(i, "gradientUnits") == "userSpaceOnUse"
	case "pattern":
		return p.units(i, "patternUnits") == "userSpaceOnUse"
	case "mask":
		return n.attrIs("maskUnits", "userSpaceOnUse")
	case "filter":
		return n.attrIs("filterUnits", "userSpaceOnUse")
	case "symbol", "marker", "stop":
		return false
	}
	return true
}

// units returns an attribute of a paint server, which it may have from another one.
func (p *parser) units(i int32, name string) string {
	for range 16 {
		n := &p.nodes[i]
		if v := n.text1(name); v != "" {
			return v
		}
		if i = p.target(n); i == none || p.nodes[i].elem == nil {
			return ""
		}
	}
	return ""
}

// usesViewport reports whether a use element shows an element that is as large as the box unless
// one of them says otherwise.
func (p *parser) usesViewport(n *node) bool {
	t := p.target(n)
	if t == none {
		return false
	}
	e := p.nodes[t].elem
	return e.role == roleSymbol && p.nodes[t].attr(attributes["viewBox"]) != nil
}

func (n *node) setSize(b Box) {
	if n.declared("width") == "" {
		n.set(attr{info: attributes["width"], value: []byte(viewbox.Number(b.Width))})
	}
	if n.declared("height") == "" {
		n.set(attr{info: attributes["height"], value: []byte(viewbox.Number(b.Height))})
	}
}

// resolvePercentages replaces the percentages of one element.
func (n *node) resolvePercentages(b Box) {
	for k := range n.attrs {
		a := &n.attrs[k]
		if a.info == attrStyle {
			for j := range a.decls {
				d := &a.decls[j]
				if of := axes[d.name]; of != noAxis && bytes.IndexByte(d.value, '%') >= 0 {
					d.value, a.value = resolved(d.value, of, b, "px"), nil
				}
			}
		} else if of := axes[a.info.name]; of != noAxis && bytes.IndexByte(a.value, '%') >= 0 {
			a.value = resolved(a.value, of, b, "")
		}
	}
}

// resolved replaces each percentage in a list.
func resolved(v []byte, of axis, b Box, unit string) []byte {
	whole := map[axis]float64{acrossBox: b.Width, downBox: b.Height, diagonal: math.Hypot(b.Width, b.Height) / math.Sqrt2}[of]
	words := strings.FieldsFunc(string(v), func(r rune) bool { return strings.ContainsRune(" ,\t\n", r) })
	for i, w := range words {
		digits, ok := strings.CutSuffix(w, "%")
		f, err := strconv.ParseFloat(digits, 64)
		if !ok {
			continue
		}
		if err != nil || !(math.Abs(f) <= maxNumber) {
			return v
		}
		words[i] = viewbox.Number(fine(f/100*whole)) + unit
	}
	return []byte(strings.Join(words, " "))
}
