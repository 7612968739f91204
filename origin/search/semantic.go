package search

import (
	"math"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
)

const (
	// maxWeighed bounds the docs that are weighed for the meanings of a query, counted once for
	// each meaning.
	maxWeighed = 30_000
	// maxSemantic bounds the docs that are found by meanings.
	maxSemantic = 1000
	// steps is the number of classes of weights for choosing the largest.
	steps = 512
	// likely is the number of those docs that rank above variants in style.
	likely = 20
)

// Factors of a doc's weight.
const (
	emptyCover    = .4  // no word of its name is met; 1 if all are
	styleOff      = .04 // deducted for each style word
	aliasWeight   = .9
	againWeight   = .85 // for each better doc of the same name without style
	againInPack   = .5  // and again if that is in the same pack
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
	miss float32 // log of the probability that all meanings so far of the last unit mislead
	sum  float32 // total of the earlier units
	unit uint8   // the last unit that matched it, from 1
	met  uint8   // number of words of its name that were matched
}

// wholeName is the value of weight.met after a match of a whole name.
const wholeName = 16

// gatherSemantic adds the docs that match the meanings of a query's words, the most likely first,
// and counts their distinct SVGs.
func (x *Index) gatherSemantic(s *scratch, r reading) (distinct int) {
	m := meaning{x: x, s: s, within: r.within, left: maxWeighed}
	if len(s.weights) < x.docs {
		s.weights = make([]weight, x.docs)
	}
	s.touched = s.touched[:0]
	m.units = x.units(folded(r.terms))
	for i, u := range m.units {
		m.weigh(uint8(i+1), u)
	}
	for i, r := range x.vary(m.best(), s.ranks) {
		tier := rank(tierSemantic)
		if i >= likely {
			tier = tierLessSemantic
		}
		if x.first(s, r.doc()) {
			distinct++
		}
		s.ranks = append(s.ranks, tier<<tierAt|r)
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
	within *roaring.Bitmap
	units  []unit
	left   int // number of docs that may still be weighed
}

// weigh adds the meanings of a unit to the weights of docs.
func (m *meaning) weigh(n uint8, u unit) {
	if docs := m.x.docsWith(u.text); u.literal && docs != nil {
		m.add(n, target{weight: literalWeight, words: 1, docs: docs})
	}
	for _, t := range m.x.targets(u.text) {
		m.add(n, t)
	}
}

// add combines a target with the previous ones as independent evidence: a doc does not match only
// if all of them mislead.
func (m *meaning) add(n uint8, t target) {
	docs := t.docs
	if m.within != nil {
		docs = roaring.And(docs, m.within)
	}
	count := int(docs.GetCardinality())
	if count > m.left {
		return
	}
	m.left -= count
	miss := float32(math.Log1p(-float64(min(t.weight, .98))))
	m.x.each(m.s, docs, func(doc uint32) {
		w := &m.s.weights[doc]
		if w.unit == 0 {
			m.s.touched = append(m.s.touched, doc)
		}
		if w.unit != n {
			w.sum, w.miss, w.unit = m.total(*w), 0, n
		}
		w.miss += miss
		if t.whole {
			w.met = wholeName
		}
		w.met = min(wholeName, w.met+uint8(t.words))
	})
}

// total returns a weight over all units so far.
func (m *meaning) total(w weight) float32 {
	if w.unit == 0 {
		return 0
	}
	return w.sum + m.units[w.unit-1].share*(1-float32(math.Exp(float64(w.miss))))
}

// best returns the docs with the largest weights and resets all weights. fit only reduces a weight,
// so best need not compute it for docs with a small weight.
func (m *meaning) best() (list []rank) {
	var histogram [steps + 1]int
	totals := m.s.totals[:0]
	for _, doc := range m.s.touched {
		total := min(1, m.total(m.s.weights[doc]))
		histogram[int(total*steps)]++
		totals = append(totals, total)
	}
	m.s.totals = totals
	least, n := steps, histogram[steps]
	for least > 0 && n < maxSemantic {
		least--
		n += histogram[least]
	}
	for i, doc := range m.s.touched {
		w := &m.s.weights[doc]
		if total := float64(totals[i]); int(totals[i]*steps) >= least && total >= leastWeight {
			list = append(list, weighed(total*m.x.fit(doc, w.met), doc))
		}
		*w = weight{}
	}
	slices.Sort(list)
	return list[:min(len(list), maxSemantic)]
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

// weightBits is the number of bits of a rank between the tier and the doc.
// All of a rank between the tier and the doc.
const weightBits = rotationBits + qualityBits + packBits

// weighed returns the rank, without its tier, of a doc with a weight of 0 to 1.
func weighed(weight float64, doc uint32) rank {
	const most = 1<<weightBits - 1
	return rank(most-uint64(min(weight, 1)*most))<<docBits | rank(doc)
}

func (r rank) weight() float64 {
	const most = 1<<weightBits - 1
	return float64(most-uint64(r>>docBits)&most) / most
}

// vary rotates names and packs: each better doc of the same name or pack reduces the weight of a
// doc.
func (x *Index) vary(list, shown []rank) []rank {
	type named struct {
		concept uint32
		pack    int
	}
	names, inPack := map[uint32]int{}, map[named]int{}
	for i, r := range list {
		concept := x.field(r.doc(), docConcept)
		here := named{concept, x.packOf(r.doc())}
		w := r.weight() * math.Pow(againWeight, float64(names[concept])) * math.Pow(againInPack, float64(inPack[here]))
		names[concept]++
		inPack[here]++
		list[i] = weighed(w, r.doc())
	}
	slices.Sort(list)
	packs := make([]int, len(x.packs))
	for _, r := range shown {
		p := x.packOf(r.doc())
		packs[p] = min(packs[p]+1, 3)
	}
	for i, r := range list {
		p := x.packOf(r.doc())
		list[i] = weighed(r.weight()*math.Pow(packWeight, float64(packs[p])), r.doc())
		packs[p]++
	}
	slices.Sort(list)
	return list
}
