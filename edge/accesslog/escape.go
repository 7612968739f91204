package accesslog

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// literal holds the bytes that stand in a string of JSON as they are.
var literal = func() (t [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// appendText writes bytes as a string of JSON (RFC 8259, section 7), the first most of them; "…" says that there were more. Whatever does not
// print is escaped, more than JSON asks for: a line that is shown must neither end before its end, as U+2028 has it for some readers, nor move
// the cursor of a terminal, nor turn the order of letters around. Bytes that are not UTF-8 become U+FFFD.
func appendText(dst, s []byte, most int) []byte {
	more := len(s) > most
	if more {
		s = s[:boundary(s, most)]
	}
	dst = append(dst, '"')
	begun := 0
	for i := 0; i < len(s); {
		if literal[s[i]] {
			i++
			continue
		}
		dst = append(dst, s[begun:i]...)
		r, size := utf8.DecodeRune(s[i:])
		dst = appendRune(dst, r)
		i += size
		begun = i
	}
	if dst = append(dst, s[begun:]...); more {
		dst = append(dst, "…"...)
	}
	return append(dst, '"')
}

// printed is the first most bytes of s for those who escape it themselves, with U+FFFD in place of what does not print; "…" says that there were more.
func printed(s []byte, most int) string {
	end := ""
	if len(s) > most {
		s, end = s[:boundary(s, most)], "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, string(s)) + end
}

// boundary is where s can be cut so that no more than most bytes are before it, and no character is halved.
func boundary(s []byte, most int) int {
	for i := most; i > most-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	return most
}

// appendRune writes a character that is not literal.
func appendRune(dst []byte, r rune) []byte {
	switch {
	case r == '"', r == '\\':
		return append(dst, '\\', byte(r))
	case unicode.IsPrint(r):
		return utf8.AppendRune(dst, r)
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		return appendCode(appendCode(dst, high), low)
	}
	return appendCode(dst, r)
}

func appendCode(dst []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(dst, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
