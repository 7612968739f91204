package svg

import "bytes"

var currentColor = []byte("currentColor")

// writeBody appends the whole tree in canonical form: attributes in double quotes and in their
// order, everything escaped, white space only in text.
func (p *parser) writeBody(dst []byte) []byte {
	for c := p.nodes[0].first; c != none; c = p.nodes[c].next {
		dst = p.write(dst, c)
	}
	return dst
}

func (p *parser) write(dst []byte, i int32) []byte {
	n := &p.nodes[i]
	if n.elem == nil {
		return appendEscaped(dst, n.text, false)
	}
	if n.elem.role == roleStyle && (n.sheet == nil || len(n.sheet.items) == 0) {
		return dst
	}
	dst = append(append(dst, '<'), n.elem.name...)
	if n.filled {
		dst = append(dst, ` fill="currentColor"`...)
	}
	for j := range n.attrs {
		dst = n.attrs[j].write(dst)
	}
	if n.first == none && n.sheet == nil {
		return append(dst, "/>"...)
	}
	dst = append(dst, '>')
	start := len(dst)
	if dst = p.writeInside(dst, n); len(dst) == start {
		return append(dst[:start-1], "/>"...)
	}
	dst = append(append(dst, "</"...), n.elem.name...)
	return append(dst, '>')
}

func (p *parser) writeInside(dst []byte, n *node) []byte {
	if n.sheet != nil {
		return appendEscaped(dst, appendItems(nil, n.sheet.items), false)
	}
	for c := n.first; c != none; c = p.nodes[c].next {
		dst = p.write(dst, c)
	}
	return dst
}

func (a *attr) write(dst []byte) []byte {
	dst = append(append(append(dst, ' '), a.info.name...), `="`...)
	switch {
	case a.decls != nil && a.value == nil:
		dst = appendEscaped(dst, appendDecls(nil, a.decls), true)
	case a.simple:
		dst = append(dst, a.value...)
	default:
		dst = appendEscaped(dst, a.value, true)
	}
	return append(dst, '"')
}

// currentOnlyPaints reports whether every currentColor in written is a paint. If the word were also
// part of a name or a text, recolouring would change that.
func (p *parser) currentOnlyPaints(written []byte) bool {
	count := 0
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.filled {
			count++
		}
		for j := range n.attrs {
			count += n.attrs[j].currents(n)
		}
		if n.sheet != nil {
			count += currentsIn(n.sheet.items)
		}
	}
	return bytes.Count(written, currentColor) == count
}

// currents counts the occurrences of currentColor as a paint. A value that is more than that word
// may have it in an id too.
func (a *attr) currents(n *node) int {
	switch a.info.check {
	case checkPaint:
		return paintsCurrent(a.value)
	case checkStyle:
		return declaredCurrents(a.decls)
	case checkAnimated:
		count := 0
		if t := n.attr(attrTarget); t != nil && paints(properties[string(t.value)]) {
			for v := range bytes.SplitSeq(a.value, []byte{';'}) {
				count += paintsCurrent(v)
			}
		}
		return count
	}
	return 0
}

func paintsCurrent(v []byte) int {
	if len(v) < len(currentColor) {
		return 0
	}
	if v = bytes.TrimSpace(v); bytes.Equal(v, currentColor) || bytes.HasSuffix(v, []byte(") currentColor")) {
		return 1
	}
	return 0
}

func declaredCurrents(decls []decl) (count int) {
	for _, d := range decls {
		if paints(d.prop) {
			count += paintsCurrent(d.value)
		}
	}
	return count
}

func currentsIn(items []item) (count int) {
	for _, it := range items {
		count += declaredCurrents(it.decls) + currentsIn(it.items)
	}
	return count
}
