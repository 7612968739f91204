// Package search finds icons by the words of their names, and by what words mean. Build writes, when a release is published,
// one file that Open uses in place; Search answers from it, always in the same order, at a cost that has a bound.
//
// A query is folded into words as names are: lower case, camelCase and punctuation split, plurals made singular. An icon is
// found where its name, or that of one of its aliases, has all of them; the last may still be half typed, and where little is
// found one may be mistyped. A pack is named by Query.Pack, by "pack:name", or by the first or last words of the text. Where
// names have few of the words, what the words mean is looked for too: package lexicon learned it from tags and a dictionary.
//
// The order: names that are the query, names that are but for a style ("home-outline"), names with all words, names that
// only begin so, names as if a word were mistyped, names by what the words mean; plain drawings before their styles, icons
// before aliases, common packs before odd ones, and packs in turn. Drawings that are the same are one hit, with the others
// as Hit.Also.
//
// It imports package icon, lexicon, an FST (vellum) for the words and compressed bitmaps (roaring) for the icons that have
// them. It does no I/O, has no clock, and keeps nothing between queries but scratch memory.
package search

import (
	"errors"

	"github.com/iconedge/iconedge/icon"
)

// ErrDamaged says that bytes are not an index that this version of the package wrote whole.
var ErrDamaged = errors.New("search index is damaged or of another version")

// MaxText is the longest text that is looked at, in characters; what goes beyond is ignored.
const MaxText = icon.MaxText

// A Doc is one visible icon or alias of a visible pack.
type Doc struct {
	Pack, Name    string
	AliasOf       string  // the icon that this is another name of; empty for an icon
	Width, Height float64 // in pixels
	Monochrome    bool
	Categories    []string // groups of its pack that it is in
	Drawing       [16]byte // a hash of the drawing: docs with the same are one hit; zero: like no other
}

// A Query asks for icons. Pack, if not empty, is the key of the pack to stay in; one that is not in the index has no icons.
type Query struct {
	Text string
	Pack string
	Filter
	Limit, Offset int // hits to return, and to pass over; less than 0 is 0
}

// A Hit is one icon or alias that was found.
type Hit struct {
	Ref           icon.Ref
	AliasOf       string // empty for an icon
	Width, Height float64
	Monochrome    bool
	Also          []icon.Ref // where else the drawing stands: one icon of each other pack that passes the filter
}

const (
	// enough is how many drawings names must have for what the words mean to be left aside.
	enough = 100
	// few is how many drawings must be found for nobody to wonder whether a word is mistyped.
	few = 8
)

// Search returns the hits from Offset, at most Limit of them, and how many there are in all. The order does not depend on
// either: a page is the same part of it however it is cut. Of more than maxRanked matching docs only the best are in it.
func (x *Index) Search(q Query) (hits []Hit, total int) {
	s := x.scratch.Get().(*scratch)
	defer x.scratch.Put(s)
	defer clear(s.seen)
	s.ranks = s.ranks[:0]
	q.Text = icon.CanonicalQuery(q.Text)
	allowed := x.allows(q.Filter)
	readings := x.readings(q, allowed)
	total = x.find(s, readings)
	x.order(s.ranks, len(readings) > 0 && readings[0].scoped)
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
		hits = append(hits, x.hit(r.doc(), allowed))
	}
	return hits, total
}

// find gathers the ranks of the docs that a query finds, and counts their drawings. Whatever a stage finds stands below what
// the stages before it found.
func (x *Index) find(s *scratch, readings []reading) (total int) {
	if len(readings) == 0 {
		return 0
	}
	for _, c := range x.sets(readings) {
		total += x.gather(s, c)
	}
	plain := readings[0]
	if len(plain.terms) == 0 {
		return total
	}
	literal := total
	if total < few {
		total += x.gatherSlips(s, readings, false)
	}
	if literal < enough {
		total += x.gatherMeant(s, plain)
	}
	if total < few {
		total += x.gatherSlips(s, readings, true)
	}
	return total
}

// gatherSlips gathers what is found with a word mended: late, a word that is known as it is.
func (x *Index) gatherSlips(s *scratch, readings []reading, late bool) (drawings int) {
	for _, c := range x.slips(readings, late) {
		drawings += x.gather(s, c)
	}
	return drawings
}
