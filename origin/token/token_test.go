package token

import (
	"testing"

	"github.com/iconedge/iconedge/icon"
)

func TestGenerate(t *testing.T) {
	const n = 2000
	seen, counts := map[string]bool{}, map[rune]int{}
	for range n {
		s := generate()
		if !icon.WellFormedToken(s) || seen[s] || len(s) != 44 {
			t.Fatalf("generate() = %q: malformed, or a repetition", s)
		}
		seen[s] = true
		for _, c := range s[len("iel_"):][:icon.TokenSecretLen] {
			counts[c]++
		}
	}
	// Each character is expected 1,097 times with a standard deviation of 33. Without the rejection
	// of bytes from 248 on, some would have a probability of 5/256 instead of 4/256, and occur
	// 1,328 times.
	for _, c := range icon.TokenAlphabet {
		if got := counts[c]; got < 1097-6*33 || got > 1097+6*33 {
			t.Errorf("%c occurs %d times in %d tokens, want about 1,097", c, got, n)
		}
	}
}
