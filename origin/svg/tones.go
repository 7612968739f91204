package svg

import (
	"bytes"

	"github.com/iconedge/iconedge/icon"
)

// A toned paint is the fill or the stroke of an element.
type toned struct {
	node int32
	prop property
}

// tones holds the tones of a monochrome icon. Translucent paints are its second colour.
type tones struct {
	opaque, second map[toned]bool
	faded          []int32 // elements whose opacity makes all of their content translucent
	unclear        bool    // the tones change, or two references paint one element in both
}

// opaqueFrom is the least opacity of an opaque paint.
const opaqueFrom = 0.99

// fade notes an element within which the opacity is that.
func (t *tones) fade(i int32, d *declared, opacity float64) {
	if t != nil && d[propOpacity] != nil && opacity < opaqueFrom {
		t.faded = append(t.faded, i)
	}
}

// add takes in a paint of a shape. A nil receiver does nothing.
func (t *tones) add(of toned, p paint, group, own float64) {
	if t == nil {
		return
	}
	switch p.kind {
	case paintCurrent, paintColor, paintUnset: // black by default has become the colour of the text
	default:
		return
	}
	to, other := t.opaque, t.second
	if group*own < opaqueFrom {
		to, other = other, to
	}
	to[of] = true
	t.unclear = t.unclear || other[of]
}

// tones returns the tones of a monochrome icon as it is at rest.
func (p *parser) tones() (t tones, sheets cascade) {
	t = tones{opaque: map[toned]bool{}, second: map[toned]bool{}}
	if t.unclear = p.animatesOpacity(); t.unclear {
		return t, sheets
	}
	j := &analyser{p: p, tones: &t}
	if len(p.sheets) > 0 {
		j.sheets = p.cascade()
		t.unclear = j.sheets.fades
	}
	j.children(0, initial)
	return t, j.sheets
}

// isTwoTone reports whether some paints of an SVG are opaque and others are not.
func (p *parser) isTwoTone(written []byte) bool {
	if !bytes.Contains(written, []byte("opacity")) {
		return false
	}
	t, _ := p.tones()
	return !t.unclear && len(t.opaque) > 0 && len(t.second) > 0
}

// animatesOpacity reports whether an animation changes an opacity.
func (p *parser) animatesOpacity() bool {
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.elem == nil || n.elem.role != roleAnimation {
			continue
		}
		if target := n.attr(attrTarget); target != nil && fades(properties[string(target.value)]) {
			return true
		}
	}
	return false
}

// fades reports whether a property decides how opaque a paint is.
func fades(p property) bool {
	switch p {
	case propOpacity, propFillOpacity, propStrokeOpacity, propAll:
		return true
	}
	return false
}

// Restyle applies a style to a clean SVG whose strokes have the width own. The icon must be able to
// have it: see icon.Style.Of.
func Restyle(svg []byte, own float64, s icon.Style) ([]byte, error) {
	if s.Stroke != 0 {
		svg = Restroke(svg, own, s.Stroke)
	}
	if s.Secondary == "" {
		return svg, nil
	}
	return Retone(svg, s.Secondary)
}

// Retone gives the translucent parts of a clean two-tone SVG a colour of their own. They stay as
// translucent as they are, unless the colour has an alpha, which then replaces their opacity. It
// writes the colour unlike the first one, which an edge replaces.
func Retone(svg []byte, c icon.Color) ([]byte, error) {
	p := parsers.Get().(*parser)
	defer p.release()
	if err := p.parse(svg, true); err != nil {
		return nil, err
	}
	t, sheets := p.tones()
	value := functional([]byte(c.Opaque()))
	for of := range t.second {
		p.declare(&sheets, of.node, of.prop, value)
	}
	if rgb, _ := icon.ReadColor(string(c)); len(c) == len("#rrggbbaa") {
		for of := range t.second {
			p.declare(&sheets, of.node, alphaOf[of.prop], icon.AppendShare(nil, rgb.A))
		}
		for _, i := range t.faded {
			p.declare(&sheets, i, propOpacity, []byte("1"))
		}
	}
	p.serialise()
	top := p.nodes[0].first
	r, _, err := readRoot(svg)
	if err != nil {
		return nil, err
	}
	return r.around(p.writeInside(make([]byte, 0, len(svg)+64), &p.nodes[top])), nil
}

// declare gives a property of an element another value, where the present one is declared or, if
// that is a rule of a style sheet, in the style attribute.
func (p *parser) declare(sheets *cascade, i int32, prop property, value []byte) {
	n := &p.nodes[i]
	now := sheets.declaredOn(n)[prop]
	if now == nil {
		n.set(attr{info: attributes[propertyNames[prop]], value: value, simple: true})
		return
	}
	for k := range n.attrs {
		a := &n.attrs[k]
		if now == &a.value {
			*now = value
			return
		}
		for l := range a.decls {
			if now == &a.decls[l].value {
				*now = value
				return
			}
		}
	}
	d := decl{name: propertyNames[prop], value: value, important: true, prop: prop}
	if a := n.attr(attrStyle); a != nil {
		a.decls = append(a.decls, d)
	} else {
		n.set(attr{info: attrStyle, decls: []decl{d}})
	}
}
