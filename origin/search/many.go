package search

import "github.com/RoaringBitmap/roaring/v2"

// Of a set of more than maxRanked docs, most are only counted. The search does that by
// intersections of bitmaps, which take a fraction of a nanosecond a doc, and looks at those docs
// alone that share their SVG with others, or whose names are short.

// maxShort is the largest number of words of a name that Index.short knows.
const maxShort = 6

// learnDocs fills x.shared and x.short.
func (x *Index) learnDocs() {
	var short [maxShort + 1][]uint64
	for words := range short {
		short[words] = make([]uint64, wholeContainers(x.docs))
	}
	shared := make([]uint64, wholeContainers(x.docs))
	for doc := range uint32(x.docs) {
		at, bit := doc/64, uint64(1)<<(doc%64)
		if !x.isAlone(doc) {
			shared[at] |= bit
		}
		for words := x.cost(doc) >> 4; words <= maxShort; words++ {
			short[words][at] |= bit
		}
	}
	x.shared = roaring.FromDense(shared, true)
	for words := range short {
		x.short[words] = roaring.FromDense(short[words], true)
	}
}

// isAlone reports whether no other doc has the SVG of a doc.
func (x *Index) isAlone(doc uint32) bool {
	from, to := x.groupSpan(x.field(doc, docGroup))
	return to-from == 1
}

// first reports whether the doc's SVG has not been counted yet, and counts it.
func (x *Index) first(s *scratch, doc uint32) bool {
	if !x.mark(s, doc) {
		return false
	}
	if s.many.Contains(doc) { // its SVG has been counted: if it is shared, with a mark
		return false
	}
	s.few = append(s.few, doc)
	return true
}

// mark marks the SVG of a doc as counted. It reports whether it had no mark.
func (x *Index) mark(s *scratch, doc uint32) bool {
	group := x.field(doc, docGroup)
	bit := uint64(1) << (group % 64)
	if s.seen[group/64]&bit != 0 {
		return false
	}
	s.seen[group/64] |= bit
	return true
}

// countMany counts the SVGs of a large set that have not been counted yet. It marks only those that
// several docs have.
func (x *Index) countMany(s *scratch, docs *roaring.Bitmap) (distinct int) {
	fresh := roaring.AndNot(docs, &s.many)
	shared := roaring.And(fresh, x.shared)
	distinct = int(fresh.GetCardinality() - shared.GetCardinality())
	for _, doc := range s.few {
		if fresh.Contains(doc) && x.isAlone(doc) {
			distinct--
		}
	}
	for list := range s.batches(shared) {
		for _, doc := range list {
			if x.mark(s, doc) {
				distinct++
			}
		}
	}
	s.many.Or(fresh)
	return distinct
}

// leastBeyond returns docs among which are those of a set with the fewest words beyond the query,
// at least as many as there is room for, and their histogram.
func (x *Index) leastBeyond(s *scratch, c set, beyond *[256]byte, room int) (docs *roaring.Bitmap, by *[256]int) {
	k := len(c.terms)
	for words := k; words <= maxShort; words++ {
		if c.docs.AndCardinality(x.short[words]) < uint64(room) {
			continue
		}
		docs = roaring.And(c.docs, x.short[words])
		by = x.histogram(s, docs, beyond)
		// The docs with more words have at least words+1-k of them beyond the query, so these
		// classes have all their docs.
		complete := 0
		for _, n := range by[:(words-k+1)<<4] {
			complete += n
		}
		if complete >= room {
			return docs, by
		}
	}
	return c.docs, x.histogram(s, c.docs, beyond)
}

// histogram counts docs by the words that they have beyond the query.
func (x *Index) histogram(s *scratch, docs *roaring.Bitmap, beyond *[256]byte) *[256]int {
	by := &s.histogram
	clear(by[:])
	for list := range s.batches(docs) {
		for _, doc := range list {
			by[beyond[x.cost(doc)]]++
		}
	}
	return by
}
