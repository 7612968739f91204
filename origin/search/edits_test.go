package search

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// distanceOf returns the number of edits between two words, by the whole table.
func distanceOf(a, b []rune) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		for j := range table[i] {
			switch {
			case i == 0 || j == 0:
				table[i][j] = i + j
				continue
			case a[i-1] == b[j-1]:
				table[i][j] = table[i-1][j-1]
			default:
				table[i][j] = 1 + min(table[i-1][j], table[i][j-1], table[i-1][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				table[i][j] = min(table[i][j], table[i-2][j-2]+1)
			}
		}
	}
	return table[len(a)][len(b)]
}

// TestEdits compares the words that are found with those of the table, for typos of random words.
func TestEdits(t *testing.T) {
	x := small(t)
	var known []string
	it, err := x.words.Iterator(nil, nil)
	for ; err == nil; err = it.Next() {
		w, _ := it.Current()
		known = append(known, string(w))
	}
	r := rand.New(rand.NewPCG(1, 4))
	for range 2000 {
		w := []rune(known[r.IntN(len(known))])
		for range r.IntN(4) {
			at := r.IntN(len(w) + 1)
			switch letter := []rune("aeéloprst红")[r.IntN(10)]; {
			case r.IntN(3) == 0 && at < len(w):
				w = slices.Delete(w, at, at+1)
			case r.IntN(2) == 0 && at > 1:
				w[at-1], w[at-2] = w[at-2], w[at-1]
			default:
				w = slices.Insert(w, at, letter)
			}
		}
		for most := range 2 {
			var got, want []string
			for _, n := range x.withinEdits(string(w), uint8(most+1)) {
				got = append(got, n.text)
			}
			for _, k := range known {
				if k != string(w) && distanceOf(w, []rune(k)) <= most+1 && len(w) > 0 {
					want = append(want, k)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%q, %d edits: %q, want %q", string(w), most+1, got, want)
			}
		}
	}
}
