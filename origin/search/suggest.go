package search

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/blevesearch/vellum/levenshtein"
)

const (
	maxSuggestions = 5
	// maxMended is how many unknown words of a query are compared with known ones, each of minMended to maxMendedLen
	// letters; those of longWord letters and more may be two edits away, others one.
	maxMended               = 3
	minMended, maxMendedLen = 3, 24
	longWord                = 8
	// maxNear is how many near words are weighed against each other, in their order.
	maxNear = 256
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
	for _, r := range x.readings(Query{Text: text}) {
		if _, begun := x.match(r, false); begun != nil || len(r.terms) == 0 {
			return true
		}
	}
	return false
}

// mended are the words with the unknown ones replaced by known ones: the nearest each, then other near ones of the first.
func (x *Index) mended(words []string) (tries [][]string) {
	best := slices.Clone(words)
	var first []string // for words[at]
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
		best[i] = near[0]
		if first == nil {
			first, at = near, i
		}
	}
	for _, w := range first[:min(len(first), maxSuggestions)] {
		try := slices.Clone(best)
		try[at] = w
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

// near are known words that are a slip away from w, the nearest first, of those the more common first.
func (x *Index) near(w string) []string {
	letters := utf8.RuneCountInString(w)
	if letters < minMended || letters > maxMendedLen {
		return nil
	}
	edits := uint8(1)
	if letters >= longWord {
		edits = 2
	}
	dfa, err := automata()[edits-1].BuildDfa(w, edits)
	if err != nil {
		return nil // it would have too many states
	}
	type word struct {
		text  string
		edits uint8
		docs  uint64
	}
	var near []word
	it, err := x.words.Search(dfa, nil, nil)
	for ; err == nil && len(near) < maxNear; err = it.Next() {
		text, offset := it.Current()
		near = append(near, word{string(text), it.EditDistance(), x.bitmap(offset).GetCardinality()})
	}
	slices.SortFunc(near, func(a, b word) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(b.docs, a.docs), strings.Compare(a.text, b.text))
	})
	texts := make([]string, len(near))
	for i := range near {
		texts[i] = near[i].text
	}
	return texts
}
