package svg

import (
	"bytes"
	"slices"
)

// A selector holds the part of a rule's selector that this package evaluates: its last compound.
// Unless exact is set, there is more to the selector, so it may match fewer elements than matches
// says, and never more.
type selector struct {
	tag     string // "" for any
	ids     []string
	classes []string
	exact   bool
}

// selectorFunctions take selectors or numbers, so they fetch nothing.
var selectorFunctions = []string{"not", "is", "where", "has", "nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type", "lang"}

// readSelectors reads the prelude of a style rule.
func readSelectors(list []token) (text string, parts []selector, ok bool) {
	for i, t := range list {
		switch t.kind {
		case tokBad, tokURL, tokAt:
			return "", nil, false
		case tokFunction:
			if !slices.ContainsFunc(selectorFunctions, func(s string) bool { return equalFold(t.text, s) }) {
				return "", nil, false
			}
		case tokDelim:
			if len(t.text) != 1 || !bytes.ContainsAny([]byte(t.text), ".*>+~,:[]()=^$-") {
				return "", nil, false
			}
		}
		if !t.harmless() || looksLikeAddress(list, i) {
			return "", nil, false
		}
	}
	if text, ok = serialise(list); !ok || len(list) == 0 {
		return "", nil, false
	}
	depth, start := 0, 0
	for i := 0; i <= len(list); i++ {
		if i < len(list) {
			depth = nest(depth, list[i])
			if depth > 0 || !list[i].is(",") {
				continue
			}
		}
		one := trim(list[start:i])
		if len(one) == 0 {
			return "", nil, false
		}
		parts = append(parts, readSelector(one))
		start = i + 1
	}
	return text, parts, depth == 0
}

// nest returns the depth of brackets after t.
func nest(depth int, t token) int {
	switch {
	case t.kind == tokFunction, t.is("("), t.is("["):
		return depth + 1
	case t.is(")"), t.is("]"):
		return max(0, depth-1)
	}
	return depth
}

func readSelector(list []token) selector {
	s := selector{exact: true}
	depth := 0
	for i := 0; i < len(list); i++ {
		t := list[i]
		before := depth
		depth = nest(depth, t)
		switch {
		case depth > 0 || before > 0:
			s.exact = false
		case t.kind == tokSpace, t.is(">"), t.is("+"), t.is("~"): // a combinator
			s = selector{}
		case len(s.ids)+len(s.classes) >= 16: // enough to distinguish elements
			s.exact = false
		case t.kind == tokHash:
			s.ids = append(s.ids, t.text)
		case t.is(".") && i+1 < len(list) && list[i+1].kind == tokIdent:
			i++
			s.classes = append(s.classes, list[i].text)
		case t.is("*"):
		case t.kind == tokIdent:
			s.tag = t.text
		case t.is(":"):
			s.exact = false
			for i+1 < len(list) && list[i+1].is(":") {
				i++
			}
			if i+1 < len(list) && list[i+1].kind == tokIdent {
				i++
			}
		default:
			s.exact = false
		}
	}
	return s
}

// matches reports whether the last compound matches a node.
func (s *selector) matches(n *node) bool {
	if s.tag != "" && s.tag != n.elem.name {
		return false
	}
	for _, id := range s.ids {
		if a := n.attr(attrID); a == nil || string(a.value) != id {
			return false
		}
	}
	for _, class := range s.classes {
		if !hasClass(n, class) {
			return false
		}
	}
	return true
}

func hasClass(n *node, class string) bool {
	a := n.attr(attrClass)
	if a == nil {
		return false
	}
	for word := range bytes.FieldsSeq(a.value) {
		if string(word) == class {
			return true
		}
	}
	return false
}

// weight returns the specificity of a selector (Selectors 4, section 17).
func (s *selector) weight() int {
	w := 10_000*len(s.ids) + 100*len(s.classes)
	if s.tag != "" {
		w++
	}
	return w
}
