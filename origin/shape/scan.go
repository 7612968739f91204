package shape

import "bytes"

// A tag is one tag of a clean SVG.
type tag struct {
	name  []byte
	attrs []attr
	end   bool // of an element: </name>
	empty bool // <name/>
}

type attr struct{ name, value []byte }

// next reads the next tag, with its attributes in buf. Package svg has written the SVG, so it has
// no comments, its values are quoted, and < occurs in no value and no text.
func next(svg []byte, buf []attr) (t tag, rest []byte, ok bool) {
	start := bytes.IndexByte(svg, '<')
	if start < 0 {
		return t, nil, false
	}
	length := bytes.IndexByte(svg[start:], '>')
	if length < 0 {
		return t, nil, false
	}
	rest = svg[start+1:]
	if rest[0] == '/' {
		t.end = true
		rest = rest[1:]
	}
	t.name, rest = word(rest)
	t.attrs = buf[:0]
	for len(rest) > 0 {
		switch c := rest[0]; {
		case c == '>':
			return t, rest[1:], true
		case c == '/':
			t.empty = true
			rest = rest[1:]
		case c <= ' ':
			rest = rest[1:]
		default:
			var a attr
			if a.name, rest = word(rest); len(rest) < 2 || rest[0] != '=' {
				return t, nil, false
			}
			quote := rest[1]
			end := bytes.IndexByte(rest[2:], quote)
			if end < 0 {
				return t, nil, false
			}
			a.value, rest = rest[2:][:end], rest[2+end+1:]
			t.attrs = append(t.attrs, a)
		}
	}
	return t, nil, false
}

// word reads up to a character that ends a name.
func word(b []byte) (w, rest []byte) {
	for i, c := range b {
		if c <= ' ' || c == '=' || c == '>' || c == '/' {
			return b[:i], b[i:]
		}
	}
	return b, nil
}

// value returns the value of an attribute, or nil.
func (t *tag) value(name string) []byte {
	for i := range t.attrs {
		if string(t.attrs[i].name) == name {
			return t.attrs[i].value
		}
	}
	return nil
}

// skip returns what follows the end of the element whose start tag was just read.
func skip(svg []byte, buf []attr) []byte {
	for depth := 1; depth > 0; {
		t, rest, ok := next(svg, buf)
		if !ok {
			return nil
		}
		svg = rest
		switch {
		case t.end:
			depth--
		case !t.empty:
			depth++
		}
	}
	return svg
}

// element returns the SVG from the start tag of the element with an id, or nil.
func element(svg, id []byte) []byte {
	for from := 0; ; {
		i := bytes.Index(svg[from:], []byte(` id="`))
		if i < 0 {
			return nil
		}
		from += i + len(` id="`)
		if rest, ok := bytes.CutPrefix(svg[from:], id); ok && len(rest) > 0 && rest[0] == '"' {
			return svg[bytes.LastIndexByte(svg[:from], '<'):]
		}
	}
}
