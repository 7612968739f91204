package raster

import (
	"slices"
	"strings"
)

// A selector is a list of compounds, the last of which an element matches itself.
type selector struct {
	compounds   []compound
	specificity int
}

// A compound is a selector without combinators.
type compound struct {
	combinator byte // before it: a space, > or +
	tests      []test
}

// A test is one condition of a compound.
type test struct {
	kind        byte // e for the name of an element, or one of . # [ :
	name, value string
	how         byte // of attributes: = for equal, ~ | ^ $ * as in CSS, 0 for any value
}

// readSelector reads a selector of names, classes, ids, attributes and :first-child, with
// combinators.
func readSelector(s string) (sel selector, ok bool) {
	combinator := byte(0)
	for s = strings.TrimSpace(s); s != ""; {
		c := compound{combinator: combinator}
		if c, s, ok = sel.compound(c, s); !ok {
			return sel, false
		}
		sel.compounds = append(sel.compounds, c)
		trimmed := strings.TrimLeft(s, " \t\r\n")
		if combinator = ' '; trimmed != "" && (trimmed[0] == '>' || trimmed[0] == '+') {
			combinator, trimmed = trimmed[0], strings.TrimLeft(trimmed[1:], " \t\r\n")
			if trimmed == "" {
				return sel, false
			}
		}
		s = trimmed
	}
	return sel, len(sel.compounds) > 0
}

// compound reads the tests of one compound from the start of s.
func (sel *selector) compound(c compound, s string) (_ compound, rest string, ok bool) {
	any := false
	for s != "" && !strings.ContainsRune(" \t\r\n>+", rune(s[0])) {
		t := test{kind: s[0]}
		switch s[0] {
		case '*':
			any, s = true, s[1:]
			continue
		case '.', '#', ':':
			s = s[1:]
		case '[':
			inside, after, closed := strings.Cut(s[1:], "]")
			if s = after; !closed {
				return c, s, false
			}
			t.attribute(inside)
		default:
			t.kind = 'e'
		}
		if t.kind != '[' {
			end := strings.IndexAny(s, " \t\r\n.#:[]>+~*\\\"'()")
			if end < 0 {
				end = len(s)
			}
			t.name, s = s[:end], s[end:]
		}
		if t.name == "" || t.kind == ':' && t.name != "first-child" {
			return c, s, false
		}
		sel.specificity += map[byte]int{'e': 1, '#': 1_000_000}[t.kind]
		if strings.IndexByte(".[:", t.kind) >= 0 {
			sel.specificity += 1000
		}
		c.tests = append(c.tests, t)
	}
	return c, s, any || len(c.tests) > 0
}

// attribute reads the test between brackets.
func (t *test) attribute(inside string) {
	name, value, valued := strings.Cut(inside, "=")
	if valued {
		t.how = '='
		if end := len(name) - 1; end > 0 && strings.IndexByte("~|^$*", name[end]) >= 0 {
			t.how, name = name[end], name[:end]
		}
	}
	t.name, t.value = strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"'`)
}

// matches reports whether an element matches a selector. It pays for each element that it looks at,
// because an ancestor for each of many combinators can be sought in many ways.
func (sel *selector) matches(n *node, budget *int) bool { return matchesAll(sel.compounds, n, budget) }

func matchesAll(list []compound, n *node, budget *int) bool {
	last := len(list) - 1
	if n == nil || *budget < 0 {
		return false
	}
	if *budget -= 40 * (1 + len(list[last].tests)); !list[last].matches(n) {
		return false
	}
	if last == 0 {
		return true
	}
	switch list[last].combinator {
	case '>':
		return matchesAll(list[:last], n.parent, budget)
	case '+':
		return matchesAll(list[:last], n.before(budget), budget)
	}
	for up := n.parent; up != nil; up = up.parent {
		if matchesAll(list[:last], up, budget) {
			return true
		}
	}
	return false
}

// before returns the sibling before an element, or nil.
func (n *node) before(budget *int) *node {
	if n.parent == nil {
		return nil
	}
	i := slices.Index(n.parent.children, n)
	*budget -= i
	if i < 1 {
		return nil
	}
	return n.parent.children[i-1]
}

func (c *compound) matches(n *node) bool {
	for i := range c.tests {
		if !c.tests[i].matches(n) {
			return false
		}
	}
	return true
}

func (t *test) matches(n *node) bool {
	switch t.kind {
	case '.':
		return slices.Contains(strings.Fields(n.attr("class")), t.name)
	case '#':
		return n.attr("id") == t.name
	case ':':
		return n.parent != nil && n.parent.children[0] == n
	case '[':
		return t.matchesAttribute(n)
	}
	return n.name == t.name
}

func (t *test) matchesAttribute(n *node) bool {
	i := slices.IndexFunc(n.attrs, func(a declaration) bool { return a.name == t.name })
	if i < 0 {
		return false
	}
	v := n.attrs[i].value
	switch t.how {
	case '=':
		return v == t.value
	case '~':
		return slices.Contains(strings.Fields(v), t.value)
	case '|':
		return v == t.value || strings.HasPrefix(v, t.value+"-")
	case '^':
		return t.value != "" && strings.HasPrefix(v, t.value)
	case '$':
		return t.value != "" && strings.HasSuffix(v, t.value)
	case '*':
		return t.value != "" && strings.Contains(v, t.value)
	}
	return true
}
