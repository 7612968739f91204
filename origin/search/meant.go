package search

import (
	"math"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
)

const (
	// maxWeighed is how many docs, counted as often as they are met, are weighed for what a query means.
	maxWeighed = 30_000
	// maxMeant is how many docs are found by what a query means.
	maxMeant = 1000
	// steps is how finely weights are told apart to choose the most.
	steps = 512
	// likely is how many of them stand above variants in style of what names have.
	likely = 20
)

// What a doc's weight is multiplied by.
const (
	bareCover     = .4  // nothing of its name is met; all of it: 1
	styleOff      = .04 // taken off for each word of style
	aliasWeight   = .9
	againWeight   = .85 // for each doc of the same name, less its style, that stands before it,
	againInPack   = .5  // and again if that is in its own pack
	packWeight    = .85 // for each doc of its pack that stands before it
	phraseShare   = .6  // for the words of a phrase, each for itself
	literalWeight = .95 // a word of several that the name has itself
	leastWeight   = .02
)

// A unit is a word of a query, or the whole phrase, and how much it counts.
type unit struct {
	text    string
	share   float32
	literal bool // names may have it themselves
}

// A weight is how much a doc is meant.
type weight struct {
	miss float32 // log of how likely it is that all that was met of the last unit misleads
	sum  float32 // of the units before
	unit uint8   // the last unit that met it, from 1
	met  uint8   // words of its name that were met
}

// wholeName is what weight.met is when a whole name was met.
const wholeName = 16

// gatherMeant adds the docs that a query may mean by its words, the likeliest first, and counts their drawings.
func (x *Index) gatherMeant(s *scratch, r reading) (drawings int) {
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
		tier := rank(tierMeant)
		if i >= likely {
			tier = tierLessMeant
		}
		if x.first(s, r.doc()) {
			drawings++
		}
		s.ranks = append(s.ranks, tier<<tierAt|r)
	}
	return drawings
}

// units are the phrase, where anything is known of it, and the words, the rare ones counting more.
func (x *Index) units(words []string) (units []unit) {
	phrase := strings.Join(words, " ")
	if len(words) == 1 || x.means(phrase) {
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

// rarity is how much a word tells: the log of how few docs have it.
func (x *Index) rarity(word string) float32 {
	n := 20.0
	if docs := x.having(word); docs != nil {
		n += float64(docs.GetCardinality())
	}
	return float32(math.Log(float64(x.docs+40) / n))
}

// A meaning is being found.
type meaning struct {
	x      *Index
	s      *scratch
	within *roaring.Bitmap
	units  []unit
	left   int // docs that may still be weighed
}

// weigh adds what a unit may mean to the weights of docs.
func (m *meaning) weigh(n uint8, u unit) {
	if docs := m.x.having(u.text); u.literal && docs != nil {
		m.add(n, target{weight: literalWeight, words: 1, docs: docs})
	}
	for _, t := range m.x.targets(u.text) {
		m.add(n, t)
	}
}

// add combines one more target with those before as if each misled by itself: a doc is not meant where all do.
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

// total is a weight over all units so far.
func (m *meaning) total(w weight) float32 {
	if w.unit == 0 {
		return 0
	}
	return w.sum + m.units[w.unit-1].share*(1-float32(math.Exp(float64(w.miss))))
}

// best are the docs with the most weight, which is forgotten. How well a doc fits only takes off its weight, so that of those
// with little it need not be looked at.
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
	for least > 0 && n < maxMeant {
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
	return list[:min(len(list), maxMeant)]
}

// fit is how well a doc stands for what is meant: words of its name that were not met say something else.
func (x *Index) fit(doc uint32, met uint8) float64 {
	words, style := x.cost(doc)>>4, x.cost(doc)&15
	fit := bareCover + (1-bareCover)*min(1, float64(met)/float64(max(1, words)))
	if x.flags(doc)&flagAlias != 0 {
		fit *= aliasWeight
	}
	return fit * (1 - styleOff*float64(style))
}

const weightBits = turnBits + qualityBits + packBits // all of a rank between the tier and the doc

// weighed is the rank, but for its tier, of a doc with a weight of 0 to 1.
func weighed(weight float64, doc uint32) rank {
	const most = 1<<weightBits - 1
	return rank(most-uint64(min(weight, 1)*most))<<docBits | rank(doc)
}

func (r rank) weight() float64 {
	const most = 1<<weightBits - 1
	return float64(most-uint64(r>>docBits)&most) / most
}

// vary lets names and packs take turns: what stands before a doc takes weight off it.
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
