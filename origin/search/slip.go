package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// Words of minMended to maxMendedLen letters may be mistyped; those of longWord letters and more by two edits where one
	// leads nowhere.
	minMended, maxMendedLen = 3, 24
	longWord                = 8
	// maxNear is how many near words are weighed against each other, in their order, and maxSlips how many of them are tried.
	maxNear  = 256
	maxSlips = 48
	// maxSlipped is how many words of a query may be the one that is mistyped, over all readings.
	maxSlipped = 12
)

// slips are the docs that readings find with one word mended. With late, it is a word that is known as it is.
func (x *Index) slips(readings []reading, late bool) (sets []set) {
	tried := 0
	for _, r := range readings {
		for i, t := range r.terms {
			known := x.having(t.folded) != nil || x.means(t.folded)
			if known != late {
				continue
			}
			if tried++; tried > maxSlipped {
				return sets
			}
			sets = x.slipsAt(sets, r, i, late)
		}
	}
	return sets
}

// slipsAt adds the docs that have the other words of a reading, and one near to that one.
func (x *Index) slipsAt(sets []set, r reading, at int, late bool) []set {
	rest := r
	rest.terms = slices.Delete(slices.Clone(r.terms), at, at+1)
	others, _ := x.match(rest, false)
	if others == nil && (len(rest.terms) > 0 || r.within != nil) {
		return sets
	}
	for _, n := range x.near(r.terms[at].typed) {
		docs := x.having(n.text)
		if others != nil {
			docs = both(others, docs)
		}
		if docs == nil {
			continue
		}
		terms := slices.Clone(r.terms)
		terms[at] = term{n.text, n.text}
		sets = append(sets, set{docs: docs, terms: terms, slip: n.slip, late: late})
	}
	return sets
}

// A nearWord is a known word that may have been meant; slip is how far it is from what was typed, at least 1.
type nearWord struct {
	text string
	slip int
	docs uint64
}

// near are known words that are a slip away from w, the nearest first, of those the more common first.
func (x *Index) near(w string) []nearWord {
	letters := utf8.RuneCountInString(w)
	if letters < minMended || letters > maxMendedLen {
		return nil
	}
	near := x.withinEdits(w, 1)
	if len(near) == 0 && letters >= longWord {
		near = x.withinEdits(w, 2)
	}
	slices.SortFunc(near, func(a, b nearWord) int {
		return cmp.Or(cmp.Compare(a.slip, b.slip), cmp.Compare(b.docs, a.docs), strings.Compare(a.text, b.text))
	})
	return near[:min(len(near), maxSlips)]
}

// withinEdits are the words at most some edits away. Few people mistype the first letter: then a word counts as further away.
func (x *Index) withinEdits(w string, edits uint8) (near []nearWord) {
	dfa, err := automata()[edits-1].BuildDfa(w, edits)
	if err != nil {
		return nil // it would have too many states
	}
	it, err := x.words.Search(dfa, nil, nil)
	for ; err == nil && len(near) < maxNear; err = it.Next() {
		text, offset := it.Current()
		if string(text) == w {
			continue
		}
		slip := 2*int(edits) - 1
		if text[0] != w[0] {
			slip++
		}
		near = append(near, nearWord{string(text), slip, x.bitmap(offset).GetCardinality()})
	}
	return near
}
