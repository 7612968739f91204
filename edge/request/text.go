package request

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// Token marks the bytes of a token (RFC 9110, section 5.6.2).
var Token = func() (t [256]bool) {
	for c := range t {
		t[c] = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
			c < 0x80 && strings.IndexByte("!#$%&'*+-.^_`|~", byte(c)) >= 0
	}
	return t
}()

// IsToken reports whether a name is a token (RFC 9110, section 5.6.2).
func IsToken(name []byte) bool { return len(name) > 0 && EndOfToken(name) == len(name) }

// EndOfToken returns the length of the longest token that b begins with; 0 if there is none.
func EndOfToken(b []byte) int {
	for i, c := range b {
		if !Token[c] {
			return i
		}
	}
	return len(b)
}

// Controls reports whether a value or a line has a control byte other than a tab (RFC 9110, section
// 5.5).
func Controls(b []byte) bool { return Control(b) < len(b) }

// Control returns the position of the first control byte other than a tab, or the length of b if
// there is none.
func Control(b []byte) int {
	if len(b) < 8 {
		for i, c := range b {
			if c < ' ' && c != '\t' || c == 0x7f {
				return i
			}
		}
		return len(b)
	}
	for i := 0; i < len(b); i += 8 {
		at := min(i, len(b)-8)
		if w := binary.LittleEndian.Uint64(b[at:]); outside(w, ' ') != 0 {
			if found := outside(w, ' ') &^ equal(w, '\t'); found != 0 {
				return at + bits.TrailingZeros64(found)/8
			}
		}
	}
	return len(b)
}

// SameName compares two names of fields, ignoring case.
func SameName(a []byte, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := 0; i < len(a); i++ {
		if c := a[i] ^ b[i]; c != 0 && (c != 0x20 || !isLetter(a[i])) {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// isPath reports whether all bytes of a target are visible ASCII, and none begins a fragment.
func isPath(b []byte) bool {
	if len(b) < 8 {
		for _, c := range b {
			if c <= ' ' || c >= 0x7f || c == '#' {
				return false
			}
		}
		return true
	}
	for i := 0; i < len(b); i += 8 {
		if w := binary.LittleEndian.Uint64(b[min(i, len(b)-8):]); outside(w, '!')|w&highs|equal(w, '#') != 0 {
			return false
		}
	}
	return true
}

// The functions below look at eight bytes at a time. A result is the highest bit of its byte. No
// sum exceeds 255, so no byte affects its neighbour. The last eight bytes of a text are examined
// even if some of them were before.
const (
	ones  = 0x0101010101010101
	lows  = 0x7f * ones
	highs = 0x80 * ones
)

// outside marks the bytes of ASCII that are below least, which is at most 0x7f, or DEL.
func outside(w uint64, least byte) uint64 {
	low := w & lows
	return (^(low + uint64(0x80-least)*ones) | (low + ones)) &^ w & highs
}

// equal marks the bytes that equal c, which is at most 0x7f.
func equal(w uint64, c byte) uint64 {
	w ^= uint64(c) * ones
	return ^(w&lows + lows | w) & highs
}
