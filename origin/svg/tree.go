package svg

import "bytes"

// none is the index of no node.
const none = int32(-1)

// A node is an element that the cleaner keeps, or text in one. Nodes lie in one slice and refer to
// each other by index; node 0 is the document.
type node struct {
	elem              *element // nil: text
	text              []byte   // decoded; of text nodes only
	sheet             *sheet   // of style elements only
	attrs             []attr
	parent            int32
	first, last, next int32 // child, child, sibling
	place, children   int32 // in the file: place among the elements of its parent; its own elements
	filled            bool  // recolor added fill="currentColor"
}

// An attr is an attribute that the cleaner keeps.
type attr struct {
	info   *attribute
	value  []byte // decoded
	decls  []decl // of style only; written if value is nil
	simple bool   // the value needs no escaping
}

// A parser reads one SVG into a tree of the allowed nodes. It reuses its slices for the next SVG.
type parser struct {
	src      []byte
	pos      int
	document bool // reads a whole SVG file, not the body of an icon

	nodes  []node
	attrs  []attr // of all nodes in succession
	open   []open
	spaces []binding
	raw    []rawAttr
	ids    map[string]int32

	seenRoot, seenDoctype bool
	prefixed              bool              // the root's name has a prefix
	xlink                 bool              // xlink:href is used
	named                 bool              // some element has an id
	animated              bool              // there are animations
	removed               bool              // an element of SVG was left out that may draw
	notes                 []string          // the removed parts, by name, each once
	entities              map[string][]byte // replacement texts of the internal subset
	expanded              int               // bytes that entities have added
	glyphs                int               // elements of an SVG font
	sheets                []int32
}

// open is an element whose end tag has not been read yet.
type open struct {
	name   []byte // as it was written
	node   int32  // none if the element is left out, with all its content
	spaces int    // number of namespace bindings before it
}

// binding is one namespace declaration.
type binding struct {
	prefix []byte
	space  string
}

type rawAttr struct {
	name, value []byte // as written, decoded
	simple      bool
}

func (p *parser) release() {
	p.reset()
	parsers.Put(p)
}

// reset prepares the parser for another SVG.
func (p *parser) reset() {
	// Pointers into the input must not keep it alive.
	clear(p.nodes)
	clear(p.attrs)
	clear(p.ids)
	const keep = 4096 // one huge SVG must not make the parser huge for ever
	if cap(p.nodes) > keep || cap(p.attrs) > 4*keep || len(p.ids) > keep {
		*p = parser{}
	}
	*p = parser{nodes: p.nodes[:0], attrs: p.attrs[:0], open: p.open[:0], spaces: p.spaces[:0], raw: p.raw[:0],
		ids: p.ids, sheets: p.sheets[:0]}
}

// add appends a node to the children of parent.
func (p *parser) add(n node, parent int32) int32 {
	i := int32(len(p.nodes))
	n.parent, n.first, n.last, n.next = parent, none, none, none
	p.nodes = append(p.nodes, n)
	if parent != none {
		up := &p.nodes[parent]
		if up.last == none {
			up.first = i
		} else {
			p.nodes[up.last].next = i
		}
		up.last = i
	}
	return i
}

// attr returns an attribute of a node, or nil.
func (n *node) attr(info *attribute) *attr {
	for i := range n.attrs {
		if n.attrs[i].info == info {
			return &n.attrs[i]
		}
	}
	return nil
}

// byID finds the element with an id, the first one if there are several, as browsers do.
func (p *parser) byID(id []byte) int32 {
	if p.ids == nil {
		p.ids = map[string]int32{}
	}
	if len(p.ids) == 0 {
		for i := range p.nodes {
			if a := p.nodes[i].attr(attrID); a != nil {
				if _, twice := p.ids[string(a.value)]; !twice {
					p.ids[string(a.value)] = int32(i)
				}
			}
		}
		p.ids[""] = none // marks the table as made, even if no element has an id
	}
	if i, ok := p.ids[string(id)]; ok {
		return i
	}
	return none
}

// target returns the element that the href of an element refers to, or none.
func (p *parser) target(n *node) int32 {
	for _, href := range [...]*attribute{attrHref, attrXlinkHref} {
		if a := n.attr(href); a != nil {
			return p.reference(a.value)
		}
	}
	return none
}

// reference returns the element that a value such as "#id" refers to, or none.
func (p *parser) reference(value []byte) int32 {
	if id, ok := bytes.CutPrefix(value, []byte{'#'}); ok {
		return p.byID(id)
	}
	return none
}
