package svg

import (
	"bytes"
	"strings"
)

// Symbol returns a clean SVG as a symbol element with that id, for a file that has several. Names
// that could collide with those of another icon get the id as a prefix: ids, classes and the names
// of animations. Style rules apply within the symbol alone. xlink reports whether the
// symbol uses the prefix xlink, which the file must declare. The id must consist of letters,
// digits, hyphens and underscores.
func Symbol(svg []byte, id string) (symbol []byte, xlink bool, err error) {
	r, inside, err := apart(svg, id)
	if err != nil {
		return nil, false, err
	}
	out := append(make([]byte, 0, len(inside)+256), `<symbol id="`+id+`" viewBox="`+r.box.String()+`"`...)
	if r.stretched {
		out = append(out, rootFills...)
	}
	out = append(out, '>')
	return append(append(out, inside...), "</symbol>"...), r.xlink, nil
}

// apart returns the root of a clean SVG, and its inside for an element with that id: with a prefix
// before all names, and with style rules that apply within the element alone.
func apart(svg []byte, id string) (root, []byte, error) {
	r, _, err := readRoot(svg)
	if err != nil {
		return root{}, nil, err
	}
	p := parsers.Get().(*parser)
	defer p.release()
	if err := p.parse(svg, true); err != nil {
		return root{}, nil, err
	}
	prefix := p.prefix(id) + "_"
	s := scoping{within: id, rename: func(_ nameKind, name string) string { return prefix + name }}
	if err := s.apply(p); err != nil {
		return root{}, nil, err
	}
	return r, p.writeInside(make([]byte, 0, len(svg)+256), &p.nodes[p.nodes[0].first]), nil
}

// prefix returns a prefix of names in the form that the SVG allows: browsers read a hyphen as a
// minus in times such as a.end-1s.
func (p *parser) prefix(name string) string {
	if p.timed() {
		return strings.ReplaceAll(name, "-", "_")
	}
	return name
}

// hasNames reports whether an SVG has names by which it could disturb another one in the same file.
func hasNames(svg []byte) bool {
	for _, name := range []string{` id="`, ` class="`, `<style`} {
		if bytes.Contains(svg, []byte(name)) {
			return true
		}
	}
	return false
}
