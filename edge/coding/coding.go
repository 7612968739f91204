// Package coding has the content codings that an edge makes, of stored responses and of responses
// while it sends them, in one table. Negotiation, entity tags, metrics, config explain and the
// documents read it.
//
// docs/explain/extend.md shows how to add a coding: one type and one row.
package coding

import (
	"cmp"
	"slices"

	"github.com/iconedge/iconedge/cachepolicy"
)

// A Coding is a content coding: the number of its row. Numbers are stored on disk, and never
// change.
type Coding uint8

// The codings of the edge itself.
const (
	Identity Coding = iota
	Gzip
	Brotli
	Zstd // only responses of other applications have it, and those that a program adds
	own
)

// Room is the number of codings, with identity, for which an entry has room.
const Room = own + 2

// An Encoder codes bodies. It is safe for concurrent use.
type Encoder interface {
	// Encode returns a body in the coding. The edge uses the result only if it is shorter.
	Encode(body []byte) []byte
}

// A Row is a content coding.
type Row struct {
	Name string // in Content-Encoding and Accept-Encoding
	Help string // for the documents
	// Preference decides between codings that a client likes equally: the highest one.
	Preference int
	Longest    int // bytes of the longest stored body that is coded; 0: any
	Encoder
	// Live codes responses while they are sent; nil: only stored ones have the coding.
	Live
}

// maxBrotli is the length up to which bodies are coded in br. For longer ones that takes ten times
// as long as zstd and saves some percent more.
const maxBrotli = 1 << 20

var rows = []Row{
	{Name: cachepolicy.Identity, Help: "the body as it is", Encoder: identity{}},
	{cachepolicy.Gzip, "gzip (RFC 1952) of level 6; of level 1 while a response is sent", 1, 0, gzipEncoder{}, gzipLive{}},
	{cachepolicy.Brotli, "Brotli (RFC 7932) of level 5, of bodies of at most 1 MiB; of level 3 while a response is sent",
		3, maxBrotli, brotliEncoder{}, brotliLive{}},
	{cachepolicy.Zstd, "Zstandard (RFC 8878) of level 3; of level 1 while a response is sent", 2, 0, zstdEncoder{}, zstdLive{}},
}

// Sent returns the codings that responses may have while they are sent, in order of preference.
// light leaves out those whose streams hold much memory.
func Sent(light bool) []Coding {
	if light {
		return sent.light
	}
	return sent.all
}

var sent = sentCodings()

// sentCodings makes the lists of Sent.
func sentCodings() (of struct{ all, light []Coding }) {
	for _, c := range All() {
		if live := rows[c].Live; live != nil {
			of.all = append(of.all, c)
			if live.Light() {
				of.light = append(of.light, c)
			}
		}
	}
	return of
}

// lists are the codings of bodies up to a length, in order of preference, the shortest length
// first. The last one is of any length.
var lists = listed()

// A list has the codings of bodies of at most longest bytes; 0: of any.
type list struct {
	longest int
	codings []Coding
}

type identity struct{}

func (identity) Encode(body []byte) []byte { return body }

// Add adds a coding to the table. A program calls it before it makes an edge, such as in an init
// function. It panics if the name is taken, or if entries have no room for the coding.
func Add(r Row) Coding {
	if _, taken := Find(r.Name); taken {
		panic("coding: two codings have the name " + r.Name)
	}
	if len(rows) == int(Room) {
		panic("coding: entries have no room for the coding " + r.Name)
	}
	rows = append(slices.Clip(rows), r)
	lists = listed()
	sent = sentCodings()
	return InUse() - 1
}

// InUse returns the number of codings, with identity: they are all below it.
func InUse() Coding { return Coding(len(rows)) }

// Rows returns the table. The place of a row is its Coding.
func Rows() []Row { return rows }

// String returns the name of the coding in Content-Encoding.
func (c Coding) String() string { return rows[c].Name }

// Find returns the coding with a name.
func Find(name string) (Coding, bool) {
	at := slices.IndexFunc(rows, func(r Row) bool { return r.Name == name })
	return Coding(max(at, 0)), at >= 0
}

// Encode returns a body in a coding.
func Encode(c Coding, body []byte) []byte { return rows[c].Encode(body) }

// Of returns the codings that are made of bodies of a length, in order of preference, without
// identity.
func Of(length int) []Coding {
	for _, l := range lists {
		if length <= l.longest || l.longest == 0 {
			return l.codings
		}
	}
	return nil
}

// All returns all codings in order of preference, without identity.
func All() []Coding { return lists[0].codings }

// listed makes the lists.
func listed() (all []list) {
	var lengths []int
	for _, r := range rows {
		if r.Longest > 0 {
			lengths = append(lengths, r.Longest)
		}
	}
	slices.Sort(lengths)
	for _, longest := range append(slices.Compact(lengths), 0) {
		l := list{longest: longest}
		for c := Gzip; int(c) < len(rows); c++ {
			if most := rows[c].Longest; most == 0 || longest > 0 && longest <= most {
				l.codings = append(l.codings, c)
			}
		}
		slices.SortStableFunc(l.codings, func(a, b Coding) int { return cmp.Compare(rows[b].Preference, rows[a].Preference) })
		all = append(all, l)
	}
	return all
}
