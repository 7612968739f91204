package svg

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// Symbol returns a clean SVG as a symbol element with that id, for a file that has several. Names
// that could collide with those of another icon get the id as a prefix: ids, classes and the names
// of animations. Style rules apply within the symbol alone. xlink reports whether the
// symbol uses the prefix xlink, which the file must declare. The id must consist of letters, digits
// and hyphens.
func Symbol(svg []byte, id string) (symbol []byte, xlink bool, err error) {
	r, _, err := readRoot(svg)
	if err != nil {
		return nil, false, err
	}
	p := parsers.Get().(*parser)
	defer p.release()
	if err := p.parse(svg, true); err != nil {
		return nil, false, err
	}
	s := scoping{id: id, prefix: id + "_"}
	for _, i := range p.sheets {
		s.learn(p.nodes[i].sheet.items)
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		for k := range n.attrs {
			s.attr(&n.attrs[k])
		}
		if n.sheet != nil {
			if err := s.items(n.sheet.items); err != nil {
				return nil, false, err
			}
		}
	}
	out := append(make([]byte, 0, len(svg)+256), `<symbol id="`+id+`" viewBox="`+r.box.String()+`">`...)
	out = p.writeInside(out, &p.nodes[p.nodes[0].first])
	return append(out, "</symbol>"...), r.xlink, nil
}

// A scoping gives everything that one symbol names a prefix.
type scoping struct {
	id, prefix string
	frames     []string // names of keyframes
}

var (
	localURL = regexp.MustCompile(`(?i)url\(\s*["']?#`)
	// syncBase matches the id in a time value such as a.end+1s (SMIL 3, section 5.4.3).
	syncBase = regexp.MustCompile(`(^|;)(\s*)([A-Za-z_][\w-]*\.)`)
)

func (s *scoping) urls(v []byte) []byte {
	if !bytes.Contains(v, []byte("#")) {
		return v
	}
	return localURL.ReplaceAll(v, []byte("${0}"+s.prefix))
}

// words puts the prefix before each word.
func (s *scoping) words(v []byte) []byte {
	var out []byte
	for word := range bytes.FieldsSeq(v) {
		if len(out) > 0 {
			out = append(out, ' ')
		}
		out = append(append(out, s.prefix...), word...)
	}
	return out
}

func (s *scoping) attr(a *attr) {
	switch {
	case a.info == attrID:
		a.value = append([]byte(s.prefix), a.value...)
	case a.info == attrClass, a.info.name == "aria-labelledby", a.info.name == "aria-describedby":
		a.value = s.words(a.value)
	case a.info.check == checkHref:
		if id, ok := bytes.CutPrefix(a.value, []byte{'#'}); ok {
			a.value = append([]byte("#"+s.prefix), id...)
		}
	case a.info.name == "begin", a.info.name == "end":
		a.value = syncBase.ReplaceAll(a.value, []byte("${1}${2}"+s.prefix+"${3}"))
	case a.info.check == checkStyle:
		s.decls(a.decls)
		a.value = nil // write serialises decls
	case a.info.check == checkCSS, a.info.check == checkPaint, a.info.check == checkAnimated:
		a.value = s.urls(a.value)
	}
}

// decls changes declarations: references, and the names of keyframes.
func (s *scoping) decls(decls []decl) {
	for i := range decls {
		d := &decls[i]
		d.value = s.urls(d.value)
		if name := strings.TrimPrefix(d.name, "-webkit-"); name == "animation" || name == "animation-name" {
			list := tokens(d.value)
			for k := range list {
				if list[k].kind == tokIdent && slices.Contains(s.frames, list[k].text) {
					list[k].text = s.prefix + list[k].text
				}
			}
			if text, ok := serialise(list); ok {
				d.value = []byte(text)
			}
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

// items changes the rules of a sheet.
func (s *scoping) items(items []item) error {
	for i := range items {
		it := &items[i]
		prelude := tokens([]byte(it.at))
		switch name := frameName(prelude); {
		case name != nil:
			name.text = s.prefix + name.text
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

// rule makes a rule match within the symbol alone.
func (s *scoping) rule(r *rule) error {
	list := tokens([]byte(r.selector))
	scope := []token{{kind: tokHash, text: s.id}, {kind: tokSpace}}
	scoped := slices.Clone(scope)
	depth := 0
	for i, t := range list {
		if t.kind == tokHash || t.kind == tokIdent && i > 0 && list[i-1].is(".") {
			t.text = s.prefix + t.text
		}
		if t.kind == tokSpace && len(scoped) > 0 && scoped[len(scoped)-1].kind == tokSpace {
			continue
		}
		scoped = append(scoped, t)
		if depth = nest(depth, t); depth == 0 && t.is(",") {
			scoped = append(scoped, scope...)
		}
	}
	text, ok := serialise(scoped)
	if !ok {
		return errStored
	}
	r.selector = text
	s.decls(r.decls)
	return nil
}
