package svg

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"unicode/utf8"
)

// checkChars refuses bytes that are not UTF-8, and characters that XML does not allow (XML 1.0,
// section 2.2).
func checkChars(b []byte) error {
	for len(b) >= 8 { // eight bytes at a time: nearly all bytes of an SVG are printable ASCII
		w := binary.LittleEndian.Uint64(b)
		const high, spaces = 0x8080808080808080, 0x2020202020202020
		if w&high != 0 || (w-spaces)&^w&high != 0 {
			n, ok := checkChar(b)
			if !ok {
				return unclean("it is not UTF-8, or has characters that XML does not allow")
			}
			b = b[n:]
			continue
		}
		b = b[8:]
	}
	for len(b) > 0 {
		n, ok := checkChar(b)
		if !ok {
			return unclean("it is not UTF-8, or has characters that XML does not allow")
		}
		b = b[n:]
	}
	return nil
}

func checkChar(b []byte) (size int, ok bool) {
	r, size := utf8.DecodeRune(b)
	return size, (r != utf8.RuneError || size > 1) && isChar(r)
}

func isChar(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r':
		return true
	case r < 0x20, 0xD800 <= r && r <= 0xDFFF, r == 0xFFFE, r == 0xFFFF, r > utf8.MaxRune:
		return false
	}
	return true
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// decode resolves references and normalises line ends (XML 1.0, section 2.11) and, in an attribute,
// white space (section 3.3.3). It returns raw itself where there is nothing to change.
func (p *parser) decode(raw []byte, attribute bool) ([]byte, error) {
	if bytes.IndexByte(raw, '&') < 0 && bytes.IndexByte(raw, '\r') < 0 && !(attribute && bytes.ContainsAny(raw, "\n\t")) {
		return raw, nil
	}
	return p.appendDecoded(make([]byte, 0, len(raw)), raw, attribute, 0)
}

// appendDecoded appends the decoded form of raw, the text of an entity within depth others.
func (p *parser) appendDecoded(out, raw []byte, attribute bool, depth int) (_ []byte, err error) {
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '&':
			r, size := reference(raw[i:])
			if size == 0 {
				var text []byte
				if text, size, err = p.entityText(raw[i:], depth); err != nil {
					return nil, err
				}
				if out, err = p.appendDecoded(out, text, attribute, depth+1); err != nil {
					return nil, err
				}
			} else {
				out = utf8.AppendRune(out, r)
			}
			i += size
			continue
		case c == '\r' && i+1 < len(raw) && raw[i+1] == '\n': // the line feed stands for both
		case attribute && isSpace(c):
			out = append(out, ' ')
		case c == '\r':
			out = append(out, '\n')
		default:
			out = append(out, c)
		}
		i++
	}
	return out, nil
}

// reference reads the reference at the start of b. It returns a size of 0 if b starts with none.
func reference(b []byte) (r rune, size int) {
	end := bytes.IndexByte(b[:min(len(b), 16)], ';')
	if end < 2 {
		return 0, 0
	}
	name := string(b[1:end])
	if name[0] != '#' {
		switch name {
		case "amp":
			return '&', end + 1
		case "lt":
			return '<', end + 1
		case "gt":
			return '>', end + 1
		case "quot":
			return '"', end + 1
		case "apos":
			return '\'', end + 1
		}
		return 0, 0
	}
	digits, base := name[1:], 10
	if len(digits) > 0 && digits[0] == 'x' {
		digits, base = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, base, 31)
	if err != nil || !isChar(rune(n)) {
		return 0, 0
	}
	return rune(n), end + 1
}

// escapes maps each byte that must not be written as it is to its escaped form.
var escapes = [256]string{'&': "&amp;", '<': "&lt;", '>': "&gt;", '"': "&quot;", '\r': "&#13;"}

// appendEscaped appends text or the value of an attribute in a form that every parser reads alike.
func appendEscaped(dst, b []byte, attribute bool) []byte {
	start := 0
	for i := 0; i < len(b); i++ {
		e := escapes[b[i]]
		if attribute && b[i] == '\n' {
			e = "&#10;"
		} else if attribute && b[i] == '\t' {
			e = "&#9;"
		}
		if e == "" {
			continue
		}
		dst = append(dst, b[start:i]...)
		dst = append(dst, e...)
		start = i + 1
	}
	return append(dst, b[start:]...)
}
