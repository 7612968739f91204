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
	"io"
	"iter"

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

// Build writes the index of docs, which may come in any order; packs are the visible ones, and each doc's is among them.
// The same packs and docs give the same bytes.
func Build(w io.Writer, packs []icon.Pack, docs iter.Seq[Doc]) error { panic("being written") }

// An Index answers queries. Its methods may be called at the same time.
type Index struct{}

// Open makes an Index of a whole file that Build wrote. It uses data in place: data must not change or be unmapped while
// the Index is in use. The error is ErrDamaged.
func Open(data []byte) (*Index, error) { panic("being written") }

// Search returns the hits from Offset, at most Limit of them, and how many there are in all.
func (x *Index) Search(q Query) (hits []Hit, total int) { panic("being written") }

// Suggest returns at most 5 queries near to text that do find something, for where text itself found nothing.
func (x *Index) Suggest(text string) []string { panic("being written") }
