package glob

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestNames: names and stems at random, against a look at each of them.
func TestNames(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	text := func() (s string) {
		for range r.IntN(5) {
			s += string("abc"[r.IntN(3)])
		}
		return s
	}
	for range 20_000 {
		var patterns []string
		for range r.IntN(6) {
			patterns = append(patterns, text()+[]string{"", "*"}[r.IntN(2)])
		}
		name := text() + []string{"", "", "*"}[r.IntN(3)]
		want := slices.ContainsFunc(patterns, func(p string) bool {
			stem, wild := strings.CutSuffix(p, "*")
			return name == p || wild && strings.HasPrefix(name, stem)
		})
		if got := NewNames(patterns).Match(name); got != want {
			t.Fatalf("%q has %q: %v, want %v", patterns, name, got, want)
		}
	}
}
