package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/RoaringBitmap/roaring/v2"
)

// A reading is one way to understand a query: words, and the packs in which to find them.
type reading struct {
	terms   []term
	within  *roaring.Bitmap // docs of the packs; nil for all
	guessed bool            // the user may have meant the words as typed
	scoped  bool            // restricted to one pack that the query names explicitly
	late    bool            // counts where no name has the words of the other readings
}

// guess returns a less likely reading than r of the same query.
func (r reading) guess(terms []term, within *roaring.Bitmap) reading {
	return reading{terms: terms, within: within, guessed: true, scoped: r.scoped}
}

// readings lists the ways to understand a query among the allowed docs (nil: all), the plainest
// first. It returns none if nothing can be found.
func (x *Index) readings(q Query, allowed *roaring.Bitmap) []reading {
	pack, text, scoped := x.colon(q.Text)
	if q.Pack != "" {
		asked := x.pack(q.Pack)
		if asked < 0 || scoped && pack != asked {
			return nil
		}
		pack, scoped = asked, true
	}
	terms := x.splitCharacters(x.splitDigits(split(text)))
	plain := reading{terms: terms, within: allowed, scoped: scoped}
	if scoped {
		plain.within = x.docsOf(pack)
		if allowed != nil {
			plain.within.And(allowed)
		}
	}
	if len(terms) == 0 {
		if q.Pack == "" && scoped { // "mdi:" is the whole pack
			return []reading{plain}
		}
		return nil
	}
	guesses := []reading{plain}
	first, n := x.packNamed(terms, func(n int) []term { return terms[:n] })
	guesses = x.guess(guesses, first, terms[n:], plain)
	last, n := x.packNamed(terms, func(n int) []term { return terms[len(terms)-n:] })
	if n < len(terms) { // otherwise it is the same guess
		guesses = x.guess(guesses, last, terms[:len(terms)-n], plain)
	}
	guesses = x.joined(guesses, plain)
	return guesses[:min(len(guesses), maxReadings)]
}

// maxVaried is the largest number of words in a query that is varied, by joining neighbours or
// leaving out a word.
const maxVaried = 6

// maxReadings is the largest number of readings of a query. The more likely ones come first.
const maxReadings = 24

// minPart is the smallest number of letters in a part of a compound.
const minPart = 2

// joined adds the readings in which two neighbouring words are one known word: "GitHub" is split as
// camelCase, but names have github.
func (x *Index) joined(to []reading, plain reading) []reading {
	for i := 1; i < len(plain.terms) && len(plain.terms) <= maxVaried; i++ {
		typed := plain.terms[i-1].typed + plain.terms[i].typed
		if len(plain.terms[i].typed) == 1 {
			continue // more likely an incomplete word: "map s" is not maps
		}
		if one := (term{typed, fold(typed)}); x.docsWith(one.folded) != nil {
			to = append(to, plain.guess(slices.Concat(plain.terms[:i-1], []term{one}, plain.terms[i+1:]), plain.within))
		}
	}
	return x.splitWord(to, plain)
}

// splitWord adds the readings in which an unknown word is two known ones: "arrowleft".
func (x *Index) splitWord(to []reading, plain reading) []reading {
	for i, t := range plain.terms {
		if len(plain.terms) > maxVaried || len(t.typed) > maxTypoLen || x.docsWith(t.folded) != nil || x.begins(t.typed) {
			continue
		}
		for at := minPart; at <= len(t.typed)-minPart; at++ {
			first, last := t.typed[:at], t.typed[at:]
			if x.docsWith(fold(first)) == nil || x.docsWith(fold(last)) == nil {
				continue
			}
			two := []term{{first, fold(first)}, {last, fold(last)}}
			to = append(to, plain.guess(slices.Concat(plain.terms[:i], two, plain.terms[i+1:]), plain.within))
		}
	}
	return to
}

// splitDigits splits digits from the letters before them in unknown words: "index9", but not "mp3",
// nor "fa6", which is a word of packs' keys.
func (x *Index) splitDigits(terms []term) []term {
	for i := 0; i < len(terms) && len(terms) < maxWords; i++ {
		typed := terms[i].typed
		letters := strings.TrimRight(typed, "0123456789")
		if letters == "" || letters == typed || x.packWords[terms[i].folded] || x.docsWith(terms[i].folded) != nil || x.begins(typed) {
			continue
		}
		digits := typed[len(letters):]
		terms = slices.Replace(terms, i, i+1, term{letters, fold(letters)}, term{digits, fold(digits)})
	}
	return terms
}

// splitCharacters splits unknown words of scripts that put no spaces between words (Chinese,
// Japanese, Thai) into the longest known ones, from the left.
func (x *Index) splitCharacters(terms []term) []term {
	for i := 0; i < len(terms) && len(terms) < maxWords; i++ {
		typed := []rune(terms[i].typed)
		if len(typed) < 2 || !unicode.In(typed[0], unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) ||
			x.hasMeaning(terms[i].folded) || x.docsWith(terms[i].folded) != nil {
			continue
		}
		var parts []term
		for from := 0; from < len(typed) && len(parts) < maxWords; {
			to := min(len(typed), from+maxCharacters)
			for to > from && !x.hasMeaning(string(typed[from:to])) {
				to--
			}
			if to == from { // an unknown character, or a particle
				from++
				continue
			}
			parts = append(parts, term{string(typed[from:to]), string(typed[from:to])})
			from = to
		}
		if len(parts) == 0 {
			continue
		}
		parts = parts[:min(len(parts), maxWords-len(terms)+1)]
		terms = slices.Replace(terms, i, i+1, parts...)
		i += len(parts) - 1
	}
	return terms
}

// maxCharacters is the length of the longest word that splitCharacters looks for.
const maxCharacters = 8

// guess adds the reading in which the user means terms within packs.
func (x *Index) guess(to []reading, packs []int, terms []term, plain reading) []reading {
	if len(packs) == 0 {
		return to
	}
	within := x.docsOf(packs...)
	if plain.within != nil {
		var docs []uint32
		for _, p := range packs { // an intersection of runs takes ten times the memory
			from, to := x.span(p)
			docs = appendDocs(docs, plain.within, span{from, to}, math.MaxInt)
		}
		within = roaring.BitmapOf(docs...)
	}
	if within.IsEmpty() {
		return to
	}
	return append(to, plain.guess(terms, within))
}

// colon splits "pack:name" and "pack/name" if there is such a pack.
func (x *Index) colon(text string) (pack int, rest string, ok bool) {
	i := strings.IndexAny(text, ":/")
	if i < 0 {
		return 0, text, false
	}
	pack = x.pack(strings.ToLower(strings.TrimSpace(text[:i])))
	if pack < 0 {
		return 0, text, false
	}
	return pack, text[i+1:], true
}

// pack returns the index of a pack by its key, or less than 0.
func (x *Index) pack(key string) int {
	i, ok := slices.BinarySearchFunc(x.packs, key, func(p packRecord, key string) int { return strings.Compare(p.Key, key) })
	if !ok {
		return -1
	}
	return i
}

// maxPackWords is the largest number of words of a pack's key or name in a query.
const maxPackWords = 5

// packNamed finds the packs that the first or last words of a query name, by as many words as
// possible.
func (x *Index) packNamed(terms []term, some func(n int) []term) (packs []int, n int) {
	for n := min(len(terms), maxPackWords); n > 0; n-- {
		if packs := x.named[strings.Join(folded(some(n)), " ")]; packs != nil {
			return packs, n
		}
	}
	return nil, 0
}

func (x *Index) docsOf(packs ...int) *roaring.Bitmap {
	docs := roaring.New()
	for _, p := range packs {
		from, to := x.span(p)
		docs.AddRange(uint64(from), uint64(to))
	}
	return docs
}

// match finds the docs that have all words of a reading, and the docs that have all but the last
// and a word with the last as a prefix. With loose, every word may be a prefix in the second set.
// Either set may be nil, for none.
func (l *lookups) match(r reading, loose bool) (having, begun *roaring.Bitmap) {
	if len(r.terms) == 0 {
		return r.within, nil
	}
	words, starts := l.words[:0], l.starts[:0]
	for i, t := range r.terms {
		word := l.with(t.folded)
		start := word
		if loose || i == len(r.terms)-1 {
			start = l.starting(t)
		}
		if start.docs == nil { // then word.docs is nil too, as a subset
			return nil, nil
		}
		words, starts = append(words, word), append(starts, start)
	}
	l.words, l.starts = words, starts
	return intersection(words, r.within), intersection(starts, r.within)
}

// intersection returns the docs of all sets and of within, the smallest set first, because that
// makes all others small.
func intersection(sets []counted, within *roaring.Bitmap) *roaring.Bitmap {
	slices.SortStableFunc(sets, func(a, b counted) int { return cmp.Compare(a.count, b.count) })
	docs := sets[0].docs
	for _, s := range sets[1:] {
		if docs = both(docs, s.docs); docs == nil {
			return nil
		}
	}
	if within != nil {
		docs = both(docs, within)
	}
	return docs
}

// lookups remembers the docs of the words of one query, because its readings share most of them.
type lookups struct {
	x             *Index
	having        map[string]counted // by word
	begun         map[term]counted   // by incomplete word
	similar       map[string][]nearWord
	words, starts []counted // memory of match
}

// counted is docs and their number; nil for none.
type counted struct {
	docs  *roaring.Bitmap
	count uint64
}

func count(docs *roaring.Bitmap) counted {
	if docs == nil {
		return counted{}
	}
	return counted{docs, docs.GetCardinality()}
}

func (x *Index) lookups() *lookups {
	return &lookups{x: x, having: map[string]counted{}, begun: map[term]counted{}}
}

// with returns the docs with a word.
func (l *lookups) with(word string) counted {
	c, known := l.having[word]
	if !known {
		c = count(l.x.docsWith(word))
		l.having[word] = c
	}
	return c
}

// near returns the words of Index.near.
func (l *lookups) near(word string) []nearWord {
	list, known := l.similar[word]
	if !known {
		if l.similar == nil {
			l.similar = map[string][]nearWord{}
		}
		list = l.x.near(word)
		l.similar[word] = list
	}
	return list
}

// starting returns the docs with a word that the user may be typing.
func (l *lookups) starting(t term) counted {
	c, known := l.begun[t]
	if known {
		return c
	}
	begun := l.x.docsWithPrefix(t.typed)
	// If the word begins with the typed letters, begun has its docs.
	if word := l.with(t.folded); begun == nil || !strings.HasPrefix(t.folded, t.typed) {
		begun = either(word.docs, begun)
	}
	c = count(begun)
	l.begun[t] = c
	return c
}
