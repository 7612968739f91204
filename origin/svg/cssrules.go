package svg

import (
	"bytes"
	"slices"
	"strings"
)

// A decl is a declaration that the cleaner keeps.
type decl struct {
	name      string // in lower case, except for custom properties
	value     []byte // serialised
	important bool
	prop      property // the property of that name, if analyse reads it
}

// A rule is a style rule that the cleaner keeps.
type rule struct {
	selector string // serialised
	parts    []selector
	decls    []decl
}

// An item is a rule, or an at-rule with rules in it: a condition, or the keyframes of an animation.
type item struct {
	rule
	at     string     // the serialised prelude of an at-rule; "" for a rule
	layers [][]string // the names of an @layer, each with those of the layers around it
	items  []item
}

// A sheet is the content of one style element.
type sheet struct {
	items []item
}

// readSheets parses the text of the style elements. It runs after the whole document has been read,
// because comments and CDATA sections split that text.
func (p *parser) readSheets() error {
	c := cssReader{p: p}
	for _, i := range p.sheets {
		var text []byte
		for c := p.nodes[i].first; c != none; c = p.nodes[c].next {
			text = append(text, p.nodes[c].text...)
		}
		items, err := c.items(tokens(text), 0)
		if err != nil {
			return err
		}
		if outsideURL.Match(text) {
			p.note(outside)
		}
		p.nodes[i].sheet = &sheet{items}
	}
	return nil
}

// Limits of style sheets.
const (
	maxNestedRules = 8
	maxLayers      = 64 // names of one @layer
)

func tooDeep() error {
	return unclean("its style sheet nests rules more than %d deep", maxNestedRules)
}

// maxNesting is the number of tokens that the selectors of nested rules may have in all. Each
// repeats those of the rule around it.
const maxNesting = 1 << 14

// A cssReader reads the style sheets of one SVG.
type cssReader struct {
	p      *parser
	nested int // tokens of the selectors of nested rules
}

// items reads rules (CSS Syntax 3, section 5.4.1) and leaves out the ones that are not allowed.
func (c *cssReader) items(list []token, depth int) ([]item, error) {
	if depth > maxNestedRules {
		return nil, tooDeep()
	}
	var items []item
	for len(list) > 0 {
		switch t := list[0]; {
		case t.kind == tokSpace:
			list = list[1:]
			continue
		}
		prelude, block, rest := cutRule(list)
		at := list[0].kind == tokAt
		list = rest
		if block == nil { // @import and the like, or a rule without its end
			switch {
			case at && equalFold(prelude[0].text, "import"):
				c.p.note("@import")
			case at && equalFold(prelude[0].text, "layer"):
				if names, ok := readLayers(trim(prelude[1:])); ok {
					items = append(items, item{at: atLayer, layers: names})
				}
			}
			continue
		}
		if !at {
			more, err := c.rules(trim(prelude), block, depth)
			if err != nil {
				return nil, err
			}
			items = append(items, more...)
			continue
		}
		it, ok, err := c.at(prelude, block, func(block []token) ([]item, error) { return c.items(block, depth+1) })
		if err != nil {
			return nil, err
		}
		if ok {
			items = append(items, it)
		}
	}
	return items, nil
}

// cutRule cuts the first rule off list: the prelude, and the content of its block (nil if it has no
// block).
func cutRule(list []token) (prelude, block, rest []token) {
	at := list[0].kind == tokAt
	depth := 0
	for i, t := range list {
		switch {
		case depth == 0 && at && t.is(";"):
			return list[:i], nil, list[i+1:]
		case depth == 0 && t.is("{"):
			end := i + 1
			for braces := 1; end < len(list); end++ {
				if list[end].is("{") {
					braces++
				} else if list[end].is("}") {
					if braces--; braces == 0 {
						return list[:i], list[i+1 : end : end], list[end+1:]
					}
				}
			}
			return list[:i], nil, nil // not closed
		default:
			depth = nest(depth, t)
		}
	}
	return list, nil, nil
}

// rules reads the block of a style rule: its declarations, and the rules nested in it, which it
// writes as rules of their own (CSS Nesting 1).
func (c *cssReader) rules(selector, block []token, depth int) (items []item, err error) {
	if depth > maxNestedRules {
		return nil, tooDeep()
	}
	text, parts, ok := readSelectors(selector)
	if !ok {
		c.p.note(someRule)
		return nil, nil
	}
	start := 0
	declare := func(end int) {
		if decls := readDecls(block[start:end]); len(decls) > 0 {
			items = append(items, item{rule: rule{text, parts, decls}})
		}
	}
	for i := 0; i < len(block); {
		nested, end := statement(block[i:])
		if !nested {
			i += end
			continue
		}
		declare(i)
		prelude, inner, rest := cutRule(block[i:])
		i = len(block) - len(rest)
		start = i
		more, err := c.inner(selector, prelude, inner, depth+1)
		if err != nil {
			return nil, err
		}
		items = append(items, more...)
	}
	declare(len(block))
	return items, nil
}

// inner reads a rule nested in a rule with that selector.
func (c *cssReader) inner(selector, prelude, block []token, depth int) ([]item, error) {
	switch {
	case block == nil, len(prelude) == 0:
		return nil, nil
	case prelude[0].kind == tokAt:
		it, ok, err := c.at(prelude, block, func(block []token) ([]item, error) { return c.rules(selector, block, depth) })
		if err != nil || !ok {
			return nil, err
		}
		return []item{it}, nil
	}
	own := nestSelector(selector, trim(prelude))
	if c.nested += len(own); c.nested > maxNesting {
		return nil, unclean("its style sheet has too many nested rules")
	}
	return c.rules(own, block, depth)
}

// statement finds the end of the first declaration or nested rule of a block (CSS Syntax 3,
// section 5.5.4).
func statement(list []token) (nested bool, end int) {
	switch t := list[0]; {
	case t.kind == tokSpace, t.is(";"):
		return false, 1
	case t.kind == tokAt:
		return true, 0
	}
	after := trim(list[1:])
	custom := strings.HasPrefix(list[0].text, "--") && len(after) > 0 && after[0].is(":")
	depth := 0
	for i, t := range list {
		switch {
		case depth == 0 && t.is(";"):
			return false, i + 1
		case depth == 0 && t.is("{") && !custom:
			return true, 0
		case t.is("{"):
			depth++
		case t.is("}"):
			depth = max(0, depth-1)
		default:
			depth = nest(depth, t)
		}
	}
	return false, len(list)
}

// nestSelector returns the selector of a rule nested in a rule with the selector parent: & stands
// for the elements of parent, and begins a selector that has none.
func nestSelector(parent, list []token) (out []token) {
	parents := []token{{kind: tokDelim, text: ":"}, {kind: tokFunction, text: "is"}}
	parents = append(append(parents, parent...), token{kind: tokDelim, text: ")"})
	first := parents
	if len(splitList(parent)) == 1 {
		first = parent
	}
	for i, one := range splitList(list) {
		if i > 0 {
			out = append(out, token{kind: tokDelim, text: ","})
		}
		one = trim(one)
		if len(one) == 0 || isCombinator(one[0]) || !slices.ContainsFunc(one, func(t token) bool { return t.is("&") }) {
			out = append(append(out, first...), token{kind: tokSpace})
		}
		for k, t := range one {
			if len(out) > maxNesting {
				return out // too many for the caller
			}
			switch {
			case t.is("&") && k == 0:
				out = append(out, first...)
			case t.is("&"):
				out = append(out, parents...)
			default:
				out = append(out, t)
			}
		}
	}
	return out
}

// at reads the at-rules that neither fetch anything nor define anything that others refer to. rules
// reads the rules in a condition.
func (c *cssReader) at(prelude, block []token, rules func([]token) ([]item, error)) (it item, ok bool, err error) {
	name := strings.ToLower(prelude[0].text)
	if name == "layer" {
		it.at = atLayer
		if it.layers, ok = readLayers(trim(prelude[1:])); !ok || len(it.layers) > 1 {
			return it, false, nil
		}
		it.items, err = rules(block)
		return it, true, err // an empty layer has a place among the others
	}
	ok = harmlessPrelude(prelude[1:], name == "supports")
	if ok {
		it.at, ok = serialise(trim(prelude))
	}
	if !ok {
		c.p.note(someRule)
		return it, false, nil
	}
	switch name {
	case "media", "supports":
		it.items, err = rules(block)
	case "keyframes", "-webkit-keyframes":
		it.items = readFrames(block)
	default:
		if plainName.MatchString(name) {
			c.p.note("@" + name)
		}
	}
	return it, len(it.items) > 0, err
}

// atLayer is the prelude of an @layer, whose names item.layers has.
const atLayer = "@layer"

// readLayers reads the names of an @layer (CSS Cascade 5, section 6.4). One without a name has one
// empty list.
func readLayers(list []token) (names [][]string, ok bool) {
	if len(list) == 0 {
		return [][]string{nil}, true
	}
	for _, one := range splitList(list) {
		var name []string
		for i, t := range trim(one) {
			switch {
			case i%2 == 0 && t.kind == tokIdent && len(name) < maxNestedRules:
				name = append(name, t.text)
			case i%2 == 0 || !t.is("."):
				return nil, false
			}
		}
		names = append(names, name)
	}
	return names, len(names) <= maxLayers
}

// harmlessPrelude reports whether a condition, or the name of an animation, is free of anything
// that could be read as an address. Conditions of @supports may have functions.
func harmlessPrelude(list []token, supports bool) bool {
	for i, t := range list {
		switch t.kind {
		case tokBad, tokURL, tokAt, tokString:
			return false
		case tokFunction:
			name := strings.ToLower(t.text)
			known := name == "selector" || functions[name] || slices.Contains(selectorFunctions, name)
			if !supports || !known {
				return false
			}
		}
		if t.is("<") || t.is("\\") || !t.harmless() || looksLikeAddress(list, i) {
			return false
		}
	}
	return true
}

// readFrames reads the keyframes of an animation: from, to, and percentages. As in animation
// elements, declarations in them may not refer to anything.
func readFrames(list []token) (items []item) {
	for len(list) > 0 {
		if list[0].kind == tokSpace {
			list = list[1:]
			continue
		}
		prelude, block, rest := cutRule(list)
		list = rest
		ok := block != nil
		for _, t := range prelude {
			selects := t.kind == tokIdent || t.kind == tokNumber || t.kind == tokSpace || t.is(",")
			ok = ok && selects && t.harmless()
		}
		selector, serialised := serialise(trim(prelude))
		decls := slices.DeleteFunc(readDecls(block), func(d decl) bool { return bytes.Contains(d.value, []byte("url(")) })
		if ok && serialised && len(decls) > 0 {
			items = append(items, item{rule: rule{selector: selector, decls: decls}})
		}
	}
	return items
}

func trim(list []token) []token {
	for len(list) > 0 && list[0].kind == tokSpace {
		list = list[1:]
	}
	for len(list) > 0 && list[len(list)-1].kind == tokSpace {
		list = list[:len(list)-1]
	}
	return list
}

// readDecls reads declarations (section 5.4.4) and leaves out the ones that are not allowed.
func readDecls(list []token) (decls []decl) {
	depth, start := 0, 0
	for i := 0; i <= len(list); i++ {
		if i < len(list) {
			switch t := list[i]; {
			case t.kind == tokFunction, t.is("("), t.is("["), t.is("{"):
				depth++
			case t.is(")"), t.is("]"), t.is("}"):
				depth = max(0, depth-1)
			}
			if depth > 0 || !list[i].is(";") {
				continue
			}
		}
		if d, ok := readDecl(trim(list[start:i])); ok {
			decls = append(decls, d)
		}
		start = i + 1
	}
	return decls
}

func readDecl(list []token) (d decl, ok bool) {
	if len(list) < 3 || list[0].kind != tokIdent {
		return d, false
	}
	d.name = list[0].text
	if !strings.HasPrefix(d.name, "--") {
		d.name = strings.ToLower(d.name)
	}
	value := trim(list[1:])
	if !value[0].is(":") || forbidden(d.name) || serialiseName(d.name, true) != d.name {
		return d, false
	}
	value = trim(value[1:])
	if n := len(value); n >= 2 && value[n-1].kind == tokIdent && equalFold(value[n-1].text, "important") {
		if before := trim(value[:n-1]); before[len(before)-1].is("!") {
			value, d.important = trim(before[:len(before)-1]), true
		}
	}
	value = quotedURLs(value)
	if len(value) == 0 || !harmlessTokens(value) {
		return d, false
	}
	s, ok := serialise(value)
	d.value, d.prop = []byte(s), properties[d.name]
	if paints(d.prop) || strings.HasPrefix(d.name, "--") {
		d.value = canonicalCurrent(d.value)
	}
	return d, ok
}

// forbidden reports whether a property runs or fetches something in some browser, old browsers
// included.
func forbidden(name string) bool {
	switch name {
	case "behavior", "src", "content", "enable-background":
		return true
	}
	for _, prefix := range [...]string{"-moz-binding", "-ms-", "-o-link", "-o-replace"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return scriptScheme(name)
}

// setStyle cleans a style attribute. The value stays as written if nothing was removed from it and
// every parser reads it alike.
func (a *attr) setStyle() bool {
	list := tokens(a.value)
	a.decls = readDecls(list)
	if len(a.decls) == 0 {
		return false
	}
	written := 0
	for part := range bytes.SplitSeq(a.value, []byte{';'}) {
		if len(bytes.TrimSpace(part)) > 0 {
			written++
		}
	}
	if plain := !bytes.ContainsAny(a.value, "\\\"'{}@<>&\f") && !bytes.Contains(a.value, []byte("/*")); !plain ||
		written != len(a.decls) || wrongCurrent(a.value) {
		a.value = nil // write serialises decls instead
	}
	return true
}

// wrongCurrent reports whether v has currentColor in a spelling that is not canonical.
func wrongCurrent(v []byte) bool { return !bytes.Equal(canonicalCurrent(v), v) }

// appendDecls appends declarations as CSS.
func appendDecls(dst []byte, decls []decl) []byte {
	for i, d := range decls {
		if i > 0 {
			dst = append(dst, ';')
		}
		dst = append(append(append(dst, d.name...), ':'), d.value...)
		if d.important {
			dst = append(dst, "!important"...)
		}
	}
	return dst
}

// lengthOf returns the length of declarations as CSS.
func lengthOf(decls []decl) (length int) {
	for _, d := range decls {
		length += len(d.name) + len(":") + len(d.value) + len(";")
	}
	return length
}

// appendItems appends rules as CSS.
func appendItems(dst []byte, items []item) []byte {
	for _, it := range items {
		if it.at != "" {
			dst = append(append(dst, it.at...), '{')
			dst = appendItems(dst, it.items)
		} else {
			dst = append(append(dst, it.selector...), '{')
			dst = appendDecls(dst, it.decls)
		}
		dst = append(dst, '}')
	}
	return dst
}
