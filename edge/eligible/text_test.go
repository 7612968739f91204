package eligible

import (
	"bytes"
	"testing"

	"golang.org/x/net/http/httpguts"
)

func TestToken(t *testing.T) {
	for c := range Token {
		if want := httpguts.IsTokenRune(rune(c)); Token[c] != want {
			t.Errorf("Token[%#x] = %v", c, Token[c])
		}
	}
	if IsToken(nil) || IsToken([]byte("a b")) || !IsToken([]byte("X-Name")) {
		t.Error("IsToken must accept one or more token bytes, and nothing else")
	}
}

// Checking eight bytes at a time gives the result of checking each byte, wherever a control byte
// is.
func FuzzControls(f *testing.F) {
	for _, s := range []string{"", "plain text", "a\tb", "\x00", "seven77\x1f", "eight888\x7f", "\x80\xff caf\u00e9 \u00a0", "\x20\x1f\x20\x1f\x20\x1f\x20\x1f\x20"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := Controls(b), bytes.ContainsFunc(bytes.ReplaceAll(b, []byte{'\t'}, nil), func(r rune) bool { return r < ' ' || r == 0x7f }); got != want {
			t.Fatalf("Controls(%q) = %v", b, got)
		}
	})
}
