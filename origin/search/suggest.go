package search

import (
	"slices"
	"strings"
	"sync"

	"github.com/blevesearch/vellum/levenshtein"
)

const (
	maxSuggestions = 5
	maxMended      = 3 // unknown words of a query that are compared with known ones
)

// automata make the automaton of all words one or two edits from a given one; a swap of two letters is one edit.
var automata = sync.OnceValue(func() [2]*levenshtein.LevenshteinAutomatonBuilder {
	var made [2]*levenshtein.LevenshteinAutomatonBuilder
	for i := range made {
		b, err := levenshtein.NewLevenshteinAutomatonBuilder(uint8(i+1), true)
		if err != nil { // of constants alone: can't happen
			panic(err)
		}
		made[i] = b
	}
	return made
})

// Suggest returns at most 5 queries near to text that do find something, for where text itself found nothing: first with
// unknown words mended, then with a word left out. They say nothing of the pack where text named none.
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
	for _, try := range slices.Concat(x.mended(words), shortened(words)) {
		if q := scope + strings.Join(try, " "); len(try) > 0 && len(found) < maxSuggestions && !slices.Contains(found, q) && x.finds(q) {
			found = append(found, q)
		}
	}
	return found
}

// finds reports whether a query finds anything, each of its words but the last being whole.
func (x *Index) finds(text string) bool {
	for _, r := range x.readings(Query{Text: text}, nil) {
		if _, begun := x.match(r, false); begun != nil || len(r.terms) == 0 {
			return true
		}
	}
	return false
}

// mended are the words with the unknown ones replaced by known ones: the nearest each, then other near ones of the first.
func (x *Index) mended(words []string) (tries [][]string) {
	best := slices.Clone(words)
	var first []nearWord // for words[at]
	at, unknown := 0, 0
	for i, w := range words {
		if x.having(fold(w)) != nil || x.begun(w) != nil {
			continue
		}
		if unknown++; unknown > maxMended {
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

// shortened are the words less each one in turn, the last first: it is the one that was added to a query that found something.
func shortened(words []string) (tries [][]string) {
	if len(words) > maxVaried {
		return nil
	}
	for i := len(words) - 1; i >= 0; i-- {
		tries = append(tries, slices.Delete(slices.Clone(words), i, i+1))
	}
	return tries
}
