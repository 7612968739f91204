package token

import (
	"strings"
	"testing"
)

func TestWellFormed(t *testing.T) {
	// The checksum was made with another implementation (zlib's CRC-32), to fix the form: tokens in people's hands depend on it.
	const good = "iel_" + "0123456789ABCDEFGHIJKLMNOPQRSTUVWX" + "0TeJoD"
	for _, c := range []struct {
		token string
		want  bool
	}{
		{good, true},
		{"", false},
		{"iel_", false},
		{good[:len(good)-1], false},
		{good + "0", false},
		{" " + good[1:], false},
		{"IEL_" + good[4:], false},
		{"ghp_" + good[4:], false},
		{strings.ToLower(good), false},
		{"iel_" + strings.Repeat("0", 40), false},
		{"iel_" + "é" + good[6:], false}, // two bytes that are no character of base62
		{assemble(strings.Repeat("é", 17)), false},
		{assemble(strings.Repeat("\x00", 34)), false}, // a checksum alone does not help
		{assemble(strings.Repeat("-", 34)), false},
	} {
		if got := WellFormed(c.token); got != c.want {
			t.Errorf("WellFormed(%q) = %v, want %v", c.token, got, c.want)
		}
	}
}

func TestGenerate(t *testing.T) {
	const n = 2000
	seen, counts := map[string]bool{}, map[rune]int{}
	for range n {
		s := generate()
		if !WellFormed(s) || seen[s] || len(s) != 44 {
			t.Fatalf("generate() = %q: not well-formed, or made twice", s)
		}
		seen[s] = true
		for _, c := range s[len(prefix) : len(prefix)+secretLen] {
			counts[c]++
		}
	}
	// Each character is expected 1,097 times with a standard deviation of 33; one that is 5/256 likely instead of 4/256, as without
	// the rejection, would come 1,328 times.
	for _, c := range alphabet {
		if got := counts[c]; got < 1097-6*33 || got > 1097+6*33 {
			t.Errorf("%c came %d times in %d tokens, want about 1,097", c, got, n)
		}
	}
}

// Everything that is issued is well-formed, and nothing that is one character away from it.
func FuzzWellFormed(f *testing.F) {
	f.Add("0123456789ABCDEFGHIJKLMNOPQRSTUVWX", uint(7), byte('x'))
	f.Add(generate(), uint(43), byte('0'))
	f.Add("", uint(3), byte('-'))
	f.Fuzz(func(t *testing.T, s string, at uint, c byte) {
		made := make([]byte, secretLen) // a random part made of the input
		for i := range made {
			made[i] = alphabet[0]
			if i < len(s) {
				made[i] = alphabet[int(s[i])%len(alphabet)]
			}
		}
		issued := assemble(string(made))
		if !WellFormed(issued) {
			t.Fatalf("WellFormed(%q) = false for what is issued", issued)
		}
		for _, token := range []string{issued, s} {
			if !WellFormed(token) {
				continue
			}
			i := int(at % uint(len(token)))
			if changed := token[:i] + string([]byte{c}) + token[i+1:]; changed != token && WellFormed(changed) {
				t.Fatalf("%q and %q are both well-formed", token, changed)
			}
			if shorter := token[:i] + token[i+1:]; WellFormed(shorter) || WellFormed(token+string([]byte{c})) {
				t.Fatalf("%q is well-formed, and so is one that is longer or shorter", token)
			}
		}
	})
}
