package glob

import (
	"slices"
	"strings"
)

// Names are names, of which any may end in an asterisk: then it stands for every name that begins
// with the rest. A look-up takes time that is logarithmic in their number.
type Names struct {
	exact []string
	stems []string // none of which begins with another one
}

// NewNames compiles names.
func NewNames(patterns []string) *Names {
	n := &Names{}
	for _, p := range patterns {
		n.exact = append(n.exact, p) // also a name that ends in an asterisk
		if stem, wild := strings.CutSuffix(p, "*"); wild {
			n.stems = append(n.stems, stem)
		}
	}
	slices.Sort(n.exact)
	slices.Sort(n.stems)
	stems := n.stems[:0]
	for _, stem := range n.stems { // each after those that it may begin with
		if len(stems) == 0 || !strings.HasPrefix(stem, stems[len(stems)-1]) {
			stems = append(stems, stem)
		}
	}
	n.stems = stems
	return n
}

// Match reports whether a name is one of the names. Only the last stem that is not after the name
// can be its begin: a stem between the two would begin with that one.
func (n *Names) Match(name string) bool {
	if _, found := slices.BinarySearch(n.exact, name); found {
		return true
	}
	at, found := slices.BinarySearch(n.stems, name)
	return found || at > 0 && strings.HasPrefix(name, n.stems[at-1])
}
