package search

import (
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
)

// A reading is one way to understand a query: words, and the packs to find them in.
type reading struct {
	terms   []term
	within  *roaring.Bitmap // docs of the packs; nil for all
	guessed bool            // the words as they were typed may have been meant
	scoped  bool            // to one pack, that was named without doubt
}

// readings lists the ways to understand a query among the docs that are allowed (nil: all), the plainest first. There is none
// where nothing can be found.
func (x *Index) readings(q Query, allowed *roaring.Bitmap) []reading {
	pack, text, scoped := x.colon(q.Text)
	if q.Pack != "" {
		asked := x.pack(q.Pack)
		if asked < 0 || scoped && pack != asked {
			return nil
		}
		pack, scoped = asked, true
	}
	terms := x.undigited(split(text))
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
	if n < len(terms) { // else it is the same guess again
		guesses = x.guess(guesses, last, terms[:len(terms)-n], plain)
	}
	guesses = x.joined(guesses, plain)
	return guesses[:min(len(guesses), maxReadings)]
}

// maxVaried is the most words of a query that is varied: neighbours taken as one word, a word left out for a suggestion.
const maxVaried = 6

// maxReadings is how many ways a query is understood at most: cut short, the likelier come first.
const maxReadings = 24

// minPart is the fewest letters of a part of a compound.
const minPart = 2

// joined adds the readings in which two neighbours are one known word: "GitHub" is split like camelCase, but names say github.
func (x *Index) joined(to []reading, plain reading) []reading {
	for i := 1; i < len(plain.terms) && len(plain.terms) <= maxVaried; i++ {
		typed := plain.terms[i-1].typed + plain.terms[i].typed
		if len(plain.terms[i].typed) == 1 {
			continue // more likely a word just begun: "map s" is not maps
		}
		if one := (term{typed, fold(typed)}); x.having(one.folded) != nil {
			to = append(to, reading{slices.Concat(plain.terms[:i-1], []term{one}, plain.terms[i+1:]), plain.within, true, plain.scoped})
		}
	}
	return x.parted(to, plain)
}

// parted adds the readings in which a word that is not known is two that are: "arrowleft".
func (x *Index) parted(to []reading, plain reading) []reading {
	for i, t := range plain.terms {
		if len(plain.terms) > maxVaried || len(t.typed) > maxMendedLen || x.having(t.folded) != nil || x.begun(t.typed) != nil {
			continue
		}
		for at := minPart; at <= len(t.typed)-minPart; at++ {
			first, last := t.typed[:at], t.typed[at:]
			if x.having(fold(first)) == nil || x.having(fold(last)) == nil {
				continue
			}
			two := []term{{first, fold(first)}, {last, fold(last)}}
			to = append(to, reading{slices.Concat(plain.terms[:i], two, plain.terms[i+1:]), plain.within, true, plain.scoped})
		}
	}
	return to
}

// undigited parts digits from the letters before them in words that are not known: "index9", but not "mp3".
func (x *Index) undigited(terms []term) []term {
	for i := 0; i < len(terms) && len(terms) < maxWords; i++ {
		typed := terms[i].typed
		letters := strings.TrimRight(typed, "0123456789")
		if letters == "" || letters == typed || x.having(terms[i].folded) != nil || x.begun(typed) != nil {
			continue
		}
		digits := typed[len(letters):]
		terms = slices.Replace(terms, i, i+1, term{letters, fold(letters)}, term{digits, fold(digits)})
	}
	return terms
}

// guess adds the reading that terms are meant within packs.
func (x *Index) guess(to []reading, packs []int, terms []term, plain reading) []reading {
	if len(packs) == 0 {
		return to
	}
	within := both(x.docsOf(packs...), plain.within)
	if plain.within == nil {
		within = x.docsOf(packs...)
	}
	if within == nil {
		return to
	}
	return append(to, reading{terms, within, true, plain.scoped})
}

// colon splits "pack:name" and "pack/name", where there is such a pack.
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

// pack is the index of a pack by its key, or less than 0.
func (x *Index) pack(key string) int {
	i, ok := slices.BinarySearchFunc(x.packs, key, func(p packRecord, key string) int { return strings.Compare(p.Key, key) })
	if !ok {
		return -1
	}
	return i
}

// maxPackWords is the most words of a pack's key or name that are looked for in a query.
const maxPackWords = 5

// packNamed finds the packs that the first or last words of a query name, by as many words as possible.
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

// match finds the docs that have all words of a reading, and those that have all but the last, and a word that begins with
// it. With loose, the second are those in which every word is had or begun. Either set may be nil, for none.
func (x *Index) match(r reading, loose bool) (having, begun *roaring.Bitmap) {
	if len(r.terms) == 0 {
		return r.within, nil
	}
	having, begun = r.within, r.within
	for i, t := range r.terms {
		word := x.having(t.folded)
		start := word
		if loose || i == len(r.terms)-1 {
			start = either(word, x.begun(t.typed))
		}
		if i == 0 && r.within == nil {
			having, begun = word, start
			continue
		}
		having, begun = both(having, word), both(begun, start)
		if begun == nil { // and so is having, which is part of it
			return nil, nil
		}
	}
	return having, begun
}
