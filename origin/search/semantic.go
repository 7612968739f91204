package search

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
)

const (
	// maxWeighed bounds the docs that are weighed for the meanings of a query, counted once for
	// each meaning. It must fit a slot, which has 16 bits.
	maxWeighed = 4_000
	// maxSemantic bounds the docs that are found by meanings.
	maxSemantic = 600
	// maxScanned bounds the docs that are compared with the filters of a query.
	maxScanned = 200_000
	// steps is the number of classes of weights for choosing the largest.
	steps = 512
	// likely is the number of those docs that rank above variants in style.
	likely = 20
)

// Factors of a doc's weight.
const (
	emptyCover    = .3  // no word of its name is met; 1 if all are
	styleOff      = .04 // deducted for each style word
	aliasWeight   = .9
	againWeight   = .85 // for each better doc of the same name without style
	againInPack   = .3  // and again if that is in the same pack
	packWeight    = .85 // for each better doc of its pack
	phraseShare   = .6  // for each single word of a phrase
	literalWeight = .95 // for a word of several that the name has
	leastWeight   = .02
)

// A unit is a word of a query, or the whole phrase, with its share of the weight.
type unit struct {
	text    string
	share   float32
	literal bool // names that have the word itself count too
}

// A weight says how well a doc matches the meanings of a query.
type weight struct {
	miss float32 // probability that all meanings so far of the last unit mislead
	sum  float32 // total of the earlier units
	unit uint8   // the last unit that matched it, from 1
	met  uint8   // number of words of its name that were matched
}

// wholeName is the value of weight.met after a match of a whole name.
const wholeName = 16

// leastMeant is the weight of a meaning from which a word that no name has is considered complete:
// "hund" is then a dog, and not the beginning of "hundred".
const leastMeant = .4

// isMeant reports whether no name has a word of a reading, and its phrase or each of its words has
// a certain meaning.
func (x *Index) isMeant(r reading) bool {
	words := folded(r.terms)
	if slices.ContainsFunc(words, func(w string) bool { return x.docsWith(w) != nil }) {
		return false
	}
	return x.certainty(strings.Join(words, " ")) >= leastMeant ||
		!slices.ContainsFunc(words, func(w string) bool { return x.certainty(w) < leastMeant })
}

// certainty returns the weight of the most certain meaning of a word or phrase; 0 if it has none.
func (x *Index) certainty(word string) (weight float32) {
	at, ok, err := x.meanings.Get([]byte(word))
	if err != nil || !ok {
		return 0
	}
	_, size := binary.Uvarint(x.body[secTargets][at:])
	return float32(x.body[secTargets][int(at)+size]) / 255
}

// gatherSemantic finds the docs that match the meanings of a query's words, the most likely first,
// and counts their distinct SVGs. The most likely ones get the tier likeliest.
func (x *Index) gatherSemantic(s *scratch, r reading, likeliest rank) (distinct int) {
	m := meaning{x: x, s: s, left: maxWeighed, scan: maxScanned}
	var whole bool
	if m.only, whole = spanOf(r.within); !whole {
		m.within = s.bits(r.within, x.docs)
	}
	if len(s.slots) < x.docs {
		s.slots = make([]uint16, x.docs)
	}
	s.touched, s.weights = s.touched[:0], s.weights[:0]
	m.units = x.units(folded(r.terms))
	for i, u := range m.units {
		m.weigh(uint8(i+1), u)
	}
	s.semantic = x.vary(s, m.best(), s.ranks)
	for i, r := range s.semantic {
		tier := likeliest
		if i >= likely {
			tier = tierLessSemantic
		}
		if x.first(s, r.doc()) {
			distinct++
		}
		s.semantic[i] = tier<<tierAt | r
	}
	return distinct
}

// units returns the phrase, if it has meanings, and the words, of which rare ones have a larger
// share.
func (x *Index) units(words []string) (units []unit) {
	phrase := strings.Join(words, " ")
	if len(words) == 1 || x.hasMeaning(phrase) {
		units = append(units, unit{phrase, 1, false})
	}
	if len(words) == 1 {
		return units
	}
	total := float32(0)
	for _, w := range words {
		total += x.rarity(w)
	}
	for _, w := range words {
		units = append(units, unit{w, phraseShare * x.rarity(w) / total, true})
	}
	return units
}

// rarity returns the information in a word: the log of the inverse of its frequency.
func (x *Index) rarity(word string) float32 {
	n := 20.0
	if docs := x.docsWith(word); docs != nil {
		n += float64(docs.GetCardinality())
	}
	return float32(math.Log(float64(x.docs+40) / n))
}

// A meaning is the state of finding the docs that match the meanings of a query.
type meaning struct {
	x      *Index
	s      *scratch
	within []uint64 // bit n: doc n may be found; nil if the docs of only may
	only   span     // the first doc that may be found, and one past the last
	units  []unit
	left   int // number of docs that may still be weighed
	scan   int // number of docs that may still be compared with within
}

// A span is the docs from one up to, but without, another. The zero span stands for no limit.
type span struct{ from, to uint32 }

// spanOf returns the span that a set is. ok is false if the set has gaps; the span then has its
// first and last docs.
func spanOf(docs *roaring.Bitmap) (s span, ok bool) {
	if docs == nil {
		return span{0, math.MaxUint32}, true
	}
	if docs.IsEmpty() {
		return span{}, true
	}
	s = span{docs.Minimum(), docs.Maximum() + 1}
	return s, docs.GetCardinality() == uint64(s.to-s.from)
}

// weigh adds the meanings of a unit to the weights of docs.
func (m *meaning) weigh(n uint8, u unit) {
	if u.literal {
		if offset, ok, err := m.x.words.Get([]byte(u.text)); err == nil && ok {
			m.add(n, target{weight: literalWeight, words: 1, offset: offset})
		}
	}
	m.x.targets(u.text, func(t target) { m.add(n, t) })
}

// add combines a target with the previous ones as independent evidence: a doc does not match only
// if all of them mislead.
func (m *meaning) add(n uint8, t target) {
	docs := m.docs(t)
	if len(docs) > m.left {
		return
	}
	m.left -= len(docs)
	miss := 1 - min(t.weight, .98)
	words := uint8(min(t.words, wholeName))
	if t.whole {
		words = wholeName
	}
	s := m.s
	for _, doc := range docs {
		if s.slots[doc] == 0 {
			s.touched, s.weights = append(s.touched, doc), append(s.weights, weight{})
			s.slots[doc] = uint16(len(s.touched)) // maxWeighed is less than 1<<16
		}
		w := &s.weights[s.slots[doc]-1]
		if w.unit != n {
			w.sum, w.miss, w.unit = m.total(*w), 1, n
		}
		w.miss *= miss
		w.met = min(wholeName, w.met+words)
	}
}

// docs returns the docs of a target that may be found, at most m.left+1 of them. The list is valid
// until the next call.
func (m *meaning) docs(t target) []uint32 {
	s, most := m.s, m.left+1
	if m.within != nil {
		most = m.scan
	}
	if t.more != nil {
		s.docs = appendDocs(s.docs[:0], t.more, m.only, most)
	} else {
		s.docs = appendPosting(s.docs[:0], m.x.body[secPostings][t.offset:], m.only, most)
	}
	if m.within == nil {
		return s.docs
	}
	m.scan -= len(s.docs)
	found := s.docs[:0]
	for _, doc := range s.docs {
		if m.within[doc/64]&(1<<(doc%64)) != 0 {
			found = append(found, doc)
		}
	}
	return found[:min(len(found), m.left+1)]
}

// bits returns a set of docs as bits, valid until the next call.
func (s *scratch) bits(docs *roaring.Bitmap, n int) []uint64 {
	size := wholeContainers(n) // WriteDenseTo writes whole containers
	if len(s.dense) < size {
		s.dense = make([]uint64, size)
	}
	clear(s.dense)
	docs.WriteDenseTo(s.dense)
	return s.dense
}

// wholeContainers returns the number of words of 64 bits in as many containers of roaring as n docs
// need.
func wholeContainers(n int) int {
	const container = 1 << 16
	return (n/container + 1) * container / 64
}

// total returns a weight over all units so far.
func (m *meaning) total(w weight) float32 {
	if w.unit == 0 {
		return 0
	}
	return w.sum + m.units[w.unit-1].share*(1-w.miss)
}

// best returns the docs with the largest weights and resets all weights. fit only reduces a weight,
// so best need not compute it for docs with a small weight.
func (m *meaning) best() (list []rank) {
	var histogram [steps + 1]int
	all := m.s.totals[:0]
	for i, doc := range m.s.touched {
		w := m.s.weights[i]
		t := totalled{min(1, m.total(w)), w.met}
		m.s.slots[doc] = 0
		histogram[int(t.weight*steps)]++
		all = append(all, t)
	}
	m.s.totals = all
	least, n := steps, histogram[steps]
	for least > 0 && n < maxSemantic {
		least--
		n += histogram[least]
	}
	list = m.s.found[:0]
	for i, doc := range m.s.touched {
		if t := all[i]; int(t.weight*steps) >= least && t.weight >= leastWeight {
			list = append(list, m.x.weighed(float64(t.weight)*m.x.fit(doc, t.met), doc))
		}
	}
	m.s.found = list
	m.s.sort(list)
	return list[:min(len(list), maxSemantic)]
}

// totalled is the weight of a doc over all units, and weight.met.
type totalled struct {
	weight float32
	met    uint8
}

// fit returns how well a doc's name fits the meaning: words of the name that no unit matched say
// something else.
func (x *Index) fit(doc uint32, met uint8) float64 {
	words, style := x.cost(doc)>>4, x.cost(doc)&15
	fit := emptyCover + (1-emptyCover)*min(1, float64(met)/float64(max(1, words)))
	if x.flags(doc)&flagAlias != 0 {
		fit *= aliasWeight
	}
	return fit * (1 - styleOff*float64(style))
}

// weightBits is the number of bits of a rank between the tier and the rank of the pack.
const weightBits = rotationBits + qualityBits

// weighed returns the rank, without its tier, of a doc with a weight of 0 to 1. Of docs with the
// same weight, those of common packs come first.
func (x *Index) weighed(weight float64, doc uint32) rank {
	const most = 1<<weightBits - 1
	pack := min(x.packs[x.packOf(doc)].Rank, 1<<packBits-1)
	return rank(most-uint64(min(weight, 1)*most))<<(packBits+docBits) | rank(pack)<<docBits | rank(doc)
}

func (r rank) weight() float64 {
	const most = 1<<weightBits - 1
	return float64(most-uint64(r>>(packBits+docBits))&most) / most
}

// powers returns the powers of a factor, from the zeroth.
func powers(factor float64) (list [maxSemantic + 8]float64) {
	for i := range list {
		list[i] = math.Pow(factor, float64(i))
	}
	return list
}

var againWeights, againInPacks, packWeights = powers(againWeight), powers(againInPack), powers(packWeight)

// vary rotates names and packs: each better doc of the same name or pack reduces the weight of a
// doc.
func (x *Index) vary(s *scratch, list, shown []rank) []rank {
	names, inPack := &s.names, &s.styled
	names.reset(len(list))
	inPack.reset(len(list))
	for i, r := range list {
		concept, pack := uint64(x.field(r.doc(), docConcept)), uint64(x.packOf(r.doc()))
		w := r.weight() * againWeights[names.next(concept)] * againInPacks[inPack.next(pack<<32|concept)]
		list[i] = x.weighed(w, r.doc())
	}
	s.sort(list)
	packs := make([]int, len(x.packs))
	for _, r := range shown {
		p := x.packOf(r.doc())
		packs[p] = min(packs[p]+1, 3)
	}
	for i, r := range list {
		p := x.packOf(r.doc())
		list[i] = x.weighed(r.weight()*packWeights[packs[p]], r.doc())
		packs[p]++
	}
	s.sort(list)
	return list
}
