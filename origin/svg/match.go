package svg

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A complexSelector is one selector of a rule: compounds that combinators join.
type complexSelector struct {
	compounds   []compound
	combinators []byte // before each compound but the first: ' ', '>', '+' or '~'
}

// A compound is a sequence of conditions on one element.
type compound struct {
	tag   string // "" for any
	conds []condition
	// states are pseudo-classes that hold at some times only, such as hover.
	states []string
}

type condition struct {
	kind        conditionKind
	name, value string
	operator    byte // of an attribute: 0: it is there, '=', '~', '|', '^', '$', '*'
	fold        bool // the case of the value does not count
	step, first int  // of nth-child and the like: step·n + first
	list        []complexSelector
	leads       []byte // of hasInside: the combinators before the selectors
}

type conditionKind uint8

const (
	hasID conditionKind = iota
	hasClassName
	hasAttribute
	isNth
	isNthLast
	isNthOfType
	isNthLastOfType
	isRoot
	isEmpty
	isNone    // :not()
	isAny     // :is()
	isWhere   // :where(), which counts nothing
	hasInside // :has()
)

// states are the pseudo-classes that depend on the user or the address of the page.
var states = []string{"hover", "active", "focus", "focus-visible", "focus-within", "target"}

// Limits of a selector. One beyond them can't be evaluated.
const (
	maxCompounds  = 16
	maxConditions = 16 // of a compound
	maxNested     = 12 // pseudo-classes in pseudo-classes
)

// parseSelectors parses the selectors of a rule, within depth pseudo-classes. It is not ok if one
// of them has a part that can't be evaluated here.
func parseSelectors(list []token, depth int) (out []complexSelector, ok bool) {
	if depth > maxNested {
		return nil, false
	}
	for _, one := range splitList(list) {
		s, ok := parseComplex(trim(one), depth)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, len(out) > 0
}

// splitList splits tokens at the commas outside of brackets.
func splitList(list []token) (parts [][]token) {
	depth, start := 0, 0
	for i, t := range list {
		if depth = nest(depth, t); depth == 0 && t.is(",") {
			parts = append(parts, list[start:i])
			start = i + 1
		}
	}
	return append(parts, list[start:])
}

func parseComplex(list []token, depth int) (s complexSelector, ok bool) {
	for len(list) > 0 {
		size, c, ok := parseCompound(list, depth)
		if !ok || len(s.compounds) == maxCompounds {
			return s, false
		}
		s.compounds = append(s.compounds, c)
		list = list[size:]
		between := byte(0)
		for len(list) > 0 && (list[0].kind == tokSpace || isCombinator(list[0])) {
			switch {
			case list[0].kind == tokSpace && between == 0:
				between = ' '
			case list[0].kind != tokSpace && between != 0 && between != ' ':
				return s, false
			case list[0].kind != tokSpace:
				between = list[0].text[0]
			}
			list = list[1:]
		}
		if len(list) == 0 {
			return s, between == 0 || between == ' '
		}
		if between == 0 {
			return s, false
		}
		s.combinators = append(s.combinators, between)
	}
	return s, false
}

func isCombinator(t token) bool { return t.is(">") || t.is("+") || t.is("~") }

// parseCompound parses the compound at the start of list, and returns its number of tokens.
func parseCompound(list []token, depth int) (size int, c compound, ok bool) {
	i := 0
	for ; i < len(list); i++ {
		t := list[i]
		switch {
		case len(c.conds)+len(c.states) > maxConditions:
			return 0, c, false
		case t.kind == tokSpace, isCombinator(t):
			return i, c, i > 0
		case t.is("*") && i == 0:
		case t.kind == tokIdent && i == 0:
			c.tag = t.text
		case t.kind == tokHash:
			c.conds = append(c.conds, condition{kind: hasID, value: t.text})
		case t.is(".") && i+1 < len(list) && list[i+1].kind == tokIdent:
			i++
			c.conds = append(c.conds, condition{kind: hasClassName, value: list[i].text})
		case t.is("["):
			end := closing(list, i)
			cond, fine := parseAttribute(list[i+1 : max(i+1, end)])
			if end < 0 || !fine {
				return 0, c, false
			}
			c.conds = append(c.conds, cond)
			i = end
		case t.is(":") && i+1 < len(list):
			n, fine := c.parsePseudo(list[i+1:], depth)
			if !fine {
				return 0, c, false
			}
			i += n
		default:
			return 0, c, false
		}
	}
	return i, c, i > 0
}

// closing returns the index of the bracket that closes the one at i; -1 if there is none.
func closing(list []token, i int) int {
	depth := 0
	for ; i < len(list); i++ {
		if depth = nest(depth, list[i]); depth == 0 {
			return i
		}
	}
	return -1
}

func parseAttribute(list []token) (c condition, ok bool) {
	list = slices.DeleteFunc(slices.Clone(list), func(t token) bool { return t.kind == tokSpace })
	if len(list) == 0 || list[0].kind != tokIdent {
		return c, false
	}
	c = condition{kind: hasAttribute, name: list[0].text}
	if list = list[1:]; len(list) == 0 {
		return c, true
	}
	if list[0].kind == tokDelim && strings.Contains("~|^$*", list[0].text) {
		c.operator, list = list[0].text[0], list[1:]
	} else {
		c.operator = '='
	}
	if len(list) < 2 || !list[0].is("=") || list[1].kind != tokIdent && list[1].kind != tokString {
		return c, false
	}
	c.value = list[1].text
	switch list = list[2:]; {
	case len(list) == 0:
		return c, true
	case len(list) == 1 && list[0].kind == tokIdent:
		c.fold = equalFold(list[0].text, "i")
		return c, c.fold || equalFold(list[0].text, "s")
	}
	return c, false
}

// parsePseudo parses the pseudo-class after a colon, and returns its number of tokens.
func (c *compound) parsePseudo(list []token, depth int) (size int, ok bool) {
	name := strings.ToLower(list[0].text)
	switch list[0].kind {
	case tokIdent:
		if slices.Contains(states, name) {
			c.states = append(c.states, name)
			return 1, true
		}
		cond, ok := simplePseudo(name)
		c.conds = append(c.conds, cond...)
		return 1, ok
	case tokFunction:
		end := closing(list, 0)
		if end < 0 {
			return 0, false
		}
		cond, ok := functionalPseudo(name, trim(list[1:end]), depth)
		c.conds = append(c.conds, cond)
		return end + 1, ok
	}
	return 0, false
}

func simplePseudo(name string) ([]condition, bool) {
	one := func(k conditionKind) condition { return condition{kind: k, first: 1} }
	switch name {
	case "root", "scope":
		return []condition{{kind: isRoot}}, true
	case "empty":
		return []condition{{kind: isEmpty}}, true
	case "first-child":
		return []condition{one(isNth)}, true
	case "last-child":
		return []condition{one(isNthLast)}, true
	case "only-child":
		return []condition{one(isNth), one(isNthLast)}, true
	case "first-of-type":
		return []condition{one(isNthOfType)}, true
	case "last-of-type":
		return []condition{one(isNthLastOfType)}, true
	case "only-of-type":
		return []condition{one(isNthOfType), one(isNthLastOfType)}, true
	}
	return nil, false
}

func functionalPseudo(name string, inside []token, depth int) (c condition, ok bool) {
	switch name {
	case "not", "is", "where":
		c.kind = map[string]conditionKind{"not": isNone, "is": isAny, "where": isWhere}[name]
		c.list, ok = parseSelectors(inside, depth+1)
		return c, ok
	case "has":
		c.kind = hasInside
		for _, one := range splitList(inside) {
			lead := byte(' ')
			if one = trim(one); len(one) > 0 && isCombinator(one[0]) {
				lead, one = one[0].text[0], trim(one[1:])
			}
			s, ok := parseComplex(one, depth+1)
			if !ok || depth == maxNested || s.dynamic() {
				return c, false
			}
			c.list, c.leads = append(c.list, s), append(c.leads, lead)
		}
		return c, true
	case "nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type":
		c.kind = map[string]conditionKind{"nth-child": isNth, "nth-last-child": isNthLast, "nth-of-type": isNthOfType,
			"nth-last-of-type": isNthLastOfType}[name]
		text, _ := serialise(slices.DeleteFunc(slices.Clone(inside), func(t token) bool { return t.kind == tokSpace }))
		c.step, c.first, ok = parseNth(strings.ToLower(text))
		return c, ok
	}
	return c, false
}

// nthForm is An+B (CSS Syntax 3, section 6) without white space.
var nthForm = regexp.MustCompile(`^(?:([+-]?[0-9]{0,6})n)?([+-]?[0-9]{1,6})?$`)

func parseNth(s string) (step, first int, ok bool) {
	switch s {
	case "odd":
		return 2, 1, true
	case "even":
		return 2, 0, true
	}
	m := nthForm.FindStringSubmatch(s)
	if s == "" || m == nil {
		return 0, 0, false
	}
	if strings.Contains(s, "n") {
		switch m[1] {
		case "", "+":
			step = 1
		case "-":
			step = -1
		default:
			step, _ = strconv.Atoi(m[1])
		}
	}
	first, _ = strconv.Atoi(m[2])
	return step, first, true
}

// dynamic reports whether the selector matches at some times only.
func (s *complexSelector) dynamic() bool {
	return slices.ContainsFunc(s.compounds, func(c compound) bool { return c.dynamic() })
}

func (c *compound) dynamic() bool {
	return len(c.states) > 0 || slices.ContainsFunc(c.conds, condition.dynamic)
}

func (c condition) dynamic() bool {
	return slices.ContainsFunc(c.list, func(s complexSelector) bool { return s.dynamic() })
}

// specificity returns the specificity of a selector (Selectors 4, section 17), as one number.
func (s *complexSelector) specificity() (sum int) {
	const id, class = 1 << 20, 1 << 10
	for _, c := range s.compounds {
		if c.tag != "" {
			sum++
		}
		sum += class * len(c.states)
		for _, cond := range c.conds {
			switch cond.kind {
			case hasID:
				sum += id
			case isWhere:
			case isNone, isAny, hasInside:
				most := 0
				for i := range cond.list {
					most = max(most, cond.list[i].specificity())
				}
				sum += most
			default:
				sum += class
			}
		}
	}
	return sum
}

// A matcher finds the elements of an SVG that selectors match. It goes through the whole tree for
// each compound, so that no combination of combinators takes longer than the product of the two.
type matcher struct {
	p     *parser
	steps int // compounds times nodes
	root  int32
	apart []bool // by node: it is shown by use elements alone, in a tree of its own
}

// newMatcher returns a matcher for a document.
func newMatcher(p *parser, root int32) matcher {
	m := matcher{p: p, root: root, apart: make([]bool, len(p.nodes))}
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.elem == nil || n.elem.role != roleUse {
			continue
		}
		if t := p.target(n); t != none && !p.inPlace(t) {
			m.apart[t] = true
		}
	}
	return m
}

// inPlace reports whether an element is drawn where it stands.
func (p *parser) inPlace(i int32) bool {
	for ; i != none; i = p.nodes[i].parent {
		if e := p.nodes[i].elem; e != nil {
			switch e.role {
			case roleSymbol, roleAside, rolePattern:
				return false
			}
		}
	}
	return true
}

// A match holds, for each compound of a selector, the nodes that match it and the compounds before
// it. States are taken as given.
type match [][]bool

func (m match) last() []bool { return m[len(m)-1] }

// find returns the matches of one selector; it is not ok if that takes too long.
func (m *matcher) find(s *complexSelector) (found match, ok bool) {
	for i := range s.compounds {
		if m.steps += len(m.p.nodes) * (1 + len(s.compounds[i].conds)); m.steps > maxTests {
			return nil, false
		}
		own, ok := m.own(&s.compounds[i])
		if !ok {
			return nil, false
		}
		if i > 0 {
			m.relate(own, found[i-1], s.combinators[i-1])
		}
		found = append(found, own)
	}
	return found, true
}

// any returns the nodes that match one of several selectors.
func (m *matcher) any(list []complexSelector) (set []bool, ok bool) {
	set = make([]bool, len(m.p.nodes))
	for i := range list {
		found, ok := m.find(&list[i])
		if !ok {
			return nil, false
		}
		for n, matches := range found.last() {
			set[n] = set[n] || matches
		}
	}
	return set, true
}

// own returns the nodes that match a compound by themselves.
func (m *matcher) own(c *compound) ([]bool, bool) {
	set := make([]bool, len(m.p.nodes))
	for i := range m.p.nodes {
		n := &m.p.nodes[i]
		set[i] = n.elem != nil && (c.tag == "" || n.elem.name == c.tag)
	}
	for i := range c.conds {
		cond := &c.conds[i]
		var inside []bool
		if cond.list != nil {
			look := m.any
			if cond.kind == hasInside {
				look = func([]complexSelector) ([]bool, bool) { return m.around(cond) }
			}
			var ok bool
			if inside, ok = look(cond.list); !ok {
				return nil, false
			}
		}
		dynamic := cond.dynamic()
		for n := range set {
			if !set[n] {
				continue
			}
			if m.steps > maxTests {
				return nil, false
			}
			switch cond.kind {
			case isNone:
				set[n] = dynamic || !inside[n]
			case isAny, isWhere, hasInside:
				set[n] = inside[n]
			default:
				set[n] = m.holds(cond, int32(n))
			}
		}
	}
	return set, true
}

// around returns the nodes for which :has() holds. It goes from the last compound of each selector
// back to the node before its first one.
func (m *matcher) around(c *condition) (set []bool, ok bool) {
	set = make([]bool, len(m.p.nodes))
	for k := range c.list {
		s := &c.list[k]
		var found []bool
		for i := range slices.Backward(s.compounds) {
			if m.steps += len(m.p.nodes) * (2 + len(s.compounds[i].conds)); m.steps > maxTests {
				return nil, false
			}
			own, ok := m.own(&s.compounds[i])
			if !ok {
				return nil, false
			}
			for n := range own {
				own[n] = own[n] && (found == nil || found[n])
			}
			lead := c.leads[k]
			if i > 0 {
				lead = s.combinators[i-1]
			}
			found = m.before(own, lead)
		}
		for n, holds := range found {
			set[n] = set[n] || holds
		}
	}
	return set, true
}

// before returns the nodes that have the relation which a combinator demands to a node in after.
func (m *matcher) before(after []bool, combinator byte) []bool {
	set := make([]bool, len(after))
	for i := range slices.Backward(m.p.nodes) { // children come after their parents
		if up := m.p.nodes[i].parent; up != none && !m.apart[i] {
			switch combinator {
			case ' ':
				set[up] = set[up] || after[i] || set[i]
			case '>':
				set[up] = set[up] || after[i]
			}
		}
		if combinator != '+' && combinator != '~' {
			continue
		}
		elder, last := []int32(nil), int32(none)
		for c := m.p.nodes[i].first; c != none; c = m.p.nodes[c].next {
			if m.p.nodes[c].elem == nil || m.apart[c] {
				continue
			}
			if after[c] {
				if next := last != none && m.p.nodes[last].place+1 == m.p.nodes[c].place; combinator == '+' && next {
					set[last] = true
				}
				for _, e := range elder {
					set[e] = set[e] || combinator == '~'
				}
				elder = elder[:0]
			}
			elder, last = append(elder, c), c
		}
	}
	return set
}

// relate leaves in set the nodes with the relation to a node in before that a combinator demands.
// Nodes are in the order of the document, so parents and elder siblings come first. The copy that a
// use element shows has no ancestors and no siblings (SVG 2, section 5.6).
func (m *matcher) relate(set, before []bool, combinator byte) {
	below := make([]bool, len(set)) // the node or an ancestor of it is in before
	for i := range m.p.nodes {
		up := m.p.nodes[i].parent
		below[i] = before[i] || up != none && below[up] && !m.apart[i]
	}
	for i := range m.p.nodes {
		up := m.p.nodes[i].parent
		switch {
		case up == none, m.apart[i]:
			set[i] = false
		case combinator == ' ':
			set[i] = set[i] && below[up]
		case combinator == '>':
			set[i] = set[i] && before[up]
		}
		if combinator != '+' && combinator != '~' {
			continue
		}
		elder, last := false, int32(none)
		for c := m.p.nodes[i].first; c != none; c = m.p.nodes[c].next {
			if m.p.nodes[c].elem == nil {
				continue
			}
			next := last != none && before[last] && m.p.nodes[last].place+1 == m.p.nodes[c].place
			set[c] = set[c] && (combinator == '+' && next || combinator == '~' && elder)
			elder, last = elder || before[c], c
		}
	}
}

// holds evaluates a condition without selectors in it.
func (m *matcher) holds(c *condition, i int32) bool {
	n := &m.p.nodes[i]
	switch c.kind {
	case hasID:
		a := n.attr(attrID)
		return a != nil && string(a.value) == c.value
	case hasClassName:
		if a := n.attr(attrClass); a != nil {
			m.steps += len(a.value) / 8
		}
		return hasClass(n, c.value)
	case hasAttribute:
		if a := n.attr(attributes[c.name]); a != nil {
			m.steps += len(a.value) / 8
		}
		return c.attributeOf(n)
	case isRoot:
		return i == m.root
	case isEmpty:
		return n.first == none && n.children == 0
	case isNth:
		return c.counts(int(n.place))
	case isNthLast:
		return n.parent != none && c.counts(int(m.p.nodes[n.parent].children-n.place+1))
	case isNthOfType, isNthLastOfType:
		return c.counts(m.typed(n, i, c.kind == isNthLastOfType))
	}
	return false
}

// typed returns the place of an element among the siblings of its type.
func (m *matcher) typed(n *node, i int32, fromEnd bool) (place int) {
	if n.parent == none {
		return 0
	}
	passed := false
	for c := m.p.nodes[n.parent].first; c != none; c = m.p.nodes[c].next {
		m.steps++
		passed = passed || c == i
		if m.p.nodes[c].elem == n.elem && (c == i || passed == fromEnd) {
			place++
		}
	}
	return place
}

// counts reports whether place is step·n + first for an n of at least 0.
func (c *condition) counts(place int) bool {
	if place < 1 {
		return false
	}
	if c.step == 0 {
		return place == c.first
	}
	return (place-c.first)%c.step == 0 && (place-c.first)/c.step >= 0
}

// attributeOf evaluates an attribute selector. A style attribute has no canonical value before it
// is written, so that only its presence counts.
func (c *condition) attributeOf(n *node) bool {
	info := attributes[c.name]
	if info == nil {
		return false
	}
	a := n.attr(info)
	if a == nil || c.operator == 0 {
		return a != nil
	}
	value, want := a.value, []byte(c.value)
	if c.fold {
		value, want = bytes.ToLower(value), bytes.ToLower(want)
	}
	if len(want) == 0 {
		return c.operator == '=' && len(value) == 0
	}
	switch c.operator {
	case '=':
		return bytes.Equal(value, want)
	case '~':
		return slices.ContainsFunc(bytes.Fields(value), func(w []byte) bool { return bytes.Equal(w, want) })
	case '|':
		return bytes.Equal(value, want) || bytes.HasPrefix(value, append(want, '-'))
	case '^':
		return bytes.HasPrefix(value, want)
	case '$':
		return bytes.HasSuffix(value, want)
	}
	return bytes.Contains(value, want)
}
