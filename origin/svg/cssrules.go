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
	at    string // the serialised prelude of an at-rule; "" for a rule
	items []item
}

// A sheet is the content of one style element.
type sheet struct {
	items []item
}

// readSheets parses the text of the style elements. It runs after the whole document has been read,
// because comments and CDATA sections split that text.
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

// readItems reads rules (CSS Syntax 3, section 5.4.1) and leaves out the ones that are not allowed.
func readItems(list []token, depth int) ([]item, error) {
	if depth > 8 {
		return nil, unclean("its style sheet nests at-rules more than 8 deep")
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

// readAt reads the at-rules that neither fetch anything nor define anything that others refer to.
func readAt(prelude, block []token, depth int) (it item, ok bool, err error) {
	name := strings.ToLower(prelude[0].text)
	if !harmlessPrelude(prelude[1:]) {
		return it, false, nil
	}
	if it.at, ok = serialise(trim(prelude)); !ok {
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

// harmlessPrelude reports whether a condition, or the name of an animation, is free of anything
// that could be read as an address.
func harmlessPrelude(list []token) bool {
	for i, t := range list {
		switch t.kind {
		case tokBad, tokURL, tokAt, tokString, tokFunction:
			return false
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
			ok = ok && t.harmless() && (t.kind == tokIdent || t.kind == tokNumber || t.kind == tokSpace || t.is(","))
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
	if plain := !bytes.ContainsAny(a.value, "\\\"'{}@<>&\f") && !bytes.Contains(a.value, []byte("/*")); !plain || written != len(a.decls) || wrongCurrent(a.value) {
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
