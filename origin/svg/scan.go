package svg

import "bytes"

// parse reads an SVG strictly, as XML 1.0 with namespaces, and refuses everything that browsers
// refuse.
func (p *parser) parse(src []byte, document bool) error {
	if len(src) > MaxBytes {
		return unclean("it is larger than %d bytes", MaxBytes)
	}
	if document {
		var err error
		if src, err = toUTF8(src); err != nil {
			return err
		}
		if len(src) > MaxBytes {
			return unclean("it is larger than %d bytes in UTF-8", MaxBytes)
		}
	}
	if err := checkChars(src); err != nil {
		return err
	}
	p.src, p.pos, p.document = src, 0, document
	p.add(node{}, none)
	for p.pos < len(p.src) {
		if err := p.markup(); err != nil {
			return err
		}
	}
	if len(p.open) > 0 {
		return malformed("it ends within an element")
	}
	if document && !p.seenRoot {
		return unclean("it has no root element")
	}
	if err := p.readSheets(); err != nil {
		return err
	}
	return p.checkExpansion()
}

// markup reads one piece of markup: a tag, text, a comment, …
func (p *parser) markup() error {
	rest := p.src[p.pos:]
	switch {
	case rest[0] != '<':
		return p.chars()
	case len(rest) == 1:
		return malformed("a tag is not closed")
	case rest[1] == '/':
		return p.endTag()
	case rest[1] == '?':
		return p.instruction()
	case rest[1] != '!':
		return p.startTag()
	case bytes.HasPrefix(rest, []byte("<!--")):
		return p.comment()
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		return p.cdata()
	case bytes.HasPrefix(rest, []byte("<!DOCTYPE")):
		return p.doctype()
	}
	return malformed("a markup declaration is misplaced")
}

func malformed(what string) error { return unclean("it is not well-formed XML: %s", what) }

// outside reports whether the parser is outside of the root of a document, where only the prolog
// and comments may be.
func (p *parser) outside() bool { return p.document && len(p.open) == 0 }

func (p *parser) chars() error {
	end := bytes.IndexByte(p.src[p.pos:], '<')
	if end < 0 {
		end = len(p.src) - p.pos
	}
	raw := p.src[p.pos : p.pos+end]
	p.pos += end
	if bytes.Contains(raw, []byte("]]>")) {
		return malformed("text contains ]]>")
	}
	text, err := p.decode(raw, false)
	if err != nil {
		return err
	}
	if p.outside() && len(bytes.TrimLeft(raw, " \t\r\n")) > 0 {
		return malformed("text is outside of the root element")
	}
	p.addText(text)
	return nil
}

// addText keeps text in elements whose text has a meaning. Browsers do not render it elsewhere.
func (p *parser) addText(text []byte) {
	if len(p.open) == 0 || len(text) == 0 {
		return
	}
	parent := p.open[len(p.open)-1].node
	if parent == none || !p.nodes[parent].elem.text {
		return
	}
	// Comments and CDATA sections split a text; this joins it again.
	if last := p.nodes[parent].last; last != none && p.nodes[last].elem == nil {
		p.nodes[last].text = append(p.nodes[last].text, text...)
		return
	}
	// With this capacity, append never writes into src.
	p.add(node{text: text[:len(text):len(text)]}, parent)
}

func (p *parser) cdata() error {
	body, err := p.until("<![CDATA[", "]]>", "a CDATA section is not closed")
	if err != nil {
		return err
	}
	if p.outside() {
		return malformed("text is outside of the root element")
	}
	p.addText(bytes.ReplaceAll(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n")))
	return nil
}

func (p *parser) comment() error {
	body, err := p.until("<!--", "--", "a comment is not closed")
	if err != nil {
		return err
	}
	if p.pos >= len(p.src) || p.src[p.pos] != '>' || bytes.HasSuffix(body, []byte{'-'}) {
		return malformed("a comment contains two hyphens")
	}
	p.pos++
	return nil
}

// until expects start at the current position, moves past the next end, and returns the bytes
// between the two.
func (p *parser) until(start, end, otherwise string) ([]byte, error) {
	rest := p.src[p.pos+len(start):]
	i := bytes.Index(rest, []byte(end))
	if i < 0 {
		return nil, malformed(otherwise)
	}
	p.pos += len(start) + i + len(end)
	return rest[:i], nil
}

func (p *parser) endTag() error {
	p.pos += 2
	name := p.name()
	p.space()
	if len(name) == 0 || p.pos >= len(p.src) || p.src[p.pos] != '>' {
		return malformed("an end tag is not closed")
	}
	p.pos++
	if len(p.open) == 0 || !bytes.Equal(p.open[len(p.open)-1].name, name) {
		return malformed("an end tag does not match its start tag")
	}
	p.close()
	return nil
}

// name reads a name, and returns nothing if there is none. It does not check which letters beyond
// ASCII are allowed, because no name on the allow-lists has any.
func (p *parser) name() []byte {
	start := p.pos
	for p.pos < len(p.src) && nameByte[p.src[p.pos]] {
		p.pos++
	}
	name := p.src[start:p.pos]
	if len(name) > 0 && (name[0] == '-' || name[0] == '.' || '0' <= name[0] && name[0] <= '9') {
		return nil
	}
	return name
}

var nameByte = func() (t [256]bool) {
	for c := range t {
		t[c] = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == ':' ||
			c == '-' || c == '.' || c >= 0x80
	}
	return t
}()

// space skips white space and reports whether there was any.
func (p *parser) space() bool {
	start := p.pos
	for p.pos < len(p.src) && isSpace(p.src[p.pos]) {
		p.pos++
	}
	return p.pos > start
}
