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
	tierSlipName // as if a word were mistyped
	tierSlipWords
	tierMeant        // by what the words may mean: the likeliest
	tierVariants     // of the tiers above tierSlipName, where their pack shows the same in other styles
	tierLessMeant    // what is less likely meant
	tierLateSlipName // mistyped, but the words are known ones
	tierLateSlipWords
	tiers
)

// A rank is what hits are sorted by, packed so that less is better: tier (4 bits), turn (8), quality (16: other words 4, styles 4,
// where the query stands in the name 2, letters beyond it or how rare the name is 4, whether it is an alias 1), the rank
// of the pack (9), and the doc (24), so that no two are equal. Of tierMeant, turn and quality are how little it is meant.
type rank uint64

const (
	docBits     = 24
	packBits    = 9
	qualityBits = 16
	turnBits    = 8
	turnAt      = qualityBits + packBits + docBits
	tierAt      = turnBits + turnAt
)

func (r rank) doc() uint32 { return uint32(r & (1<<docBits - 1)) }
func (r rank) tier() int   { return int(r >> tierAt) }

// A scratch is memory that queries use again.
type scratch struct {
	seen    []uint64 // bit n: group n has been counted
	ranks   []rank
	buf     [512]uint32
	words   []string
	weights []weight
	touched []uint32
	totals  []float32 // of what is touched
}

// gather counts the drawings of a set that no set before it had, and adds the ranks of its docs, as far as there is room.
func (x *Index) gather(s *scratch, c set) (drawings int) {
	beyond := c.beyond()
	var histogram [256]int
	x.each(s, c.docs, func(doc uint32) {
		histogram[beyond[x.cost(doc)]]++
		if x.first(s, doc) {
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

// first reports whether the doc's drawing has not been counted yet, and counts it.
func (x *Index) first(s *scratch, doc uint32) bool {
	group := x.field(doc, docGroup)
	bit := uint64(1) << (group % 64)
	if s.seen[group/64]&bit != 0 {
		return false
	}
	s.seen[group/64] |= bit
	return true
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

// rank is all of a doc's rank but for its turn.
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
	rare := 15 - min(15, int(x.body[secDocs][int(doc)*docSize+docKnown]))
	quality := rank(0)
	switch {
	case c.begun || c.slip > 0:
		b := beyond[cost]
		if c.slip > 0 {
			quality = rank(min(c.slip-1, 3))
		}
		quality = quality<<2 | rank(place)
		quality = quality<<4 | rank(b>>4)
		quality = quality<<3 | rank(min(b&15, 7))
		quality = quality<<4 | rank(rare)
	default:
		if tier == tierConcept || tier == tierGuessedConcept {
			place = 0 // "outline-home" and "home-outline" say the same
		} else if beyond[cost] == 0 {
			letters = min(max(0, len(name)-len(query)), 15)
		}
		quality = rank(beyond[cost])<<2 | rank(place)
		quality = quality<<4 | rank(letters)
		quality <<= 1
		if len(aliasOf) > 0 {
			quality |= 1
		}
	}
	pack := min(x.packs[x.packOf(doc)].Rank, 1<<packBits-1)
	return rank(tier)<<tierAt | quality<<(packBits+docBits) | rank(pack)<<docBits | rank(doc)
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
	if c.slip > 0 {
		if tier <= tierConcept {
			tier = tierSlipName
		} else {
			tier = tierSlipWords
		}
		if c.late {
			tier += tierLateSlipName - tierSlipName
		}
		return tier
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

const (
	// maxStyled is how many docs of a pack that differ in style alone stand in the place that their names give them.
	maxStyled = 2
	// samePlaces is how many docs of one name, or of one pack, take a turn together where a word is only begun.
	samePlaces = 2
)

// order sorts the ranks so that packs take turns, and names where it is not sure what was meant. Scoped to one pack, its styles
// are what is looked for.
func (x *Index) order(ranks []rank, scoped bool) {
	slices.Sort(ranks)
	shown := make([]int, len(x.packs))
	names, styled := map[uint64]int{}, map[uint64]int{}
	for i, r := range ranks {
		tier, pack := r.tier(), x.packOf(r.doc())
		turn := shown[pack]
		switch {
		case tier == tierMeant || tier == tierLessMeant:
			continue
		case tier >= tierBegins: // what begins so is unsure: the same name again says less than another
			name := uint64(tier)<<32 | uint64(x.field(r.doc(), docName))
			turn = max(shown[pack], names[name]) / samePlaces
			names[name]++
		case tier > tierName && !scoped:
			drawn := uint64(pack)<<32 | uint64(x.field(r.doc(), docConcept))
			if styled[drawn]++; styled[drawn] > maxStyled {
				r = tierVariants<<tierAt | r&(1<<tierAt-1)
			}
		}
		shown[pack]++
		ranks[i] = r | rank(min(turn, 1<<turnBits-1))<<turnAt
	}
	slices.Sort(ranks)
}
