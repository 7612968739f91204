package svg

import (
	"bytes"
	"slices"
	"strings"
)

// A decl is one declaration that is kept.
type decl struct {
	name      string // lower case, but for a custom property
	value     []byte // in our spelling
	important bool
	prop      property // the property that it is, if the painter looks at it
}

// A rule is one style rule that is kept.
type rule struct {
	selector string // as it is written
	parts    []selector
	decls    []decl
}

// An item is a rule, or an at-rule around rules: a condition, or the frames of an animation.
type item struct {
	rule
	at    string // as it is written, "" for a rule
	items []item
}

// A sheet is the content of one style element.
type sheet struct {
	items []item
}

// readSheets reads what stands in style elements, once all of it is there.
func (p *parser) readSheets() error {
	for _, i := range p.sheets {
		var text []byte
		for c := p.nodes[i].first; c != none; c = p.nodes[c].next {
			text = append(text, p.nodes[c].text...)
		}
		items, err := readItems(tokens(text), 0)
		if err != nil {
			return err
		}
		p.nodes[i].sheet = &sheet{items}
	}
	return nil
}

// readItems reads rules (CSS Syntax 3, section 5.4.1); what can't be kept is left out.
func readItems(list []token, depth int) ([]item, error) {
	if depth > 8 {
		return nil, unclean("its style sheet has at-rules in each other more than 8 deep")
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
		if block == nil { // a statement such as @import, or a rule that the sheet ends in
			continue
		}
		if !at {
			if r, ok := readRule(prelude, block); ok {
				items = append(items, item{rule: r})
			}
			continue
		}
		it, ok, err := readAt(prelude, block, depth)
		if err != nil {
			return nil, err
		}
		if ok {
			items = append(items, it)
		}
	}
	return items, nil
}

// cutRule cuts one rule off: what stands before its block, and what is in it (nil: it has none).
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
		case t.kind == tokFunction, t.is("("), t.is("["):
			depth++
		case t.is(")"), t.is("]"):
			depth = max(0, depth-1)
		}
	}
	return list, nil, nil
}

func readRule(prelude, block []token) (r rule, ok bool) {
	if r.selector, r.parts, ok = readSelectors(trim(prelude)); !ok {
		return r, false
	}
	r.decls = readDecls(block)
	return r, len(r.decls) > 0
}

// readAt reads the at-rules that neither fetch nor define anything that others refer to.
func readAt(prelude, block []token, depth int) (it item, ok bool, err error) {
	name := strings.ToLower(prelude[0].text)
	if !harmlessPrelude(prelude[1:]) {
		return it, false, nil
	}
	if it.at, ok = spell(trim(prelude)); !ok {
		return it, false, nil
	}
	switch name {
	case "media", "supports":
		it.items, err = readItems(block, depth+1)
	case "keyframes", "-webkit-keyframes":
		it.items = readFrames(block)
	}
	return it, len(it.items) > 0, err
}

// harmlessPrelude reports whether a condition, or the name of an animation, has nothing that could be taken for an address.
func harmlessPrelude(list []token) bool {
	for i, t := range list {
		switch t.kind {
		case tokBad, tokURL, tokAt, tokString, tokFunction:
			return false
		}
		if t.is("<") || t.is("\\") || !t.harmless() || addressed(list, i) {
			return false
		}
	}
	return true
}

// readFrames reads the rules of an animation: from, to, and percentages. As with animations by elements, what they set
// refers to nothing.
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
			ok = ok && t.harmless() && (t.kind == tokIdent || t.kind == tokNumber || t.kind == tokSpace || t.is(","))
		}
		selector, spelt := spell(trim(prelude))
		decls := slices.DeleteFunc(readDecls(block), func(d decl) bool { return bytes.Contains(d.value, []byte("url(")) })
		if ok && spelt && len(decls) > 0 {
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

// readDecls reads declarations (section 5.4.4); those that can't be kept are left out.
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
	if !value[0].is(":") || forbidden(d.name) || spellName(d.name, true) != d.name {
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
	s, ok := spell(value)
	d.value, d.prop = []byte(s), properties[d.name]
	if paints(d.prop) || strings.HasPrefix(d.name, "--") {
		d.value = canonicalCurrent(d.value)
	}
	return d, ok
}

// forbidden are properties that run or fetch something in some browser, old ones too.
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
	return scheme(name)
}

// setStyle cleans a style attribute. It stays as it was written where nothing was taken and every reader sees the same.
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
	if plain := !bytes.ContainsAny(a.value, "\\\"'{}@<>&\f") && !bytes.Contains(a.value, []byte("/*")); !plain || written != len(a.decls) || wrongCurrent(a.value) {
		a.value = nil // the declarations are written
	}
	return true
}

// wrongCurrent reports whether currentColor stands in v in another spelling.
func wrongCurrent(v []byte) bool { return !bytes.Equal(canonicalCurrent(v), v) }

// appendDecls writes declarations.
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

// appendItems writes rules.
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
