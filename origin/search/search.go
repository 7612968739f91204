// Package search finds icons by the words of their names, and by the meanings of words. When a
// release is published, Build writes one file, which Open uses in place. Search returns hits in a
// deterministic order, at a bounded cost.
//
// A query is folded into words in the same way as names: lower case, camelCase and punctuation
// split, plurals made singular. An icon matches if its name, or the name of one of its aliases, has
// all the words. The last word may be incomplete, and if there are few hits, one word may have a
// typo. Query.Pack, "pack:name", or the first or last words of the text name a pack. If few names
// have the words, the search includes semantic matches: package lexicon has learned meanings of
// words from tags and a dictionary.
//
// A query may also be a name in code, such as FaHouse: package scheme has the forms.
//
// The order of hits: the icons of a name in code, names equal to the query, names equal to it
// without their style ("home-outline"), names with all words, names with a prefix, names with a
// typo, semantic matches. Icons come before variants in style, icons before aliases, popular packs
// before unusual ones, and packs rotate. Icons with the same SVG are one hit, with the others in
// Hit.Also.
//
// The package imports packages icon and lexicon, an FST (vellum) for the words, and compressed
// bitmaps (roaring) for the icons that have them. It does no I/O, reads no clock, and keeps nothing
// between queries except scratch memory.
package search

import (
	"errors"

	"github.com/iconedge/iconedge/icon"
)

// ErrDamaged means that bytes are not a complete index of this version of the package.
var ErrDamaged = errors.New("search index is damaged or has another version")

// MaxText is the longest query in characters; the rest is ignored.
const MaxText = icon.MaxText

// A Doc is one visible icon or alias of a visible pack.
type Doc struct {
	Pack, Name    string
	AliasOf       string  // the icon that this is an alias of; empty for an icon
	Width, Height float64 // in pixels
	Monochrome    bool
	Categories    []string // categories of its pack that it is in
	Spellings     []string // its name as its author spelled it, if that is another one
	// This hash of the SVG makes docs with an equal hash a single hit; zero means no duplicate.
	Image [16]byte
	// Shape describes what the SVG looks like: hashes of similar SVGs differ in few bits. Zero
	// means that nothing is known.
	Shape   [16]byte
	Own     bool // it is monochrome, in a colour of its own
	Stroked bool // its strokes have one width, which a request can change
	Look    Look // by its SVG alone
}

// A Query asks for icons. Pack, if not empty, is the key of the pack to search; a pack that is not
// in the index has no icons.
type Query struct {
	Text string
	// Similar, if not empty, asks for icons that are similar to this one, instead of Text.
	Similar icon.Ref
	Pack    string
	Filter
	Limit, Offset int  // hits to return, and to skip; less than 0 is 0
	Explain       bool // fill Hit.Matched
}

// A Hit is one icon or alias that matches.
type Hit struct {
	Ref           icon.Ref
	AliasOf       string // empty for an icon
	Width, Height float64
	Monochrome    bool
	Own           bool // it is monochrome, in a colour of its own
	// Also lists icons with the same SVG: one in each other pack that passes the filter.
	Also []icon.Ref
	// Matched says how the words of the query match. It is nil without Query.Explain.
	Matched []Match
}

const (
	// enough is the number of distinct SVGs found by name at which semantic matches are left out.
	enough = 100
	// few is the number of hits at which typos are not considered.
	few = 8
)

// Search returns the hits from Offset, at most Limit of them, and the total number of hits. The
// order depends on neither, so pages of any size are parts of the same list. If more than maxRanked
// docs match, the list has only the best of them.
func (x *Index) Search(q Query) (hits []Hit, total int) {
	s := x.scratch.Get().(*scratch)
	defer x.scratch.Put(s)
	defer s.forget()
	s.ranks, s.semantic = s.ranks[:0], nil
	q.Text = icon.CanonicalQuery(q.Text)
	allowed := x.allows(q.Filter)
	l := x.lookups()
	e := &explainer{x: x, lookups: l, left: maxExplained}
	if q.Similar != (icon.Ref{}) {
		e.like = q.Similar.String()
		total = x.findSimilar(s, q, allowed)
	} else {
		c := x.coded(l, q, allowed)
		total = x.gatherCoded(s, c)
		e.code = q.Text
		if c.words != "" {
			q.Text = c.words
		}
		e.readings = x.late(q, c, x.readings(q, allowed), allowed)
		total += x.find(s, l, e.readings)
	}
	ranks := x.order(s, len(e.readings) > 0 && e.readings[0].scoped)
	skip, limit := max(0, q.Offset), max(0, q.Limit)
	for _, r := range ranks {
		if len(hits) == limit {
			break
		}
		group := x.field(r.doc(), docGroup)
		bit := uint64(1) << (group % 64)
		if s.seen[group/64]&bit == 0 { // the same SVG was a better hit
			continue
		}
		s.seen[group/64] &^= bit
		if skip > 0 {
			skip--
			continue
		}
		hits = append(hits, x.hit(r.doc(), allowed))
		if q.Explain {
			hits[len(hits)-1].Matched = e.matches(r)
		}
	}
	return hits, total
}

// find gathers the ranks of the docs that a query finds, and counts their distinct SVGs. Each stage
// ranks below the earlier ones.
func (x *Index) find(s *scratch, l *lookups, readings []reading) (total int) {
	if len(readings) == 0 {
		return 0
	}
	whole, rival := false, rank(0)
	for _, c := range l.sets(readings) {
		plain := !c.guessed && !readings[0].scoped // the few icons of a pack fit a page anyway
		if plain && c.begun {
			c.rival = rival
		}
		total += x.gather(s, c)
		whole = whole || !c.begun
		if plain && !c.begun {
			rival = s.least
		}
	}
	plain := readings[0]
	if len(plain.terms) == 0 {
		return total
	}
	literal, likely := total, rank(tierSemantic)
	if !whole && literal < enough && x.isMeant(plain) && l.namesBegin(plain) < enough {
		likely = tierMeant
	}
	if total < few {
		total += x.gatherTypos(s, l, readings, false)
	}
	if literal < enough {
		total += x.gatherSemantic(s, plain, likely)
	}
	if total < few {
		total += x.gatherTypos(s, l, readings, true)
	}
	return total
}

// namesBegin counts the docs of all packs with a word that the query, a single word, begins. A
// query of some packs is as likely to be incomplete as one of all: "tra" is rather the beginning of
// trash than a word of another language.
func (l *lookups) namesBegin(r reading) uint64 {
	if len(r.terms) > 1 {
		return 0
	}
	return l.starting(r.terms[0]).count
}

// gatherTypos gathers docs with one word corrected. If ofKnown is set, it corrects words that are
// known as they are.
func (x *Index) gatherTypos(s *scratch, l *lookups, readings []reading, ofKnown bool) (distinct int) {
	for _, c := range l.typos(readings, ofKnown) {
		distinct += x.gather(s, c)
	}
	return distinct
}
