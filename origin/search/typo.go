package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// Words of minTypoLen to maxTypoLen letters may have a typo. Unknown words of longWord letters
	// or more may be two edits away if no known word is one edit away.
	minTypoLen, maxTypoLen = 3, 24
	longWord               = 8
	// maxNear is the largest number of similar words that are compared, in their order;
	// maxTypoTries of them are tried.
	maxNear      = 256
	maxTypoTries = 48
	// maxTypoWords is the largest number of words, over all readings of a query, that are tried as
	// typos.
	maxTypoWords = 12
)

// typos returns the docs that readings find with one word corrected. If ofKnown is set, the
// corrected words are known words; otherwise they are unknown.
func (l *lookups) typos(readings []reading, ofKnown bool) (sets []set) {
	tried := 0
	for _, r := range readings {
		for i, t := range r.terms {
			if l.x.isKnown(r, t) != ofKnown {
				continue
			}
			if tried++; tried > maxTypoWords {
				return sets
			}
			sets = l.typosAt(sets, r, i, ofKnown)
		}
	}
	return sets
}

// isKnown reports whether a word of a reading is as the user meant it: a word of names, or one with
// a meaning. A word of another language counts only if the other words are not words of names: of
// "signal celular", the second is rather a typo than Spanish.
func (x *Index) isKnown(r reading, t term) bool {
	if x.docsWith(t.folded) != nil {
		return true
	}
	foreign, known := false, false
	x.targets(t.folded, func(m target) { foreign, known = m.foreign, true })
	if !foreign {
		return known
	}
	return !slices.ContainsFunc(r.terms, func(other term) bool { return other != t && x.docsWith(other.folded) != nil })
}

// typosAt adds the docs that have the other words of a reading, and one that is similar to this
// word.
func (l *lookups) typosAt(sets []set, r reading, at int, ofKnown bool) []set {
	rest := r
	rest.terms = slices.Delete(slices.Clone(r.terms), at, at+1)
	others, _ := l.match(rest, false)
	if others == nil && (len(rest.terms) > 0 || r.within != nil) {
		return sets
	}
	for _, n := range l.near(r.terms[at].typed) {
		docs := l.with(n.text).docs
		if others != nil {
			docs = both(others, docs)
		}
		if docs == nil {
			continue
		}
		terms := slices.Clone(r.terms)
		terms[at] = term{n.text, n.text}
		sets = append(sets, set{docs: docs, terms: terms, typo: n.typo, ofKnown: ofKnown})
	}
	return sets
}

// A nearWord is a known word that the user may have meant. typo is its distance from the typed
// word, at least 1.
type nearWord struct {
	text string
	typo int
	docs uint64
}

// isWord reports whether names have a word, or it has a meaning.
func (x *Index) isWord(w string) bool {
	w = fold(w)
	return x.docsWith(w) != nil || x.hasMeaning(w)
}

// near returns known words that are a typo away from w, the closest first, then the more common
// ones.
func (x *Index) near(w string) []nearWord {
	letters := utf8.RuneCountInString(w)
	if letters < minTypoLen || letters > maxTypoLen {
		return nil
	}
	// Names are ASCII, so each other letter is an edit.
	foreign := letters
	for i := range len(w) {
		if w[i] < utf8.RuneSelf {
			foreign--
		}
	}
	var near []nearWord
	if foreign <= 1 {
		near = x.withinEdits(w, 1)
	}
	if len(near) == 0 && letters >= longWord && foreign <= 2 && !x.isWord(w) {
		near = x.withinEdits(w, 2)
	}
	slices.SortFunc(near, func(a, b nearWord) int {
		return cmp.Or(cmp.Compare(a.typo, b.typo), cmp.Compare(b.docs, a.docs), strings.Compare(a.text, b.text))
	})
	return near[:min(len(near), maxTypoTries)]
}

// withinEdits returns the known words within some edits of w. Typos in the first letter are rare,
// so they count as more distant.
func (x *Index) withinEdits(w string, most uint8) (near []nearWord) {
	if letters := utf8.RuneCountInString(w); letters == 0 || letters > maxTypoLen {
		return nil
	}
	e := newEdits(w, most)
	defer e.free()
	it, err := x.words.Search(e, nil, nil)
	for ; err == nil && len(near) < maxNear; err = it.Next() {
		text, offset := it.Current()
		if string(text) == w {
			continue
		}
		typo := 2*int(most) - 1
		if text[0] != w[0] {
			typo++
		}
		near = append(near, nearWord{string(text), typo, x.bitmap(offset).GetCardinality()})
	}
	return near
}
