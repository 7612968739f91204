package svg

import (
	"bytes"
	"regexp"
	"strings"
)

// declaration matches the XML declaration (XML 1.0, section 2.8), without its <? and ?>.
var declaration = regexp.MustCompile(`^[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(?:"1\.0"|'1\.0')` +
	`(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?:"[A-Za-z][A-Za-z0-9._-]*"|'[A-Za-z][A-Za-z0-9._-]*'))?` +
	`(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(?:"(?:yes|no)"|'(?:yes|no)'))?[ \t\r\n]*$`)

// instruction skips a processing instruction or the XML declaration. None is kept, because some
// refer to style sheets.
func (p *parser) instruction() error {
	start := p.pos
	body, err := p.until("<?", "?>", "a processing instruction is not closed")
	if err != nil {
		return err
	}
	end := 0
	for end < len(body) && nameByte[body[end]] {
		end++
	}
	target, rest := string(body[:end]), body[end:]
	if target == "" || strings.Contains(target, ":") || len(rest) > 0 && !isSpace(rest[0]) {
		return malformed("a processing instruction has no name")
	}
	if !strings.EqualFold(target, "xml") {
		return nil
	}
	if target != "xml" || start != 0 || !p.document {
		return malformed("an XML declaration is not at the start")
	}
	if !declaration.Match(rest) { // toUTF8 has read the encoding
		return malformed("its XML declaration is not a valid one of version 1.0")
	}
	return nil
}

// doctype reads a document type declaration. Nobody fetches an external subset for an SVG. Of an
// internal subset the entities count.
func (p *parser) doctype() error {
	if !p.document || p.seenRoot || p.seenDoctype || len(p.open) > 0 {
		return malformed("a document type declaration is misplaced")
	}
	p.seenDoctype = true
	p.pos += len("<!DOCTYPE")
	if !p.space() || len(p.name()) == 0 {
		return malformed("its document type declaration has no name")
	}
	literals := 0
	spaced := p.space()
	for _, keyword := range []string{"PUBLIC", "SYSTEM"} {
		if spaced && bytes.HasPrefix(p.src[p.pos:], []byte(keyword)) {
			p.pos += len(keyword)
			literals = map[string]int{"PUBLIC": 2, "SYSTEM": 1}[keyword]
			break
		}
	}
	for ; literals > 0; literals-- {
		if !p.space() || !p.literal() {
			return malformed("its document type declaration is not closed")
		}
	}
	p.space()
	if p.pos < len(p.src) && p.src[p.pos] == '[' {
		if err := p.subset(); err != nil {
			return err
		}
		p.space()
	}
	if p.pos >= len(p.src) || p.src[p.pos] != '>' {
		return malformed("its document type declaration is not closed")
	}
	p.pos++
	return nil
}

// literal skips a quoted string.
func (p *parser) literal() bool {
	if p.pos >= len(p.src) || p.src[p.pos] != '"' && p.src[p.pos] != '\'' {
		return false
	}
	end := bytes.IndexByte(p.src[p.pos+1:], p.src[p.pos])
	if end < 0 {
		return false
	}
	p.pos += end + 2
	return true
}
