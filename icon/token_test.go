package icon

import (
	"strings"
	"testing"
)

func TestWellFormedToken(t *testing.T) {
	// Another implementation (zlib's CRC-32) made this checksum. It fixes the form, because users
	// hold tokens of it.
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
		{"iel_" + "é" + good[6:], false}, // two bytes outside of base62
		{AssembleToken(strings.Repeat("é", 17)), false},
		{AssembleToken(strings.Repeat("\x00", 34)), false}, // a correct checksum is not enough
		{AssembleToken(strings.Repeat("-", 34)), false},
	} {
		if got := WellFormedToken(c.token); got != c.want {
			t.Errorf("WellFormedToken(%q) = %v, want %v", c.token, got, c.want)
		}
	}
}

// FuzzWellFormedToken checks that every issued token is well-formed, and that no string at one
// character's distance is.
func FuzzWellFormedToken(f *testing.F) {
	f.Add("0123456789ABCDEFGHIJKLMNOPQRSTUVWX", uint(7), byte('x'))
	f.Add("", uint(3), byte('-'))
	f.Fuzz(func(t *testing.T, s string, at uint, c byte) {
		made := make([]byte, TokenSecretLen) // a random part, derived from the input
		for i := range made {
			made[i] = TokenAlphabet[0]
			if i < len(s) {
				made[i] = TokenAlphabet[int(s[i])%len(TokenAlphabet)]
			}
		}
		issued := AssembleToken(string(made))
		if !WellFormedToken(issued) {
			t.Fatalf("WellFormedToken(%q) = false for an issued token", issued)
		}
		for _, token := range []string{issued, s} {
			if !WellFormedToken(token) {
				continue
			}
			i := int(at % uint(len(token)))
			if changed := token[:i] + string([]byte{c}) + token[i+1:]; changed != token && WellFormedToken(changed) {
				t.Fatalf("%q and %q are both well-formed", token, changed)
			}
			if shorter := token[:i] + token[i+1:]; WellFormedToken(shorter) || WellFormedToken(token+string([]byte{c})) {
				t.Fatalf("%q is well-formed, and so is a longer or shorter string", token)
			}
		}
	})
}

func TestValidPlan(t *testing.T) {
	for plan, want := range map[string]bool{"lifetime": true, "team-2": true, "": false, "Lifetime": false, "a:b": false, "a--b": false,
		strings.Repeat("a", 64): true, strings.Repeat("a", 65): false} {
		if got := ValidPlan(plan); got != want {
			t.Errorf("ValidPlan(%q) = %v, want %v", plan, got, want)
		}
	}
}
