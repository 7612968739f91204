package accesslog

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// literal marks the bytes that need no escape in a JSON string.
var literal = func() (t [256]bool) {
	for c := ' '; c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// appendText appends at most the first most bytes of s as a JSON string (RFC 8259, section 7), and
// "…" if it cut some off. It escapes every character that does not print, which is more than JSON
// requires: a displayed line must not break early (some readers end a line at U+2028), move the
// cursor of a terminal or reverse the order of letters. Bytes that are not UTF-8 become U+FFFD.
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

// printable returns at most the first most bytes of s, and "…" if it cut some off, with U+FFFD in
// place of each character that does not print. Its callers do their own escaping.
func printable(s []byte, most int) string {
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

// boundary returns the index of at most most at which s can be cut without splitting a character.
func boundary(s []byte, most int) int {
	for i := most; i > most-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return i
		}
	}
	return most
}

// appendRune appends a character that literal does not mark.
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
