package invalidation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/edge/cache/hashes"
)

// prefixes are invalidations of keys by their prefix, in a radix tree. All prefixes of a key are
// found in one pass over the key, however many prefixes there are.
type prefixes struct {
	root  prefixNode
	n     int // prefixes
	bytes int // total length of the prefixes
}

// A prefixNode represents its parent's prefix followed by text.
type prefixNode struct {
	text     string // empty only at the root
	is       bool   // a prefix ends here
	what     Latest
	children []*prefixNode // sorted by the first byte of text, which differs between them
}

// child finds the child whose text begins with a byte, or its position.
func (n *prefixNode) child(first byte) (i int, found bool) {
	return slices.BinarySearchFunc(n.children, first, func(c *prefixNode, b byte) int { return cmp.Compare(c.text[0], b) })
}

// add merges an invalidation into those of a prefix.
func (p *prefixes) add(prefix string, v Latest) {
	n, rest := &p.root, prefix
	for rest != "" {
		i, found := n.child(rest[0])
		if !found {
			n.children = slices.Insert(n.children, i, &prefixNode{text: rest})
			n = n.children[i]
			break
		}
		same := commonPrefix(n.children[i].text, rest)
		if same < len(n.children[i].text) {
			n.children[i] = n.children[i].split(same)
		}
		n, rest = n.children[i], rest[same:]
	}
	if !n.is {
		n.is = true
		p.n++
		p.bytes += len(prefix)
	}
	n.what = n.what.Merge(v)
}

// split inserts a parent that takes the first bytes of a node's text.
func (n *prefixNode) split(at int) *prefixNode {
	parent := &prefixNode{text: n.text[:at], children: []*prefixNode{n}}
	n.text = n.text[at:]
	return parent
}

// commonPrefix returns the length of the common prefix of two texts.
func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// match merges all invalidations that concern a key. nodes is the number of nodes visited, at most
// one for each byte of the key, and the root.
func (p *prefixes) match(key string) (v Latest, nodes int) {
	n := &p.root
	for {
		nodes++
		if n.is {
			v = v.Merge(n.what)
		}
		if key == "" || len(n.children) == 0 {
			return v, nodes
		}
		i, found := n.child(key[0])
		if !found || !strings.HasPrefix(key, n.children[i].text) {
			return v, nodes
		}
		n = n.children[i]
		key = key[len(n.text):]
	}
}

// matchKey merges all invalidations that concern a key, and, if it begins with a scheme and a host,
// those that concern its target.
func (p *prefixes) matchKey(key string) Latest {
	v, _ := p.match(key)
	if target, sited := hashes.TargetOf(key); sited && p.n > 0 {
		of, _ := p.match(target)
		v = v.Merge(of)
	}
	return v
}

// all calls do for every prefix, in order.
func (p *prefixes) all(do func(prefix string, v Latest)) { p.root.all(nil, do) }

func (n *prefixNode) all(before []byte, do func(string, Latest)) {
	before = append(before, n.text...)
	if n.is {
		do(string(before), n.what)
	}
	for _, c := range n.children {
		c.all(before, do)
	}
}
