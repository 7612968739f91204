package raster

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// A node is an element.
type node struct {
	name     string
	attrs    []declaration // in order; names without a namespace, except xlink:href, which is href
	children []*node
	parent   *node
	text     string // of style elements only
	words    bool   // it has text
}

// attr returns an attribute, or "".
func (n *node) attr(name string) string {
	for i := range n.attrs {
		if n.attrs[i].name == name {
			return n.attrs[i].value
		}
	}
	return ""
}

// set sets an attribute.
func (n *node) set(name, value string) {
	for i := range n.attrs {
		if n.attrs[i].name == name {
			n.attrs[i].value = value
			return
		}
	}
	n.attrs = append(n.attrs, declaration{name: name, value: value})
}

// A document is a parsed SVG.
type document struct {
	root  *node
	ids   map[string]*node
	rules []styleRule
}

// target returns the element that the href of an element refers to, or nil.
func (doc *document) target(n *node) *node {
	id, local := strings.CutPrefix(n.attr("href"), "#")
	if !local {
		return nil
	}
	return doc.ids[id]
}

// unsupported returns the error for a feature.
func unsupported(feature string) error { return fmt.Errorf("%w: %s", ErrUnsupported, feature) }

// parse reads an SVG.
func parse(svg []byte) (*document, error) {
	r := reader{doc: &document{ids: map[string]*node{}}}
	in := xml.NewDecoder(bytes.NewReader(svg))
	in.Entity = nil
	for {
		token, err := in.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, ErrMalformed
		}
		if err := r.read(token); err != nil {
			return nil, err
		}
	}
	if r.doc.root == nil || r.at != nil {
		return nil, ErrMalformed
	}
	sortRules(r.doc.rules)
	r.doc.freeze(r.doc.root)
	return r.doc, nil
}

// A reader makes a document of tokens.
type reader struct {
	doc          *document
	at           *node
	count, depth int
}

func (r *reader) read(token xml.Token) (err error) {
	switch t := token.(type) {
	case xml.StartElement:
		return r.open(newNode(t, r.at))
	case xml.EndElement:
		if r.at == nil || t.Name.Local != r.at.name {
			return ErrMalformed
		}
		if r.at.name == "style" {
			r.doc.rules, err = readSheet(r.doc.rules, r.at.text)
		}
		r.at, r.depth = r.at.parent, r.depth-1
	case xml.CharData:
		if r.at != nil && r.at.name == "style" {
			r.at.text += string(t)
		}
		if len(bytes.TrimSpace(t)) > 0 {
			for n := r.at; n != nil && !n.words; n = n.parent {
				n.words = true
			}
		}
	case xml.Directive:
		return ErrMalformed
	}
	return err
}

// open begins an element.
func (r *reader) open(n *node) error {
	if r.count, r.depth = r.count+1, r.depth+1; r.count > maxNodes || r.depth > maxDepth {
		return ErrTooComplex
	}
	switch {
	case r.at != nil:
		r.at.children = append(r.at.children, n)
	case r.doc.root != nil || n.name != "svg":
		return ErrMalformed
	default:
		r.doc.root = n
	}
	if id := n.attr("id"); id != "" && r.doc.ids[id] == nil {
		r.doc.ids[id] = n
	}
	r.at = n
	return nil
}

func newNode(t xml.StartElement, parent *node) *node {
	n := &node{name: t.Name.Local, parent: parent}
	for _, a := range t.Attr {
		switch {
		case a.Name.Local == "href" && (a.Name.Space == "" || n.attr("href") == ""):
			n.set("href", a.Value) // href counts more than xlink:href
		case a.Name.Space == "":
			n.attrs = append(n.attrs, declaration{name: a.Name.Local, value: a.Value})
		}
	}
	return n
}

// freeze applies the animations that leave their last value behind, because many icons draw
// themselves. The others begin and end with the attributes as they are.
func (doc *document) freeze(n *node) {
	for _, c := range n.children {
		switch c.name {
		case "animate", "set", "animateTransform":
			target := n
			if c.attr("href") != "" {
				target = doc.target(c)
			}
			if target != nil && c.attr("fill") == "freeze" {
				c.apply(target)
			}
		default:
			doc.freeze(c)
		}
	}
}

// apply sets the last value of an animation.
func (n *node) apply(target *node) {
	value := n.attr("to")
	if values := n.attr("values"); values != "" {
		list := strings.Split(strings.TrimRight(values, "; "), ";")
		value = strings.TrimSpace(list[len(list)-1])
	}
	name := n.attr("attributeName")
	if value == "" || name == "" {
		return
	}
	if n.name == "animateTransform" {
		value = n.attr("type") + "(" + value + ")"
		if n.attr("additive") == "sum" {
			value = target.attr("transform") + " " + value
		}
	}
	target.set(name, value)
}
