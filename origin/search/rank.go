package search

import (
	"bytes"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
)

// maxRanked is how many of the docs that match are put in order, those with the fewest other words in their names; the rest
// are counted alone. It is several times what can be paged through (offset at most 1,000), for drawings that fold into one.
const maxRanked = 8192

// Tiers, the best first. A guessed one is of a reading that may not be what was meant.
const (
	tierName    = iota // the name is the query
	tierConcept        // it is, but for a style
	tierGuessedName
	tierGuessedConcept
	tierWords // the name has all words
	tierGuessedWords
	tierBegins // the last word is only begun, and the name begins with all that was typed
	tierGuessedBegins
	tierBegun // the last word, or if need be each, only begins one of the name
	tierGuessedBegun
)

// A rank is what hits are sorted by, packed so that less is better: tier (4 bits), other words (4), styles (4), where the query
// stands in the name (2), letters beyond it (4), whether it is an alias (1), the how-manieth of its pack with the same 19
// bits (12), the rank of the pack (9), and the doc (24), so that no two are equal.
type rank uint64

const (
	docBits  = 24
	packBits = 9
	nthBits  = 12
	lastBits = nthBits + packBits + docBits // all below the first 19
)

func (r rank) doc() uint32 { return uint32(r & (1<<docBits - 1)) }

// A scratch is memory that queries use again.
type scratch struct {
	seen  []uint64 // bit n: group n has been counted
	ranks []rank
	buf   [512]uint32
	words []string
}

// set of docs that are ranked alike.
type set struct {
	docs    *roaring.Bitmap
	terms   []term
	guessed bool
	begun   bool
}

// gather counts the drawings of a set that no set before it had, and adds the ranks of its docs, as far as there is room.
func (x *Index) gather(s *scratch, c set) (drawings int) {
	beyond := c.beyond()
	var histogram [256]int
	x.each(s, c.docs, func(doc uint32) {
		histogram[beyond[x.cost(doc)]]++
		group := x.field(doc, docGroup)
		if bit := uint64(1) << (group % 64); s.seen[group/64]&bit == 0 {
			s.seen[group/64] |= bit
			drawings++
		}
	})
	room, limit := maxRanked-len(s.ranks), 0
	for limit < len(histogram) && histogram[limit] <= room {
		room -= histogram[limit]
		limit++
	}
	query := c.joined()
	x.each(s, c.docs, func(doc uint32) {
		switch b := int(beyond[x.cost(doc)]); {
		case b > limit:
			return
		case b == limit: // this many do not fit: the first of them do
			if room == 0 {
				return
			}
			room--
		}
		s.ranks = append(s.ranks, x.rank(s, c, doc, beyond, query))
	})
	return drawings
}

func (x *Index) each(s *scratch, docs *roaring.Bitmap, visit func(doc uint32)) {
	it := docs.ManyIterator()
	for n := it.NextMany(s.buf[:]); n > 0; n = it.NextMany(s.buf[:]) {
		for _, doc := range s.buf[:n] {
			visit(doc)
		}
	}
}

// beyond maps the cost of a doc to what it has beyond the query: other words times 16, and styles that were not asked for.
func (c set) beyond() (to [256]byte) {
	styles := 0
	for i, t := range c.terms {
		if i > 0 && (alwaysStyle[t.folded] || oftenStyle[t.folded]) {
			styles++
		}
	}
	for cost := range to {
		words, style := cost>>4, cost&15
		asked := min(style, styles) // of the query's words these are accounted for by style
		to[cost] = byte(max(0, words-(len(c.terms)-asked))<<4 | style - asked)
	}
	return to
}

// joined is the query as a name would have it.
func (c set) joined() []byte {
	words := make([]string, len(c.terms))
	for i, t := range c.terms {
		words[i] = t.typed
	}
	return []byte(strings.Join(words, "-"))
}

// rank is all of a doc's rank but for the how-manieth of its pack it is.
func (x *Index) rank(s *scratch, c set, doc uint32, beyond [256]byte, query []byte) rank {
	name, aliasOf := x.names(doc)
	cost := x.cost(doc)
	place, letters := 2, 0
	switch i := bytes.Index(name, query); {
	case i == 0:
		place = 0
	case i > 0 && name[i-1] == '-':
		place = 1
	}
	tier := x.tier(s, c, doc, name, place == 0)
	switch {
	case tier == tierConcept, tier == tierGuessedConcept:
		place = 0 // "outline-home" and "home-outline" say the same
	case beyond[cost] == 0:
		letters = min(max(0, len(name)-len(query)), 15)
	}
	r := rank(tier)<<8 | rank(beyond[cost])
	r = r<<2 | rank(place)
	r = r<<4 | rank(letters)
	if r <<= 1; len(aliasOf) > 0 {
		r |= 1
	}
	return r<<lastBits | rank(doc)
}

// tier compares names with the query only where the number of words says that they may be the same. begins says that the
// name begins with the query.
func (x *Index) tier(s *scratch, c set, doc uint32, name []byte, begins bool) int {
	cost, k := int(x.cost(doc)), len(c.terms)
	tier := tierWords
	switch all := cost>>4 + cost&15; {
	case c.begun && begins:
		tier = tierBegins
	case c.begun:
		tier = tierBegun
	case all == k || cost>>4 == k:
		s.words = nameWords(s.words[:0], string(name))
		lead := int(x.flags(doc) & leadMask)
		if all == k && same(s.words, c.terms) {
			tier = tierName
		} else if cost>>4 == k && lead+k <= len(s.words) && same(s.words[lead:lead+k], c.terms) {
			tier = tierConcept
		}
	}
	if !c.guessed {
		return tier
	}
	if tier <= tierConcept {
		return tier - tierName + tierGuessedName
	}
	return tier + 1 // the guessed one stands below each
}

func same(words []string, terms []term) bool {
	return slices.EqualFunc(words, terms, func(w string, t term) bool { return w == t.folded })
}

// order sorts the ranks so that, among docs that nothing else tells apart, packs take turns.
func (x *Index) order(ranks []rank) {
	slices.Sort(ranks)
	var class rank
	pack, nth := -1, 0
	for i, r := range ranks {
		p := x.packOf(r.doc())
		if c := r >> lastBits; c != class || p != pack {
			class, pack, nth = c, p, 0
		}
		ranks[i] |= rank(min(nth, 1<<nthBits-1))<<(packBits+docBits) | rank(min(x.packs[p].Rank, 1<<packBits-1))<<docBits
		nth++
	}
	slices.Sort(ranks)
}
