package svg

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A nameKind is the kind of thing that a name stands for.
type nameKind uint8

const (
	idOf       nameKind = iota // the id of an element
	referredID                 // an id, where something refers to it
	classOf
	framesOf // keyframes
)

// A scoping renames everything by which two SVGs in one page could disturb each other.
type scoping struct {
	within string // id of the element that style rules apply within; "": they apply everywhere
	rename func(kind nameKind, name string) string
	frames []string // names of keyframes
}

// syncBase matches the id in a time value such as a.end+1s (SMIL 3, section 5.4.3).
var syncBase = regexp.MustCompile(`(?:^|;)\s*[\pL_][\pL\pN_-]*\.`)

// apply renames in all nodes, in the order of the document.
func (s *scoping) apply(p *parser) error {
	for _, i := range p.sheets {
		if sheet := p.nodes[i].sheet; sheet != nil {
			s.learn(sheet.items)
		}
	}
	return s.node(p, 0)
}

func (s *scoping) node(p *parser, i int32) error {
	n := &p.nodes[i]
	for k := range n.attrs {
		s.attr(&n.attrs[k])
	}
	if n.sheet != nil {
		if err := s.items(n.sheet.items); err != nil {
			return err
		}
	}
	for c := n.first; c != none; c = p.nodes[c].next {
		if err := s.node(p, c); err != nil {
			return err
		}
	}
	return nil
}

// attr renames in an attribute.
func (s *scoping) attr(a *attr) {
	before := a.value
	switch {
	case a.info == attrID:
		a.value = []byte(s.rename(idOf, string(a.value)))
	case a.info == attrClass:
		a.value = s.words(a.value, classOf)
	case a.info.name == "aria-labelledby", a.info.name == "aria-describedby":
		a.value = s.words(a.value, referredID)
	case a.info.check == checkHref:
		if id, ok := bytes.CutPrefix(a.value, []byte{'#'}); ok {
			a.value = []byte("#" + s.rename(referredID, string(id)))
		}
	case a.info.name == "begin", a.info.name == "end":
		a.value = syncBase.ReplaceAllFunc(a.value, func(m []byte) []byte {
			start := bytes.LastIndexAny(m, "; \t\r\n") + 1
			return append(append(bytes.Clone(m[:start]), s.rename(referredID, string(m[start:len(m)-1]))...), '.')
		})
	case a.info.check == checkStyle:
		s.decls(a.decls)
		a.value = nil // write serialises decls
	case a.info.check == checkCSS, a.info.check == checkPaint:
		a.value = s.urls(a.value)
	}
	a.simple = a.simple && bytes.Equal(before, a.value)
}

// words renames each word.
func (s *scoping) words(v []byte, kind nameKind) []byte {
	var out []string
	for word := range bytes.FieldsSeq(v) {
		out = append(out, s.rename(kind, string(word)))
	}
	if kind == classOf { // their order means nothing
		slices.Sort(out)
	}
	return []byte(strings.Join(out, " "))
}

// urls renames the references in a clean value.
func (s *scoping) urls(v []byte) []byte {
	if bytes.IndexByte(v, '(') < 0 || bytes.IndexByte(v, '#') < 0 {
		return v
	}
	list, found := quotedURLs(tokens(v)), false
	for i := range list {
		if id, ok := strings.CutPrefix(list[i].text, "#"); ok && list[i].kind == tokURL {
			list[i].text, found = "#"+s.rename(referredID, id), true
		}
	}
	if text, ok := serialise(list); ok && found {
		return []byte(text)
	}
	return v
}

// decls renames in declarations: references, and the names of keyframes.
func (s *scoping) decls(decls []decl) {
	for i := range decls {
		d := &decls[i]
		d.value = s.urls(d.value)
		if len(s.frames) == 0 || family(d.name) != "animation" && !strings.HasPrefix(d.name, "--") {
			continue
		}
		list := tokens(d.value)
		for k := range list {
			if list[k].kind == tokIdent && slices.Contains(s.frames, list[k].text) {
				list[k].text = s.rename(framesOf, list[k].text)
			}
		}
		if text, ok := serialise(list); ok {
			d.value = []byte(text)
		}
	}
}

// frameName returns the token with the name of a keyframes rule, from its prelude; nil if it is
// another rule.
func frameName(prelude []token) *token {
	if len(prelude) == 0 || prelude[0].kind != tokAt || !strings.HasSuffix(strings.ToLower(prelude[0].text), "keyframes") {
		return nil
	}
	for i := range prelude {
		if prelude[i].kind == tokIdent {
			return &prelude[i]
		}
	}
	return nil
}

// learn collects the names of the keyframes.
func (s *scoping) learn(items []item) {
	for _, it := range items {
		if name := frameName(tokens([]byte(it.at))); name != nil {
			s.frames = append(s.frames, name.text)
		} else {
			s.learn(it.items)
		}
	}
}

// items renames in the rules of a sheet.
func (s *scoping) items(items []item) error {
	for i := range items {
		it := &items[i]
		prelude := tokens([]byte(it.at))
		switch name := frameName(prelude); {
		case name != nil:
			name.text = s.rename(framesOf, name.text)
			at, ok := serialise(prelude)
			if !ok {
				return errStored
			}
			it.at = at
			for k := range it.items {
				s.decls(it.items[k].decls)
			}
		case it.at != "":
			if err := s.items(it.items); err != nil {
				return err
			}
		default:
			if err := s.rule(&it.rule); err != nil {
				return err
			}
		}
	}
	return nil
}

// rule renames in a rule, and makes it match within one element alone.
func (s *scoping) rule(r *rule) error {
	list := tokens([]byte(r.selector))
	var scope []token
	if s.within != "" {
		scope = []token{{kind: tokHash, text: s.within}, {kind: tokSpace}}
	}
	scoped := slices.Clone(scope)
	depth := 0
	for i, t := range list {
		switch {
		case t.kind == tokHash:
			t.text = s.rename(referredID, t.text)
		case t.kind == tokIdent && i > 0 && list[i-1].is("."):
			t.text = s.rename(classOf, t.text)
		}
		if t.kind == tokSpace && len(scoped) > 0 && scoped[len(scoped)-1].kind == tokSpace {
			continue
		}
		scoped = append(scoped, t)
		if depth = nest(depth, t); depth == 0 && t.is(",") {
			scoped = append(scoped, scope...)
		}
	}
	text, parts, ok := readSelectors(scoped)
	if !ok {
		return errStored
	}
	r.selector, r.parts = text, parts
	s.decls(r.decls)
	return nil
}

// draft begins the draft of a name, which ends with a number. Names have no hyphen, because
// browsers read it as a minus in times such as a.end-1s.
const draft = "i00000000_"

// draftNames replaces the ids, classes and names of keyframes of a document by drafts, if it has
// any. It removes an id to which nothing refers.
func (p *parser) draftNames() (drafted bool, err error) {
	if !p.named && len(p.sheets) == 0 && !p.refers() {
		return false, nil
	}
	referred := map[string]bool{}
	see := scoping{rename: func(kind nameKind, name string) string {
		if kind == referredID {
			referred[name] = true
		}
		return name
	}}
	if err := see.apply(p); err != nil {
		return false, err
	}
	for i := range p.nodes {
		if a := p.nodes[i].attr(attrID); a != nil && !referred[string(a.value)] {
			p.nodes[i].remove(attrID)
		}
	}
	type key struct {
		kind nameKind
		name string
	}
	drafts := map[key]string{}
	number := scoping{rename: func(kind nameKind, name string) string {
		if kind == referredID {
			kind = idOf
		}
		k := key{kind, name}
		if drafts[k] == "" {
			drafts[k] = draft + strconv.FormatInt(int64(len(drafts)), 36)
		}
		return drafts[k]
	}}
	err = number.apply(p)
	return len(drafts) > 0, err
}

// finalNames replaces the drafts by names that no other SVG has: they begin with a hash of the
// content with the drafts, which write returns.
func (p *parser) finalNames(write func() []byte) error {
	sum := sha256.Sum256(write())
	own := "i" + hex.EncodeToString(sum[:4]) + "_"
	final := scoping{rename: func(_ nameKind, name string) string { return own + strings.TrimPrefix(name, draft) }}
	clear(p.ids)
	return final.apply(p)
}

// refers reports whether anything refers to an id.
func (p *parser) refers() bool {
	found := false
	for i := range p.nodes {
		p.eachReference(&p.nodes[i], nil, func(string, []byte) { found = true })
	}
	return found
}
