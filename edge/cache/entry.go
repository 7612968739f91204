package cache

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
)

// A Field is one header field of an answer, ready to be written.
type Field struct{ Name, Value []byte }

// An Entry is one complete answer. Whoever makes one fills every exported field, its identity variant and its codings before it
// is stored or shared; after that it does not change, but for its hits and what a soft purge does to its freshness. An entry is
// stored once: what is to be stored again is a copy.
type Entry struct {
	stored

	Key          string   // path and query
	Secondary    string   // what tells variants of the key apart; empty without Vary
	Vary         []string // the names in Vary, as cachepolicy.VaryNames gives them
	Status       int
	Header       http.Header // the origin's end-to-end fields, to be merged with those of a 304 (RFC 9111, section 3.2)
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
	expired  atomic.Pointer[expiry]
}

// stored is what an entry needs while it is stored: at its front, close together, because a purge looks at all of it in every
// entry.
type stored struct {
	mark    Mark     // at which it was asked for
	labels  []uint64 // of Key and of Tags
	few     [4]uint64
	place   shelved
	cost    int64         // as it is counted
	checked atomic.Uint64 // one more than the last mark against which it was judged, and kept
	hash    uint64        // of Key and Secondary
	origin  *place        // on disk, if it came from there
}

// An expiry is what a soft purge left of a policy, and which purge that was: one read from disk is of mark 0.
type expiry struct {
	policy cachepolicy.Entry
	by     Mark
}

// Freshness is what decides whether the entry may be used: Policy, or what a soft purge left of it.
func (e *Entry) Freshness() cachepolicy.Entry {
	if x := e.expired.Load(); x != nil {
		return x.policy
	}
	return e.Policy
}

// expire makes the entry stale from a moment on, and reports whether the purge with that mark did, or had done, so: another one
// may have been first.
func (e *Entry) expire(now time.Time, by Mark) bool {
	if e.expired.Load() == nil {
		e.expired.CompareAndSwap(nil, &expiry{e.Policy.Expired(now), by})
	}
	return e.expired.Load().by == by
}

// Hit counts one use of the entry, and returns how often it has been used.
func (e *Entry) Hit() uint64 { return e.hits.Add(1) }

// Confirmed is a copy of e for which the origin said that it has not changed (RFC 9111, section 4.3.4): bodies are shared,
// what the origin said anew is for the caller to set.
func (e *Entry) Confirmed() *Entry {
	n := &Entry{
		Key: e.Key, Secondary: e.Secondary, Vary: e.Vary, Status: e.Status, Header: e.Header, ContentType: e.ContentType,
		Date: e.Date, Fields: e.Fields, Missing: e.Missing, LastModified: e.LastModified, Validator: e.Validator,
		Tags: e.Tags, Monochrome: e.Monochrome, Release: e.Release, Policy: e.Policy, plain: e.plain,
	}
	n.variants = e.variants
	n.hits.Store(e.hits.Load())
	return n
}

const (
	// overhead is what an entry takes besides its strings and bodies: itself, its variants, slices, and its places on a shelf and
	// in ristretto, in bytes. Measured, and rounded up.
	overhead = 1400
	perField = 96 // of a header field: headers of slices and strings, its place in a map
)

// Cost is what the entry takes in memory, in bytes, about.
func (e *Entry) Cost() int64 {
	n := overhead + 2*len(e.Key) + 2*len(e.Secondary) + len(e.ContentType) + len(e.Date) + len(e.Validator) +
		len(e.Monochrome) + len(e.Release)
	for _, fields := range [...][]Field{e.Fields, e.Missing} {
		for _, f := range fields {
			n += 48 + len(f.Name) + len(f.Value)
		}
	}
	for name, lines := range e.Header {
		n += perField + len(name)
		for _, line := range lines {
			n += 16 + len(line)
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
