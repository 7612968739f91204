package search

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxSuggestions = 5
	maxCorrected   = 3 // unknown words of a query that are corrected
)

// Suggest returns at most 5 queries similar to a text that finds nothing, each of which finds
// something: first with unknown words corrected, then with a word left out, and if that gives none,
// names with the same beginning. They name a pack only if text does.
func (x *Index) Suggest(text string) []string {
	scope := ""
	if pack, rest, ok := x.colon(text); ok {
		scope, text = x.packs[pack].Key+":", rest
	}
	words := make([]string, 0, maxWords)
	for _, t := range split(text) {
		words = append(words, t.typed)
	}
	var found []string
	for _, try := range slices.Concat(x.corrected(words), shortened(words)) {
		if q := scope + strings.Join(try, " "); len(try) > 0 && len(found) < maxSuggestions && !slices.Contains(found, q) && x.finds(q) {
			found = append(found, q)
		}
	}
	if len(found) == 0 && len(words) > 0 {
		found = x.begunLike(scope, words[len(words)-1])
	}
	return found
}

// begunLike returns names that begin with as many letters of a word as any name does.
func (x *Index) begunLike(scope, word string) (found []string) {
	for n := min(len(word)-1, maxPhrase); n > 0 && len(found) == 0; n-- {
		if !utf8.RuneStart(word[n]) {
			continue
		}
		for _, p := range x.completions(word[:n]) {
			if q := scope + p; len(found) < maxSuggestions && x.finds(q) {
				found = append(found, q)
			}
		}
	}
	return found
}

// finds reports whether a query finds anything, with complete words except the last.
func (x *Index) finds(text string) bool {
	l := x.lookups()
	for _, r := range x.readings(Query{Text: text}, x.shown) {
		if _, begun := l.match(r, false); begun != nil || len(r.terms) == 0 {
			return true
		}
	}
	return false
}

// corrected returns the words with unknown ones replaced by the most similar known ones, then with
// other similar words in place of the first unknown one.
func (x *Index) corrected(words []string) (tries [][]string) {
	best := slices.Clone(words)
	var first []nearWord // for words[at]
	at, unknown := 0, 0
	for i, w := range words {
		if x.docsWith(fold(w)) != nil || x.begins(w) {
			continue
		}
		if unknown++; unknown > maxCorrected {
			break
		}
		near := x.near(w)
		if len(near) == 0 {
			continue
		}
		best[i] = near[0].text
		if first == nil {
			first, at = near, i
		}
	}
	for _, w := range first[:min(len(first), maxSuggestions)] {
		try := slices.Clone(best)
		try[at] = w.text
		tries = append(tries, try)
	}
	return tries
}

// shortened returns the words without each one in turn, the last first, because the user is likely
// to have added that to a successful query.
func shortened(words []string) (tries [][]string) {
	if len(words) > maxVaried {
		return nil
	}
	for i := len(words) - 1; i >= 0; i-- {
		tries = append(tries, slices.Delete(slices.Clone(words), i, i+1))
	}
	return tries
}
