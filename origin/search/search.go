// Package search finds icons by the words of their names. Build writes, when a release is published, one file that Open
// uses in place; Search answers from it, always in the same order, at a cost that has a bound.
//
// A query is folded into words as names are: lower case, camelCase and punctuation split, plurals made singular. An icon is
// found where its name, or that of one of its aliases, has all of them; the last may still be half typed. A pack is named by
// Query.Pack, by "pack:name", or by the first or last words of the text. The order: names that are the query, names that are
// but for a style ("home-outline"), names with the fewest other words, names that only begin so; plain drawings before
// their styles, icons before aliases, and packs in turn. Drawings that are the same are one hit, wherever they stand.
//
// It imports package icon, an FST (vellum) for the words and compressed bitmaps (roaring) for the icons that have them.
// It does no I/O, has no clock, and keeps nothing between queries but scratch memory.
package search

import (
	"errors"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/iconedge/iconedge/icon"
)

// ErrDamaged says that bytes are not an index that this version of the package wrote whole.
var ErrDamaged = errors.New("search index is damaged or of another version")

// MaxText is the longest text that is looked at, in characters; what goes beyond is ignored.
const MaxText = 200

// A Doc is one visible icon or alias of a visible pack.
type Doc struct {
	Pack, Name    string
	AliasOf       string  // the icon that this is another name of; empty for an icon
	Width, Height float64 // in pixels
	Monochrome    bool
	Drawing       [16]byte // a hash of the drawing: docs with the same are one hit; zero: like no other
}

// A Query asks for icons. Pack, if not empty, is the key of the pack to stay in; one that is not in the index has no icons.
type Query struct {
	Text          string
	Pack          string
	Limit, Offset int // hits to return, and to pass over; less than 0 is 0
}

// A Hit is one icon or alias that was found.
type Hit struct {
	Ref           icon.Ref
	AliasOf       string // empty for an icon
	Width, Height float64
	Monochrome    bool
}

// Search returns the hits from Offset, at most Limit of them, and how many there are in all. The order does not depend on
// either: a page is the same part of it however it is cut. Of more than maxRanked matching docs only the best are in it.
func (x *Index) Search(q Query) (hits []Hit, total int) {
	s := x.scratch.Get().(*scratch)
	defer x.scratch.Put(s)
	defer clear(s.seen)
	s.ranks = s.ranks[:0]
	for _, c := range x.sets(q) {
		total += x.gather(s, c)
	}
	x.order(s.ranks)
	skip, limit := max(0, q.Offset), max(0, q.Limit)
	for _, r := range s.ranks {
		if len(hits) == limit {
			break
		}
		group := x.field(r.doc(), docGroup)
		bit := uint64(1) << (group % 64)
		if s.seen[group/64]&bit == 0 { // this drawing stands further up
			continue
		}
		s.seen[group/64] &^= bit
		if skip > 0 {
			skip--
			continue
		}
		hits = append(hits, x.hit(r.doc()))
	}
	return hits, total
}

// sets are the docs that a query finds, by how. A doc may be in several: the best counts.
func (x *Index) sets(q Query) (sets []set) {
	readings := x.readings(q)
	for _, loose := range []bool{false, true} {
		for _, r := range readings {
			having, begun := x.match(r, loose)
			if having != nil {
				sets = append(sets, set{having, r.terms, r.guessed, false})
			}
			if begun != nil && having != nil {
				begun = roaring.AndNot(begun, having)
			}
			if begun != nil {
				sets = append(sets, set{begun, r.terms, r.guessed, true})
			}
		}
		if len(sets) > 0 {
			break
		}
	}
	return sets
}
