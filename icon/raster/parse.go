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

// viewBox returns the part of the plane that an svg or symbol element shows.
func (n *node) viewBox() (b box, ok bool) {
	v, valid := numbers(n.attr("viewBox"))
	if valid && len(v) == 4 {
		b = box{v[0], v[1], v[2], v[3]}
	} else {
		b = box{0, 0, length(n.attr("width"), 0, 0), length(n.attr("height"), 0, 0)}
	}
	return b, b.w > 0 && b.h > 0 && point{b.x, b.y}.sane() && point{b.w, b.h}.sane()
}

// A document is a parsed SVG.
type document struct {
	root  *node
	ids   map[string]*node
	rules []rule
}

// unsupported returns the error for a feature.
func unsupported(feature string) error { return fmt.Errorf("%w: %s", ErrUnsupported, feature) }

// parse reads an SVG.
func parse(svg []byte) (*document, error) {
	doc := &document{ids: map[string]*node{}}
	in := xml.NewDecoder(bytes.NewReader(svg))
	in.Entity = nil
	var at *node
	count, depth := 0, 0
	for {
		token, err := in.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, ErrMalformed
		}
		switch t := token.(type) {
		case xml.StartElement:
			if count, depth = count+1, depth+1; count > maxNodes || depth > maxDepth {
				return nil, ErrTooComplex
			}
			n := newNode(t, at)
			switch {
			case at != nil:
				at.children = append(at.children, n)
			case doc.root != nil || n.name != "svg":
				return nil, ErrMalformed
			default:
				doc.root = n
			}
			if id := n.attr("id"); id != "" && doc.ids[id] == nil {
				doc.ids[id] = n
			}
			at = n
		case xml.EndElement:
			if at == nil || t.Name.Local != at.name {
				return nil, ErrMalformed
			}
			if at.name == "style" {
				if doc.rules, err = readSheet(doc.rules, at.text); err != nil {
					return nil, err
				}
			}
			at, depth = at.parent, depth-1
		case xml.CharData:
			if at != nil && at.name == "style" {
				at.text += string(t)
			}
		case xml.Directive:
			return nil, ErrMalformed
		}
	}
	if doc.root == nil || at != nil {
		return nil, ErrMalformed
	}
	sortRules(doc.rules)
	doc.freeze(doc.root)
	return doc, nil
}

func newNode(t xml.StartElement, parent *node) *node {
	n := &node{name: t.Name.Local, parent: parent}
	for _, a := range t.Attr {
		if a.Name.Space == "" || a.Name.Local == "href" {
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
			if href := c.attr("href"); href != "" {
				target = doc.ids[strings.TrimPrefix(href, "#")]
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
