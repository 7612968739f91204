package search

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/iconedge/iconedge/icon"
)

const (
	shapeSize = 16 // bytes of a shape in secShapes
	shapeBits = 8 * shapeSize
	// alike is the largest distance of shapes that count as the same.
	alike = 16
)

// doc finds an icon or alias.
func (x *Index) doc(ref icon.Ref) (doc uint32, ok bool) {
	pack := x.pack(ref.Pack)
	if pack < 0 {
		return 0, false
	}
	if doc = x.firstFrom(pack, ref.Name); doc == x.packs[pack].End {
		return 0, false
	}
	name, _ := x.names(doc)
	return doc, string(name) == ref.Name
}

// firstFrom returns the first doc of a pack whose name is not before name; its End, if there is
// none.
func (x *Index) firstFrom(pack int, name string) (doc uint32) {
	from, to := x.span(pack)
	return from + uint32(sort.Search(int(to-from), func(i int) bool {
		own, _ := x.names(from + uint32(i))
		return string(own) >= name
	}))
}

// findSimilar gathers the docs of other packs with the concept of an icon, or of one of its
// aliases, and then the docs of the same shape, of its own pack too. It counts their distinct SVGs.
func (x *Index) findSimilar(s *scratch, q Query, allowed *roaring.Bitmap) (total int) {
	doc, ok := x.doc(q.Similar)
	if !ok {
		return 0
	}
	within := allowed
	if q.Pack != "" {
		pack := x.pack(q.Pack)
		if pack < 0 {
			return 0
		}
		within = x.docsOf(pack)
		if allowed != nil {
			within.And(allowed)
		}
	}
	own := x.packOf(doc)
	shape := x.shape(x.field(doc, docGroup))
	for _, d := range x.conceptDocs(doc) {
		if x.packOf(d) == own || within != nil && !within.Contains(d) || len(s.ranks) == maxRanked {
			continue
		}
		if x.first(s, d) {
			total++
		}
		s.ranks = append(s.ranks, x.similarRank(d, shape))
	}
	return total + x.gatherShapes(s, doc, shape, within)
}

// similarRank ranks a doc of the same concept: the most similar shapes first.
func (x *Index) similarRank(doc uint32, shape []byte) rank {
	quality := rank(distance(shape, x.shape(x.field(doc, docGroup)))) << 1
	if x.flags(doc)&flagAlias != 0 {
		quality |= 1
	}
	pack := min(x.packs[x.packOf(doc)].Rank, 1<<packBits-1)
	return rank(tierConcept)<<tierAt | quality<<(packBits+docBits) | rank(pack)<<docBits | rank(doc)
}

// conceptDocs returns the docs of the concepts of a doc and its aliases.
func (x *Index) conceptDocs(doc uint32) (docs []uint32) {
	concepts := map[uint32]bool{}
	for _, d := range x.together(x.field(doc, docGroup)) {
		concept := x.field(d, docConcept)
		if x.packOf(d) != x.packOf(doc) || concepts[concept] || len(concepts) == maxConcepts {
			continue
		}
		concepts[concept] = true
		name, _ := x.names(d)
		words, lead := docWords(string(name)), int(x.flags(d)&leadMask)
		var having *roaring.Bitmap
		for i, w := range words[min(lead, len(words)):min(len(words), lead+int(x.cost(d)>>4))] {
			if one := x.docsWith(w.folded); i == 0 {
				having = one
			} else {
				having = both(having, one)
			}
		}
		if having == nil {
			continue
		}
		it := having.Iterator()
		for it.HasNext() {
			if other := it.Next(); x.field(other, docConcept) == concept {
				docs = append(docs, other)
			}
		}
	}
	slices.Sort(docs)
	return slices.Compact(docs)
}

// maxConcepts bounds the names of an icon whose concepts are looked up.
const maxConcepts = 8

// gatherShapes gathers one doc of each SVG whose shape is like that of a doc, the most similar
// first.
func (x *Index) gatherShapes(s *scratch, doc uint32, shape []byte, within *roaring.Bitmap) (distinct int) {
	own := x.field(doc, docGroup)
	s.semantic = s.found[:0]
	for _, near := range x.nearShapes(s.docs[:0], shape) {
		group := near & (1<<docBits - 1)
		for _, d := range x.together(group) {
			if group == own && x.packOf(d) == x.packOf(doc) || within != nil && !within.Contains(d) {
				continue
			}
			if x.first(s, d) {
				distinct++
				s.semantic = append(s.semantic, rank(tierSemantic)<<tierAt|x.weighed(1-float64(near>>docBits)/shapeBits, d))
			}
			break
		}
	}
	s.found = s.semantic
	s.sort(s.semantic)
	return distinct
}

// nearShapes returns the groups with shapes that are alike, at most maxSemantic of them, each with
// its distance above docBits.
func (x *Index) nearShapes(to []uint32, shape []byte) []uint32 {
	if len(shape) == 0 {
		return nil
	}
	low, high := binary.LittleEndian.Uint64(shape), binary.LittleEndian.Uint64(shape[8:])
	if low|high == 0 {
		return nil
	}
	all, most := x.body[secShapes], alike
	for group := range x.groups {
		one := all[shapeSize*group:][:shapeSize]
		a, b := binary.LittleEndian.Uint64(one), binary.LittleEndian.Uint64(one[8:])
		d := bits.OnesCount64(a^low) + bits.OnesCount64(b^high)
		if d > most || a|b == 0 {
			continue
		}
		to = append(to, uint32(d)<<docBits|uint32(group))
		if len(to) == 4*maxSemantic { // so many that the less similar ones are not needed
			slices.Sort(to)
			to = to[:maxSemantic]
			most = int(to[len(to)-1] >> docBits)
		}
	}
	slices.Sort(to)
	return to[:min(len(to), maxSemantic)]
}

// shape returns the shape of a group; nil if the index has none.
func (x *Index) shape(group uint32) []byte {
	if x.version != version {
		return nil
	}
	return x.body[secShapes][shapeSize*group:][:shapeSize]
}

// distance returns the number of bits in which two shapes differ; 0 if they are not known.
func distance(a, b []byte) (n int) {
	for i := range min(len(a), len(b)) {
		n += bits.OnesCount8(a[i] ^ b[i])
	}
	return n
}
