package svg

import (
	"bytes"
	"slices"
)

// server takes in the colours of a gradient or pattern (paint servers, SVG 2, section 14).
func (j *analyser) server(ref []byte) {
	i := j.p.reference(ref)
	if i == none || !j.firstVisit(i) {
		return // it paints nothing, or its colours are known
	}
	switch n := &j.p.nodes[i]; n.elem.role {
	case rolePattern:
		i = j.content(i, func(n *node) bool { return n.elem != nil && n.elem.role != roleAnimation && n.elem.role != roleWords })
		if i != none {
			j.children(i, j.styleOf(i))
		}
	case roleGradient:
		i = j.content(i, func(n *node) bool { return n.elem != nil && n.elem.role == roleStop })
		if i != none {
			j.stops(i)
		}
	default:
		j.uncertain = true
	}
}

// content follows href from element i to the first element with a child for which counts returns
// true.
func (j *analyser) content(i int32, counts func(*node) bool) int32 {
	for range maxDepth {
		n := &j.p.nodes[i]
		for c := n.first; c != none; c = j.p.nodes[c].next {
			if counts(&j.p.nodes[c]) {
				return i
			}
		}
		if i = j.p.target(n); i == none {
			return none
		}
	}
	j.uncertain = true
	return none
}

func (j *analyser) stops(gradient int32) {
	in := j.styleOf(gradient)
	for c := j.p.nodes[gradient].first; c != none; c = j.p.nodes[c].next {
		n := &j.p.nodes[c]
		if n.elem == nil || n.elem.role != roleStop {
			continue
		}
		d := j.sheets.declaredOn(n)
		j.colored(c, d[propStopColor], d[propStopOpacity], j.inherit(in, &d).color)
	}
}

// colored takes in a stop-color or flood-color with its opacity. These are not inherited, and are
// black by default.
func (j *analyser) colored(i int32, src, opacity *[]byte, color paint) {
	visible := j.opacity(opacity, 1)
	if src == nil && visible < faint {
		return
	}
	if src == nil {
		j.add(black)
		j.mixed = true
		return
	}
	p := j.paintOf(src)
	p.src = src
	if p.kind == paintURL || p.kind == paintInherit {
		p.kind = paintUnknown
	}
	if j.visible(p, color, visible) {
		j.apply(i, p, color)
	}
}

// effects checks the properties that change colours after painting.
func (j *analyser) effects(d *declared, p pen) {
	if d[propAll] != nil {
		j.uncertain, j.differ = true, true
	}
	if v := d[propBlend]; v != nil && string(bytes.TrimSpace(*v)) != "normal" {
		j.uncertain = true
	}
	if v := d[propMask]; v != nil {
		j.cut(v, p)
		for _, ref := range j.read(v).refs {
			if t := j.p.reference(ref); t != none {
				j.masks = append(j.masks, t)
			}
		}
	}
	v := d[propFilter]
	if v == nil || string(bytes.TrimSpace(*v)) == "none" {
		return
	}
	ref := j.read(v).only
	if ref == nil {
		j.uncertain = true
		return
	}
	if t := j.p.reference(ref); t != none && j.firstVisit(t) {
		j.filter(t)
	}
}

// filter takes in the colours of a filter. A primitive that mixes colour channels makes the result
// uncertain.
func (j *analyser) filter(i int32) {
	n := &j.p.nodes[i]
	if n.attr(attrHref) != nil || n.attr(attrXlinkHref) != nil {
		j.uncertain = true
		return
	}
	in := j.styleOf(i)
	for c := n.first; c != none; c = j.p.nodes[c].next {
		fe := &j.p.nodes[c]
		if fe.elem == nil || fe.elem.role != roleEffect {
			continue
		}
		switch fe.elem.name {
		case "feGaussianBlur", "feOffset", "feMerge", "feMorphology", "feTile":
		case "feColorMatrix":
			j.uncertain = j.uncertain || !onlyAlpha(fe)
		case "feBlend":
			j.uncertain = j.uncertain || !fe.attrIs("mode", "", "normal")
		case "feComposite":
			j.uncertain = j.uncertain || !fe.attrIs("operator", "", "over", "in", "out", "atop", "xor")
		case "feFlood", "feDropShadow":
			d := j.sheets.declaredOn(fe)
			j.colored(c, d[propFloodColor], d[propFloodOpacity], j.inherit(in, &d).color)
		default:
			j.uncertain = true
		}
	}
}

// onlyAlpha reports whether a colour matrix leaves red, green and blue as they are, as in the
// filters that make drops run together.
func onlyAlpha(fe *node) bool {
	a := fe.attr(attributes["values"])
	if a == nil || !fe.attrIs("type", "", "matrix") {
		return a == nil && fe.attrIs("type", "", "matrix") // the identity
	}
	m := bytes.FieldsFunc(a.value, func(r rune) bool { return r == ' ' || r == ',' })
	if len(m) != 20 {
		return false
	}
	for i, v := range m[:15] {
		want := "0"
		if i%6 == 0 {
			want = "1"
		}
		if string(v) != want {
			return false
		}
	}
	return true
}

// attrIs reports whether an attribute has one of the values; "" means that it is absent.
func (n *node) attrIs(name string, values ...string) bool {
	return slices.Contains(values, n.text1(name))
}

// animations checks the values that animations set. A colour among them counts wherever it is.
func (j *analyser) animations() {
	for i := range j.p.nodes {
		n := &j.p.nodes[i]
		if n.elem == nil || n.elem.role != roleAnimation {
			continue
		}
		target := n.attr(attrTarget)
		if target == nil {
			continue
		}
		prop := properties[string(target.value)]
		j.differ = j.differ || animatesStrokes(n, prop)
		switch {
		case prop == propFilter || prop == propBlend || prop >= propMarker && prop <= propMarkerEnd:
			j.uncertain = true
		case paints(prop):
			for _, a := range n.attrs {
				if a.info.check != checkAnimated {
					continue
				}
				for v := range bytes.SplitSeq(bytes.TrimSuffix(bytes.TrimSpace(a.value), []byte{';'}), []byte{';'}) {
					if k := readPaint(v).kind; k != paintNone && k != paintCurrent {
						j.uncertain = true
					}
				}
			}
		}
	}
}
