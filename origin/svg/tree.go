package svg

import "bytes"

// none stands for no node.
const none = int32(-1)

// A node is an element that is kept, or text in one. Nodes lie in one slice and name each other by their index; the first
// is the drawing as a whole.
type node struct {
	elem              *element // nil: text
	text              []byte   // decoded; of text alone
	sheet             *sheet   // of a style element alone
	attrs             []attr
	parent            int32
	first, last, next int32 // child, child, sibling
	filled            bool  // written with fill="currentColor" in front of its attributes
}

// An attr is an attribute that is kept.
type attr struct {
	info   *attribute
	value  []byte // decoded
	decls  []decl // of style alone: it is written instead of the value
	simple bool   // the value can be written as it is
}

// parser reads one drawing into a tree of what is kept. Its slices are used again for the next drawing.
type parser struct {
	src      []byte
	pos      int
	document bool // an SVG file, not the inside of one

	nodes  []node
	attrs  []attr // of all nodes, one after the other
	open   []open
	spaces []binding
	raw    []rawAttr
	ids    map[string]int32

	seenRoot, seenDoctype bool
	prefixed              bool // the root's name has a prefix
	xlink                 bool // xlink:href is used
	named                 bool // some element has an id
	animated              bool // there are animations
	sheets                []int32
}

// open is an element whose end tag has not come yet.
type open struct {
	name   []byte // as it was written
	node   int32  // none: it is left out, with all that is in it
	spaces int    // how many namespace bindings were there before it
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
	// What points into the drawing must not keep it alive.
	clear(p.nodes)
	clear(p.attrs)
	clear(p.ids)
	const keep = 4096 // one huge drawing does not make the parser huge for ever
	if cap(p.nodes) > keep || cap(p.attrs) > 4*keep || len(p.ids) > keep {
		*p = parser{}
	}
	*p = parser{nodes: p.nodes[:0], attrs: p.attrs[:0], open: p.open[:0], spaces: p.spaces[:0], raw: p.raw[:0], ids: p.ids, sheets: p.sheets[:0]}
	parsers.Put(p)
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

// attr is a node's attribute, or nil.
func (n *node) attr(info *attribute) *attr {
	for i := range n.attrs {
		if n.attrs[i].info == info {
			return &n.attrs[i]
		}
	}
	return nil
}

// byID finds the element with an id, the first if there are several, as browsers do.
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
		p.ids[""] = none // so that it is not made again
	}
	if i, ok := p.ids[string(id)]; ok {
		return i
	}
	return none
}

// reference is the element that a value such as "#id" names, or none.
func (p *parser) reference(value []byte) int32 {
	if id, ok := bytes.CutPrefix(value, []byte{'#'}); ok {
		return p.byID(id)
	}
	return none
}
