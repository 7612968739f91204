package eligible

import (
	"encoding/binary"
	"strings"
)

// Token marks the bytes of a token (RFC 9110, section 5.6.2).
var Token = func() (t [256]bool) {
	for c := range t {
		t[c] = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c < 0x80 && strings.IndexByte("!#$%&'*+-.^_`|~", byte(c)) >= 0
	}
	return t
}()

// IsToken reports whether a name is a token (RFC 9110, section 5.6.2).
func IsToken(name []byte) bool {
	for _, c := range name {
		if !Token[c] {
			return false
		}
	}
	return len(name) > 0
}

// Controls reports whether a value or a line has a control byte other than a tab (RFC 9110, section
// 5.5). It checks eight bytes at a time.
func Controls(b []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		w := binary.LittleEndian.Uint64(b)
		del := w ^ 0x7f*ones
		if (w-0x20*ones)&^w&highs|(del-ones)&^del&highs != 0 && anyControl(b[:8]) {
			// anyControl decides, because the arithmetic borrows and may report a byte that is no
			// control.
			return true
		}
	}
	return anyControl(b)
}

func anyControl(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' || c == 0x7f {
			return true
		}
	}
	return false
}
