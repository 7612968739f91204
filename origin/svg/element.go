package svg

import "bytes"

// startTag reads a start tag with its attributes, and adds the element to the tree if it is
// allowed.
func (p *parser) startTag() error {
	p.pos++
	name := p.name()
	if len(name) == 0 {
		return malformed("a tag has no name")
	}
	if p.outside() && p.seenRoot {
		return malformed("it has a second root element")
	}
	if len(p.open) >= maxDepth {
		return unclean("its elements are nested more than %d deep", maxDepth)
	}
	empty, err := p.readAttrs()
	if err != nil {
		return err
	}
	o := open{name: name, node: none, spaces: len(p.spaces)}
	if err := p.declareNamespaces(); err != nil {
		return err
	}
	if err := p.addElement(&o); err != nil {
		return err
	}
	p.seenRoot = true
	p.open = append(p.open, o)
	if empty {
		p.close()
	}
	return nil
}

// close ends the innermost open element.
func (p *parser) close() {
	o := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	p.spaces = p.spaces[:o.spaces]
}

// addElement adds a node for the element of the start tag that was just read, if the element is
// allowed.
func (p *parser) addElement(o *open) error {
	prefix, local, err := split(o.name)
	if err != nil {
		return err
	}
	svg := p.resolve(prefix) == svgSpace
	if p.outside() && (!svg || string(local) != "svg") {
		return unclean("its root is not an svg element of the SVG namespace")
	}
	p.prefixed = p.prefixed || p.outside() && len(prefix) > 0
	parent := int32(0)
	if n := len(p.open); n > 0 {
		parent = p.open[n-1].node
	}
	place := int32(0)
	if parent != none {
		p.nodes[parent].children++
		place = p.nodes[parent].children
	}
	elem := elements[string(local)]
	if !svg || elem == nil || parent == none || parent > 0 && p.nodes[parent].elem.words {
		p.removed = p.removed || svg && string(local) != "metadata"
		p.noteElement(string(local), svg)
		switch string(local) {
		case "font", "glyph", "missing-glyph", "font-face":
			p.glyphs++
		}
		return p.checkNames() // the content that is left out must be well-formed too
	}
	first, xlink := len(p.attrs), p.xlink
	ok, err := p.filterAttrs(elem)
	if err != nil {
		return err
	}
	if !ok {
		if p.outside() { // without its root, nothing remains
			return unclean("its root has an attribute that makes it unsafe")
		}
		p.attrs, p.xlink, p.removed = p.attrs[:first], xlink, true
		p.note(elem.name)
		return nil
	}
	attrs := p.attrs[first:len(p.attrs):len(p.attrs)]
	o.node = p.add(node{elem: elem, attrs: attrs, place: place}, parent)
	switch elem.role {
	case roleAnimation:
		p.animated = true
	case roleStyle:
		p.sheets = append(p.sheets, o.node)
	}
	return nil
}

// readAttrs reads attributes into p.raw, up to the end of the tag. It reports whether the tag is
// one of an empty element (<…/>).
func (p *parser) readAttrs() (empty bool, err error) {
	p.raw = p.raw[:0]
	for {
		spaced := p.space()
		if p.pos >= len(p.src) {
			return false, malformed("a tag is not closed")
		}
		switch p.src[p.pos] {
		case '>':
			p.pos++
			return false, nil
		case '/':
			if p.pos+1 >= len(p.src) || p.src[p.pos+1] != '>' {
				return false, malformed("a tag is not closed")
			}
			p.pos += 2
			return true, nil
		}
		if !spaced {
			return false, malformed("no white space separates two attributes")
		}
		if len(p.raw) >= maxAttrs {
			return false, unclean("an element has more than %d attributes", maxAttrs)
		}
		a, err := p.readAttr()
		if err != nil {
			return false, err
		}
		for i := range p.raw {
			if bytes.Equal(p.raw[i].name, a.name) {
				return false, malformed("an attribute is given twice")
			}
		}
		p.raw = append(p.raw, a)
	}
}

func (p *parser) readAttr() (a rawAttr, err error) {
	a.name = p.name()
	p.space()
	if len(a.name) == 0 || p.pos >= len(p.src) || p.src[p.pos] != '=' {
		return a, malformed("an attribute has no value")
	}
	p.pos++
	p.space()
	if p.pos >= len(p.src) || p.src[p.pos] != '"' && p.src[p.pos] != '\'' {
		return a, malformed("an attribute's value is not quoted")
	}
	quote := p.src[p.pos]
	start := p.pos + 1
	end := start
	for end < len(p.src) && !special[p.src[end]] {
		end++
	}
	if a.simple = end < len(p.src) && p.src[end] == quote; !a.simple {
		n := bytes.IndexByte(p.src[end:], quote)
		if n < 0 {
			return a, malformed("an attribute's value is not closed")
		}
		end += n
	}
	raw := p.src[start:end]
	p.pos = end + 1
	if a.simple {
		a.value = raw
		return a, nil
	}
	if bytes.IndexByte(raw, '<') >= 0 {
		return a, malformed("an attribute's value contains <")
	}
	a.value, err = p.decode(raw, true)
	return a, err
}

// special lists the bytes that end the fast reading of a value: quotes, and all bytes that need
// decoding or escaping.
var special = [256]bool{'"': true, '\'': true, '&': true, '<': true, '>': true, '\t': true, '\n': true, '\r': true}
