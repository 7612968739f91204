package request

import (
	"slices"
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
func FuzzControl(f *testing.F) {
	for _, s := range []string{"", "plain text", "a\tb", "\x00", "seven77\x1f", "eight888\x7f",
		"\x80\xff caf\u00e9 \u00a0", "\x20\x1f\x20\x1f\x20\x1f\x20\x1f\x20",
		"/mdi/home.svg", "/a#b", "/nine9999#", "/\x7f\x80\x81\xfe\xff\x01\x02", "tab\tand\rCR"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want := slices.IndexFunc(b, func(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f })
		if want < 0 {
			want = len(b)
		}
		if got := Control(b); got != want || Controls(b) != (want < len(b)) {
			t.Fatalf("Control(%q) = %d, want %d; Controls is %v", b, got, want, Controls(b))
		}
		if got, want := isPath(b), !slices.ContainsFunc(b, func(c byte) bool { return c <= ' ' || c >= 0x7f || c == '#' }); got != want {
			t.Fatalf("isPath(%q) = %v", b, got)
		}
	})
}
