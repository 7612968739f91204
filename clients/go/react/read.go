package react

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
)

const (
	maxBytes = 1 << 20 // of an SVG: the limit of the service
	maxDepth = 100     // of nested elements

	svgSpace   = "http://www.w3.org/2000/svg"
	xlinkSpace = "http://www.w3.org/1999/xlink"
)

// A node is an element, or the text in one.
type node struct {
	name     string
	attrs    []attr
	children []*node
	text     string // if name is empty
}

type attr struct{ name, value string }

// parse reads an SVG as strict XML, and rejects constructs that icons do not have.
func parse(svg string) (*node, error) {
	if len(svg) > maxBytes {
		return nil, refused("it is longer than %d bytes", maxBytes)
	}
	d := xml.NewDecoder(strings.NewReader(svg))
	holder := &node{}
	open := []*node{holder}
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) && len(open) == 1 && len(holder.children) == 1 {
			return holder.children[0], nil
		}
		if err == nil {
			open, err = take(open, token)
		} else {
			err = refused("it is not well-formed XML")
		}
		if err != nil {
			return nil, err
		}
	}
}

// take adds one token to the innermost open element, and returns the elements that are open after
// it.
func take(open []*node, token xml.Token) ([]*node, error) {
	inner := open[len(open)-1]
	switch t := token.(type) {
	case xml.StartElement:
		n, err := element(t, len(open) == 1)
		if err != nil {
			return nil, err
		}
		if len(open) > maxDepth || len(open) == 1 && len(inner.children) > 0 {
			return nil, refused("its elements are nested too deeply, or it has a second root")
		}
		inner.children = append(inner.children, n)
		return append(open, n), nil
	case xml.EndElement:
		if len(open) == 1 || qualified(t.Name) != inner.name {
			return nil, refused("it is not well-formed XML")
		}
		return open[:len(open)-1], nil
	case xml.CharData:
		return open, inner.addText(string(t), len(open) == 1)
	case xml.ProcInst:
		if t.Target != "xml" {
			return nil, refused("it has a processing instruction")
		}
	case xml.Directive:
		return nil, refused("it has a document type")
	}
	return open, nil
}

// addText adds text to an element. Around the root only white space is allowed (XML 1.0, section
// 2.1).
func (n *node) addText(s string, outside bool) error {
	if outside {
		if strings.TrimSpace(s) != "" {
			return refused("it has text outside of its root")
		}
		return nil
	}
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	if last := len(n.children) - 1; last >= 0 && n.children[last].name == "" {
		n.children[last].text += s
	} else if s != "" {
		n.children = append(n.children, &node{text: s})
	}
	return nil
}

func qualified(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

// element reads a start tag if its element is allowed. Names are compared with their prefixes: the
// service writes no other prefixes than xlink and xml.
func element(t xml.StartElement, root bool) (*node, error) {
	n := &node{name: qualified(t.Name)}
	if !rules.Elements[n.name] || root && n.name != "svg" {
		return nil, refused("it has an element that icons may not have")
	}
	seen := map[string]bool{}
	for _, a := range t.Attr {
		name := qualified(a.Name)
		value := strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(a.Value)
		if seen[name] {
			return nil, refused("it is not well-formed XML")
		}
		seen[name] = true
		if err := check(n.name, name, value); err != nil {
			return nil, err
		}
		n.attrs = append(n.attrs, attr{name, value})
	}
	return n, nil
}
