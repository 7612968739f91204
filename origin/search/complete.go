package search

import (
	"cmp"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
)

const (
	// MaxCompletions is the largest number of completions that Complete returns.
	MaxCompletions = 10
	// maxPhrase is the longest phrase, in bytes, that can be a completion.
	maxPhrase = 48
	// maxCompared is the largest number of phrases with the same prefix that Complete compares at
	// query time. For a prefix of more phrases, the index stores the best ones.
	maxCompared = 200
)

// A phrase is a name in the form that people type, with the number of packs that draw it. Indexes
// of earlier programs have the number of docs instead.
type phrase struct {
	text  string
	packs uint64
}

// better orders completions by likelihood: people rather type what many packs draw, and a long name
// is rather left unfinished elsewhere.
func better(a, b phrase) int {
	return cmp.Or(cmp.Compare(b.packs*uint64(len(a.text)), a.packs*uint64(len(b.text))),
		cmp.Compare(len(a.text), len(b.text)), strings.Compare(a.text, b.text))
}

// addPhrases writes the names, without their styles, that can be completions, and the best ones for
// prefixes that many of them share. A list in secBest is the number of its phrases, then the length
// and text of each.
func (b *builder) addPhrases() (err error) {
	phrases := slices.DeleteFunc(slices.Clone(b.sorted), func(concept uint32) bool { return len(b.concepts.text(concept)) > maxPhrase })
	b.body[secPhrases], err = dictionary(b.ctx, func(yield func(string, uint64) bool) {
		for _, concept := range phrases {
			if !yield(b.concepts.text(concept), uint64(b.drawnBy[concept].packs)) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	at := map[string]uint64{}
	for n := 1; len(phrases) > 0; n++ {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		phrases = b.shared(phrases, n, at)
	}
	b.body[secBegun], err = dictionary(b.ctx, sorted(at))
	return err
}

// shared writes the best phrases of each prefix of n bytes that more than maxCompared phrases
// share. Phrases are concepts in the order of their texts. It returns those phrases, which may
// share a longer prefix.
func (b *builder) shared(phrases []uint32, n int, at map[string]uint64) (rest []uint32) {
	phrases = slices.DeleteFunc(phrases, func(p uint32) bool { return len(b.concepts.text(p)) < n })
	for len(phrases) > 0 {
		prefix, same := b.concepts.text(phrases[0])[:n], 1
		for same < len(phrases) && b.concepts.text(phrases[same])[:n] == prefix {
			same++
		}
		if same > maxCompared {
			at[prefix] = uint64(len(b.body[secBest]))
			b.addBest(phrases[:same])
			rest = append(rest, phrases[:same]...)
		}
		phrases = phrases[same:]
	}
	return rest
}

// addBest writes the best phrases of some concepts.
func (b *builder) addBest(concepts []uint32) {
	best := make([]phrase, 0, MaxCompletions+1)
	for _, concept := range concepts {
		p := phrase{b.concepts.text(concept), uint64(b.drawnBy[concept].packs)}
		if len(best) == MaxCompletions && better(best[MaxCompletions-1], p) < 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, p, better)
		best = slices.Insert(best, at, p)
		best = best[:min(len(best), MaxCompletions)]
	}
	to := append(b.body[secBest], byte(len(best)))
	for _, p := range best {
		to = append(append(to, byte(len(p.text))), p.text...)
	}
	b.body[secBest] = to
}

// Complete returns at most MaxCompletions queries that find something: first text itself if it is a
// name, then those that begin with text, then names with its words elsewhere, the last of which may
// be incomplete, in both cases the likeliest names first. If text names a pack with a colon, so do
// the completions, and only icons of that pack count. If text is the beginning of a name in code,
// some completions are such names: the first ones, if it can't be words.
func (x *Index) Complete(text string) []string {
	text = icon.CanonicalQuery(text)
	inCode, certain := x.completeCode(text)
	if certain {
		return inCode
	}
	found := x.completeWords(text)
	return append(found[:min(len(found), MaxCompletions-len(inCode))], inCode...)
}

// completeWords returns the completions of a text as words.
func (x *Index) completeWords(text string) []string {
	scope, within := "", x.shown
	if pack, rest, ok := x.colon(text); ok {
		scope, text = x.packs[pack].Key+":", rest
		within = x.docsOf(pack)
		if x.shown != nil {
			within.And(x.shown)
		}
	}
	typed := typedWords(text)
	if typed == "" {
		return nil
	}
	var found []string
	whole := strings.Join(folded(split(text)), " ")
	for _, p := range x.begunBy(typed, whole) {
		if len(found) == MaxCompletions {
			break
		}
		if scope == "" && x.shown == nil || x.finds(scope+p) {
			found = append(found, scope+p)
		}
	}
	if len(found) < MaxCompletions {
		for _, p := range x.inside(reading{terms: split(text), within: within}) {
			if whole != typed && strings.HasPrefix(p, whole) { // it is there as it is typed
				continue
			}
			if p = scope + p; len(found) < MaxCompletions && !slices.Contains(found, p) {
				found = append(found, p)
			}
		}
	}
	return found
}

// begunBy returns phrases that begin with the typed words: the phrase that these are, if they are
// complete, and the best ones. If the last word is a plural, whole has it in the singular, as in
// names; the phrases keep it as it is typed.
func (x *Index) begunBy(typed, whole string) (texts []string) {
	if _, is, err := x.phrases.Get([]byte(whole)); is && err == nil {
		texts = append(texts, typed)
	}
	if whole != typed {
		for _, p := range x.completions(whole + " ") {
			texts = append(texts, typed+p[len(whole):])
		}
	}
	for _, p := range x.completions(typed) {
		if p != typed || len(texts) == 0 {
			texts = append(texts, p)
		}
	}
	return texts
}

// maxInside is the largest number of docs whose names are considered as completions.
const maxInside = 200

// inside returns the names without their styles that have the words of a reading in any place.
func (x *Index) inside(r reading) (texts []string) {
	_, begun := x.lookups().match(r, false)
	if begun == nil {
		return nil
	}
	var found []phrase
	seen := map[uint32]bool{}
	it := begun.Iterator()
	for n := 0; it.HasNext() && n < maxInside; n++ {
		doc := it.Next()
		if concept := x.field(doc, docConcept); !seen[concept] {
			seen[concept] = true
			found = append(found, phrase{x.concept(doc), uint64(max(1, x.body[secDocs][int(doc)*docSize+docPopular]))})
		}
	}
	slices.SortFunc(found, better)
	for _, p := range found[:min(len(found), 2*MaxCompletions)] {
		if len(p.text) <= maxPhrase {
			texts = append(texts, p.text)
		}
	}
	return texts
}

// concept returns the folded words of a doc's name without those of its style.
func (x *Index) concept(doc uint32) string {
	name, _ := x.names(doc)
	words, lead := nameWords(nil, string(name)), int(x.flags(doc)&leadMask)
	return strings.Join(words[min(lead, len(words)):min(len(words), lead+int(x.cost(doc)>>4))], " ")
}

// typedWords returns the words of a text as they occur in names, except the last one, which stays
// as typed because it may be incomplete.
func typedWords(text string) string {
	var words []string
	terms := split(text)
	for i, t := range terms {
		if i == len(terms)-1 {
			words = append(words, t.typed)
		} else {
			words = append(words, t.folded)
		}
	}
	return strings.Join(words, " ")
}

// completions returns the best phrases that begin with typed.
func (x *Index) completions(typed string) (texts []string) {
	if at, ok, err := x.begunPhrases.Get([]byte(typed)); err == nil && ok {
		list := x.body[secBest][at:]
		n := int(list[0])
		for list = list[1:]; n > 0; n-- {
			texts = append(texts, string(list[1:][:list[0]]))
			list = list[1+int(list[0]):]
		}
		return texts
	}
	var found []phrase
	it, err := x.phrases.Iterator([]byte(typed), after(typed))
	for ; err == nil && len(found) <= maxCompared; err = it.Next() {
		text, packs := it.Current()
		found = append(found, phrase{string(text), packs})
	}
	slices.SortFunc(found, better)
	for _, p := range found[:min(len(found), MaxCompletions)] {
		texts = append(texts, p.text)
	}
	return texts
}
