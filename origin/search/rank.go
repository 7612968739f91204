package search

import (
	"bytes"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
)

// maxRanked is the largest number of matching docs that are ranked, those with the fewest other
// words in their names; the rest are only counted. It is several times the largest page offset
// (1,000), because docs with the same SVG become one hit.
const maxRanked = 4096

// Tiers, the best first. The guessed ones are for readings that the user may not have meant.
const (
	tierCode        = iota // the query is the name in code
	tierName               // the name is the query
	tierGuessedName        // such as that of an icon of a pack that the query names
	tierGuessedCode        // the query may be the name in code
	tierConcept            // the name without its style is the query
	tierGuessedConcept
	// tierCompleted is for a few names that begin with the query, and are much likelier than all
	// that have its last word.
	tierCompleted
	tierTyped // the last word is a letter or two, and the name begins with the query
	tierWords // the name has all words
	tierGuessedWords
	tierMeant  // semantic matches of words that no name has whole, such as those of other languages
	tierBegins // the last word is incomplete, and the name begins with the query
	tierGuessedBegins
	tierBegun // the last word, or otherwise each, may be a prefix of one in the name
	tierGuessedBegun
	tierTypoName // with a typo in a word
	tierTypoWords
	tierSemantic // semantic matches: the most likely
	// tierVariants is for further styles of a name in one pack, moved down from the tiers above
	// tierTypoName.
	tierVariants
	tierLessSemantic  // semantic matches: the less likely
	tierKnownTypoName // with a typo in a word that is a known word
	tierKnownTypoWords
	tiers
)

// A rank is the sort key of a hit, packed so that less is better: tier (5 bits), rotation (8),
// quality (16), rank of the pack (9) and doc (24), so that no two are equal. The quality has the
// number of other words (4 bits), of style words (4), the place of the query in the name (2), the
// letters beyond it or the rarity of the name (4), and whether the doc is an alias (1). For
// semantic matches, rotation and quality hold the weight.
type rank uint64

const (
	docBits      = 24
	packBits     = 9
	qualityBits  = 16
	rotationBits = 8
	rotationAt   = qualityBits + packBits + docBits
	tierAt       = rotationBits + rotationAt
)

func (r rank) doc() uint32 { return uint32(r & (1<<docBits - 1)) }
func (r rank) tier() int   { return int(r >> tierAt) }

// in returns the rank in another tier.
func (r rank) in(tier rank) rank { return tier<<tierAt | r&(1<<tierAt-1) }

// A scratch is memory that queries reuse.
type scratch struct {
	// seen has a bit for each group: its SVG has been counted. SVGs of a single doc that is in
	// many, the union of the large sets, have been counted too, without a bit. The docs few were
	// counted one by one.
	seen      []uint64
	many      roaring.Bitmap
	few       []uint32
	histogram [256]int
	ranks     []rank
	buf       [512]uint32
	words     []string
	// slots has, for each doc that is weighed, its place in touched and weights, from 1. The
	// weights lie together, because those of all docs would need megabytes.
	slots   []uint16
	touched []uint32
	weights []weight
	totals  []totalled // of the docs in touched
	docs    []uint32
	dense   []uint64
	found   []rank // by meanings
	// semantic has the ranks of semantic matches, in order. The others are in ranks.
	semantic []rank
	sorting  []rank
	merged   []rank
	names    tally
	styled   tally
	least    rank // unlikely, of the likeliest doc of the last gathered set
}

// gather adds the ranks of a set's docs, as far as there is room, and returns the number of its
// distinct SVGs that no earlier set had.
func (x *Index) gather(s *scratch, c set) (distinct int) {
	beyond, query, docs := c.beyond(), c.joined(), c.docs
	room := maxRanked - len(s.ranks)
	by := &s.histogram
	s.least = mostUnlikely
	if docs.GetCardinality() > maxRanked {
		if distinct = x.countMany(s, docs); room == 0 {
			return distinct
		}
		// No later set has room, so none needs s.least.
		docs, by = x.leastBeyond(s, c, &beyond, room)
	} else {
		distinct = x.look(s, c, &beyond, len(query))
	}
	limit := 0
	for limit < len(by) && by[limit] <= room {
		room -= by[limit]
		limit++
	}
	for docs := range s.batches(docs) {
		for _, doc := range docs {
			b := int(beyond[x.cost(doc)])
			if b > limit || b == limit && room == 0 {
				continue
			}
			if b == limit { // only the first of these docs fit
				room--
			}
			x.mark(s, doc)
			s.ranks = append(s.ranks, x.rank(s, c, doc, &beyond, query))
		}
	}
	return distinct
}

// look looks at all docs of a set, of which there are few: it counts their SVGs, fills s.histogram,
// and finds the likeliest doc for a query of some letters.
func (x *Index) look(s *scratch, c set, beyond *[256]byte, letters int) (distinct int) {
	clear(s.histogram[:])
	for docs := range s.batches(c.docs) {
		for _, doc := range docs {
			b := beyond[x.cost(doc)]
			s.histogram[b]++
			if !c.begun {
				s.least = min(s.least, x.unlikely(doc, b, letters))
			}
			if x.first(s, doc) {
				distinct++
			}
		}
	}
	return distinct
}

// forget forgets the docs of a query.
func (s *scratch) forget() {
	clear(s.seen)
	s.many.Clear()
	s.few = s.few[:0]
}

// batches passes the docs of a set, many at a time, in memory that it reuses.
func (s *scratch) batches(docs *roaring.Bitmap) iter.Seq[[]uint32] {
	return func(yield func([]uint32) bool) {
		it := docs.ManyIterator()
		for n := it.NextMany(s.buf[:]); n > 0 && yield(s.buf[:n]); n = it.NextMany(s.buf[:]) {
		}
	}
}

// beyond maps the cost of a doc to the words that it has beyond the query: other words times 16,
// plus style words that are not in the query.
func (c set) beyond() (to [256]byte) {
	styles := 0
	for i, t := range c.terms {
		if i > 0 && (alwaysStyle[t.folded] || oftenStyle[t.folded]) {
			styles++
		}
	}
	for cost := range to {
		words, style := cost>>4, cost&15
		asked := min(style, styles) // these words of the query are style words of the doc
		to[cost] = byte(max(0, words-(len(c.terms)-asked))<<4 | style - asked)
	}
	return to
}

// joined returns the query in the form of a name.
func (c set) joined() []byte {
	words := make([]string, len(c.terms))
	for i, t := range c.terms {
		words[i] = t.typed
	}
	return []byte(strings.Join(words, "-"))
}

// rank returns a doc's rank without its rotation.
func (x *Index) rank(s *scratch, c set, doc uint32, beyond *[256]byte, query []byte) rank {
	name, aliasOf := x.names(doc)
	cost := x.cost(doc)
	place, letters := 2, 0
	switch i := bytes.Index(name, query); {
	case i == 0:
		place = 0
	case i > 0 && name[i-1] == '-':
		place = 1
	}
	tier, unlikely := x.tier(s, c, doc, name, place == 0), rank(0)
	rare := 15 - min(15, int(x.body[secDocs][int(doc)*docSize+docKnown]))
	quality := rank(0)
	switch {
	case c.begun:
		unlikely = x.unlikely(doc, beyond[cost], len(name))
		if tier == tierBegins && unlikely+muchLikelier < c.rival {
			tier = tierCompleted
		}
		quality = rank(place)<<unlikelyBits | unlikely
		quality = quality<<4 | rank(rare)
	case c.typo > 0:
		b := beyond[cost]
		quality = rank(min(c.typo-1, 3))
		quality = quality<<2 | rank(place)
		quality = quality<<4 | rank(b>>4)
		quality = quality<<3 | rank(min(b&15, 7))
		quality = quality<<4 | rank(rare)
	default:
		if tier == tierConcept || tier == tierGuessedConcept {
			place = 0 // "outline-home" and "home-outline" are equally good
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

// shortWord is the length of a last word that is more likely incomplete than a whole word of a
// name.
const shortWord = 2

const (
	unlikelyBits  = 9
	mostUnlikely  = 1<<unlikelyBits - 1
	unlikelyUnits = 16 // in a halving of the likelihood
	// A much likelier name is so much likelier: three and a half halvings, or eleven times.
	muchLikelier = 56
	// maxCompleted is the largest number of names in tierCompleted.
	maxCompleted = 3
)

// unlikely returns how unlikely it is that the user means a doc with a name of some letters, of all
// whose names the query may begin: people rather pick what many packs draw, under a name that many
// use, and under a short one. Each word that the query lacks, and each style word, halves the
// likelihood; so do four times as many letters, and a quarter of the packs or of the docs of that
// name. It is a logarithm.
func (x *Index) unlikely(doc uint32, beyond byte, letters int) rank {
	rec := x.body[secDocs][int(doc)*docSize:]
	words := unlikelyUnits * (int(beyond>>4) + int(beyond&15))
	popular := int(logs[rec[docPopular]]) + unlikelyUnits/2*(int(rec[docKnown])-1)
	return rank(max(0, min(words+int(logs[min(letters, len(logs)-1)])+8*unlikelyUnits-popular, mostUnlikely)))
}

// logs has half of the binary logarithm of one more than each number, in unlikelyUnits.
var logs = func() (list [256]uint8) {
	for i := range list {
		list[i] = uint8(math.Round(unlikelyUnits / 2 * math.Log2(float64(i+1))))
	}
	return list
}()

// tier returns the tier of a doc. It compares the name with the query only if their numbers of
// words allow them to be the same. begins means that the name begins with the query.
func (x *Index) tier(s *scratch, c set, doc uint32, name []byte, begins bool) int {
	cost, k := int(x.cost(doc)), len(c.terms)
	tier := tierWords
	switch all := cost>>4 + cost&15; {
	case c.begun && begins && !c.guessed && k > 1 && len(c.terms[k-1].typed) <= shortWord:
		tier = tierTyped
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
	if c.typo > 0 {
		if tier <= tierConcept {
			tier = tierTypoName
		} else {
			tier = tierTypoWords
		}
		if c.ofKnown {
			tier += tierKnownTypoName - tierTypoName
		}
		return tier
	}
	if c.guessed {
		tier++ // the guessed tier is the next one
	}
	return tier
}

func same(words []string, terms []term) bool {
	return slices.EqualFunc(words, terms, func(w string, t term) bool { return w == t.folded })
}

const (
	// maxStyled is the number of docs of a pack that differ only in style and stay in their tier.
	maxStyled = 2
	// packPlaces is the number of docs of one pack that share a rotation if a word is a prefix.
	// Docs of one name never do.
	packPlaces = 4
)

// order returns all ranks, sorted so that packs rotate, and names do too if the query is ambiguous.
// In a search of one pack, its styles are not moved down, because they are what the user looks for.
func (x *Index) order(s *scratch, scoped bool) []rank {
	ranks := s.ranks
	s.sort(ranks)
	shown := make([]int, len(x.packs))
	names, styled := &s.names, &s.styled
	names.reset(len(ranks))
	styled.reset(len(ranks))
	completed := 0
	for i, r := range ranks {
		tier, pack := r.tier(), x.packOf(r.doc())
		rotation := shown[pack]
		switch {
		case tier == tierCode, tier == tierGuessedCode: // they have an order of their own
			continue
		case tier == tierCompleted:
			again := names.next(uint64(tierBegins)<<32 | uint64(x.field(r.doc(), docName)))
			if again > 0 || completed == maxCompleted {
				r = r.in(tierBegins)
				rotation = max(shown[pack]/packPlaces, again)
			} else {
				completed++
				rotation = 0
			}
		// A prefix is ambiguous: another name is worth more than the same one again.
		case tier >= tierBegins || tier == tierTyped:
			name := uint64(tier)<<32 | uint64(x.field(r.doc(), docName))
			rotation = max(shown[pack]/packPlaces, names.next(name))
		case tier > tierGuessedCode && !scoped:
			drawn := uint64(pack)<<32 | uint64(x.field(r.doc(), docConcept))
			if styled.next(drawn) >= maxStyled {
				r = r.in(tierVariants)
			}
		}
		shown[pack]++
		ranks[i] = r | rank(min(rotation, 1<<rotationBits-1))<<rotationAt
	}
	s.sortUpper(ranks, rotationAt) // the lower bits are in order
	s.merged = merge(s.merged[:0], ranks, s.semantic)
	return s.merged
}

// merge appends two sorted lists as one.
func merge(to, a, b []rank) []rank {
	for len(a) > 0 && len(b) > 0 {
		if a[0] < b[0] {
			to, a = append(to, a[0]), a[1:]
		} else {
			to, b = append(to, b[0]), b[1:]
		}
	}
	return append(append(to, a...), b...)
}
