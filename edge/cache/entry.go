package cache

import (
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
)

// A Field is one header field of an answer, ready to be written.
type Field struct{ Name, Value []byte }

// An Entry is one complete answer. Whoever makes one fills every exported field, its identity variant and its codings before it
// is stored or shared; after that it does not change, but for its hits. An entry is stored once: what is to be stored again is a
// copy.
//
// What a cache returns is a copy too, as it was at that moment: a purge that comes later does not reach it. Same tells whether
// two are of the same stored answer.
type Entry struct {
	stored

	Key          string   // path and query
	Secondary    string   // what tells variants of the key apart; empty without Vary
	Vary         []string // the names in Vary, as cachepolicy.VaryNames gives them
	Status       int
	ContentType  []byte
	Date         []byte    // the value of the Date field
	Fields       []Field   // on every answer made from it, whatever its coding
	Missing      []Field   // besides, on those with a body: a 304 leaves them out (RFC 9110, section 15.4.5)
	LastModified time.Time // zero: unknown
	Validator    string    // the origin's own ETag, for asking it whether the answer has changed
	Tags         []string  // surrogate keys
	Monochrome   string    // what the origin said of recolouring; empty: nothing
	Release      string    // of the origin, when it made the answer; empty: unknown
	Policy       cachepolicy.Entry
	Head         *Head // nil: answers are put together field by field

	plain    bool // no codings are wanted
	variants [3]*Variant
	hits     atomic.Uint64
	softened atomic.Int64  // when a soft purge made it stale, in nanoseconds; 0: none did
	by       atomic.Uint64 // the mark of that purge; 0: one of an earlier life
}

// stored is what an entry is besides while it is stored, or was.
type stored struct {
	id      uint64   // 0: it never was
	home    *Cache   // where
	mark    Mark     // at which it was asked for
	labels  []uint64 // of Key and of Tags
	few     [4]uint64
	cost    int64         // as it is counted
	checked atomic.Uint64 // one more than the last mark against which it was checked, and kept
	hash    uint64        // of Key and Secondary
	origin  *place        // on disk, if it came from there
	aliases []string      // other secondary keys of one that goes to disk
}

// Same reports whether two entries are of the same stored answer, which nothing replaced in between.
func (e *Entry) Same(o *Entry) bool {
	return e == o || e != nil && o != nil && e.id != 0 && e.id == o.id && e.home == o.home
}

// Freshness is what decides whether the entry may be used: Policy, or what a soft purge left of it.
func (e *Entry) Freshness() cachepolicy.Entry { return expired(e.Policy, e.softened.Load()) }

// expire makes the entry stale from a moment on, by the purge with that mark, if none did before.
func (e *Entry) expire(when time.Time, by Mark) {
	if e.softened.CompareAndSwap(0, moment(when)) {
		e.by.Store(uint64(by))
	}
}

func (e *Entry) subject() subject { return subject{e.Key, e.labels, e.mark, &e.checked} }

// Hit counts one use of the entry, where it is stored if it still is, and returns how often it has been used.
func (e *Entry) Hit() uint64 {
	if e.home != nil {
		if n := e.home.hit(e); n > 0 {
			e.hits.Store(n)
			return n
		}
	}
	return e.hits.Add(1)
}

// Confirmed is a copy of e for which the origin said that it has not changed (RFC 9111, section 4.3.4): bodies are shared,
// what the origin said anew is for the caller to set.
func (e *Entry) Confirmed() *Entry {
	n := &Entry{
		Key: e.Key, Secondary: e.Secondary, Vary: e.Vary, Status: e.Status, ContentType: e.ContentType,
		Date: e.Date, Fields: e.Fields, Missing: e.Missing, LastModified: e.LastModified, Validator: e.Validator,
		Tags: e.Tags, Monochrome: e.Monochrome, Release: e.Release, Policy: e.Policy, plain: e.plain,
	}
	n.variants = e.variants
	n.hits.Store(e.hits.Load())
	return n
}

const (
	// overhead is what an entry on the heap takes besides its strings and bodies: itself, its variants and slices, in bytes.
	// Measured, and rounded up.
	overhead  = 1200
	perIndex  = 160 // of any entry: its places on a shelf and in ristretto, whose maps are between half and nearly full
	perVaried = 320 // of one with Vary: the record of that, and its place there
)

// Cost is what the entry takes in memory, in bytes, about, where it is on the heap.
func (e *Entry) Cost() int64 {
	n := overhead + 2*len(e.Key) + 2*len(e.Secondary) + len(e.ContentType) + len(e.Date) + len(e.Validator) +
		len(e.Monochrome) + len(e.Release)
	for _, fields := range [...][]Field{e.Fields, e.Missing} {
		for _, f := range fields {
			n += 48 + len(f.Name) + len(f.Value)
		}
	}
	for _, list := range [...][]string{e.Tags, e.Vary} {
		for _, s := range list {
			n += 24 + len(s)
		}
	}
	if e.Head != nil {
		n += len(e.Head.Own) + len(e.Head.OwnBody)
	}
	for _, v := range e.variants {
		if v != nil {
			n += 64 + cap(v.Body) + len(v.ETag)
		}
	}
	return int64(n)
}
