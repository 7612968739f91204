package svg

import "bytes"

// server takes in the colours of a gradient or pattern (a paint server, SVG 2, section 14).
func (j *judge) server(ref []byte) {
	i := j.p.reference(ref)
	if i == none || !j.first(i) {
		return // nothing is painted, or it is known
	}
	switch n := &j.p.nodes[i]; n.elem.role {
	case rolePattern:
		i = j.content(i, func(n *node) bool { return n.elem != nil && n.elem.role != roleAnimation && n.elem.role != roleWords })
		if i != none {
			j.children(i, j.of(i))
		}
	case roleGradient:
		i = j.content(i, func(n *node) bool { return n.elem != nil && n.elem.role == roleStop })
		if i != none {
			j.stops(i)
		}
	default:
		j.doubt = true
	}
}

// content is the first of an element and those that its href leads to that has a child of the kind that counts.
func (j *judge) content(i int32, counts func(*node) bool) int32 {
	for range maxDepth {
		n := &j.p.nodes[i]
		for c := n.first; c != none; c = j.p.nodes[c].next {
			if counts(&j.p.nodes[c]) {
				return i
			}
		}
		a := n.attr(attrHref)
		if a == nil {
			a = n.attr(attrXlinkHref)
		}
		if a == nil {
			return none
		}
		if i = j.p.reference(a.value); i == none {
			return none
		}
	}
	j.doubt = true
	return none
}

func (j *judge) stops(gradient int32) {
	in := j.of(gradient)
	for c := j.p.nodes[gradient].first; c != none; c = j.p.nodes[c].next {
		n := &j.p.nodes[c]
		if n.elem == nil || n.elem.role != roleStop {
			continue
		}
		d := j.sheets.on(n)
		if !j.dynamic && isZero(d[propStopOpacity]) {
			continue
		}
		j.colored(c, d[propStopColor], j.inherit(in, &d).color)
	}
}

// colored takes in a stop-color or flood-color, which are not inherited and black unless said otherwise.
func (j *judge) colored(i int32, src *[]byte, color paint) {
	if src == nil {
		j.add(black)
		j.mixed = true
		return
	}
	p := readPaint(*src)
	p.src = src
	if p.kind == paintURL || p.kind == paintInherit {
		p.kind = paintUnknown
	}
	j.apply(i, p, color)
}

// effects looks at what changes colours once they are painted.
func (j *judge) effects(d *declared) {
	if d[propAll] != nil {
		j.doubt = true
	}
	if v := d[propBlend]; v != nil && string(bytes.TrimSpace(*v)) != "normal" {
		j.doubt = true
	}
	if v := d[propMask]; v != nil {
		eachURL(*v, func(ref []byte) {
			if t := j.p.reference(ref); t != none {
				j.masks = append(j.masks, t)
			}
		})
	}
	v := d[propFilter]
	if v == nil || string(bytes.TrimSpace(*v)) == "none" {
		return
	}
	ref, ok := onlyURL(bytes.TrimSpace(*v))
	if !ok {
		j.doubt = true
		return
	}
	if t := j.p.reference(ref); t != none && j.first(t) {
		j.filter(t)
	}
}

// filter takes in the colours of a filter; a primitive that mixes channels leaves none that could be told.
func (j *judge) filter(i int32) {
	n := &j.p.nodes[i]
	if n.attr(attrHref) != nil || n.attr(attrXlinkHref) != nil {
		j.doubt = true
		return
	}
	in := j.of(i)
	for c := n.first; c != none; c = j.p.nodes[c].next {
		fe := &j.p.nodes[c]
		if fe.elem == nil || fe.elem.role != roleEffect {
			continue
		}
		switch fe.elem.name {
		case "feGaussianBlur", "feOffset", "feMerge", "feMorphology", "feTile":
		case "feColorMatrix":
			j.doubt = j.doubt || !onlyAlpha(fe)
		case "feBlend":
			j.doubt = j.doubt || !fe.says("mode", "", "normal")
		case "feComposite":
			j.doubt = j.doubt || !fe.says("operator", "", "over", "in", "out", "atop", "xor")
		case "feFlood", "feDropShadow":
			d := j.sheets.on(fe)
			if j.dynamic || !isZero(d[propFloodOpacity]) {
				j.colored(c, d[propFloodColor], j.inherit(in, &d).color)
			}
		default:
			j.doubt = true
		}
	}
}

// onlyAlpha reports whether a matrix leaves red, green and blue as they are, as those do that make drops run together.
func onlyAlpha(fe *node) bool {
	a := fe.attr(attributes["values"])
	if a == nil || !fe.says("type", "", "matrix") {
		return a == nil && fe.says("type", "", "matrix") // the identity
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

// says reports whether an attribute (absent: "") has one of the values.
func (n *node) says(name string, values ...string) bool {
	got := ""
	if a := n.attr(attributes[name]); a != nil {
		got = string(a.value)
	}
	for _, v := range values {
		if got == v {
			return true
		}
	}
	return false
}

// animations looks at what is set over time: a colour there counts, wherever it is.
func (j *judge) animations() {
	for i := range j.p.nodes {
		n := &j.p.nodes[i]
		if n.elem == nil || n.elem.role != roleAnimation {
			continue
		}
		target := n.attr(attrTarget)
		if target == nil {
			continue
		}
		switch prop := properties[string(target.value)]; {
		case prop == propFilter || prop == propBlend || prop >= propMarker && prop <= propMarkerEnd:
			j.doubt = true
		case paints(prop):
			for _, a := range n.attrs {
				if a.info.check != checkAnimated {
					continue
				}
				for v := range bytes.SplitSeq(bytes.TrimSuffix(bytes.TrimSpace(a.value), []byte{';'}), []byte{';'}) {
					if k := readPaint(v).kind; k != paintNone && k != paintCurrent {
						j.doubt = true
					}
				}
			}
		}
	}
}
