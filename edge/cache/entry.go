package cache

import (
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// A Field is one header field of a response, ready to send.
type Field struct{ Name, Value []byte }

// An Entry is one complete response. Its creator fills every exported field, the identity variant
// and the codings before the entry is stored or shared; afterwards only its count of hits changes.
// An entry can be stored once. To store it again, copy it.
//
// Entries that a cache returns are copies too, so later purges do not affect them. Same reports
// whether two entries are copies of the same stored response.
type Entry struct {
	stored

	Key         string   // path and query
	Secondary   string   // distinguishes variants of the key; empty without Vary
	Vary        []string // the names in Vary, in the form of cachepolicy.VaryNames
	Status      int
	ContentType []byte
	Date        []byte  // the value of the Date field
	Fields      []Field // sent with every response, whatever its coding
	// FieldsWithBody fields are sent only with a body: a 304 leaves them out (RFC 9110, section
	// 15.4.5).
	FieldsWithBody []Field
	LastModified   time.Time // zero: unknown
	Validator      string    // the origin's own ETag, for revalidation
	Tags           []string  // surrogate keys
	Monochrome     string    // what the origin stated about recolouring; empty: nothing
	Release        string    // the release of the origin that made the response; empty: unknown
	Policy         cachepolicy.Entry
	Head           *Head // nil: responses are assembled field by field

	plain     bool // do not add codings
	variants  [3]*Variant
	hits      atomic.Uint64
	expiredAt atomic.Int64  // when a soft purge made it stale, in nanoseconds; 0: none did
	expiredBy atomic.Uint64 // the generation of that purge; 0: one of an earlier run
}

// stored has the fields that an entry gets when it is stored.
type stored struct {
	id         uint64                  // 0: it was never stored
	home       *Cache                  // the cache that stores it
	generation invalidation.Generation // at which its request began
	labels     []uint64                // of Key and Tags
	few        [4]uint64               // the array of a short labels
	cost       int64                   // as it is counted
	checked    atomic.Uint64           // one more than the last generation against which it was checked
	hash       uint64                  // of Key and Secondary
	origin     *location               // on disk, if the entry was read from there
	aliases    []string                // other secondary keys of an entry that goes to disk
}

// SameStored reports whether two entries are copies of the same stored response, which was not
// replaced in between.
func (e *Entry) SameStored(o *Entry) bool {
	return e == o || e != nil && o != nil && e.id != 0 && e.id == o.id && e.home == o.home
}

// Freshness returns the Policy, or the policy after a soft purge. It decides whether the entry may
// be used.
func (e *Entry) Freshness() cachepolicy.Entry { return expired(e.Policy, e.expiredAt.Load()) }

// expire makes the entry stale from a moment on, by the purge of that generation, unless it was
// before.
func (e *Entry) expire(when time.Time, by invalidation.Generation) {
	if e.expiredAt.CompareAndSwap(0, moment(when)) {
		e.expiredBy.Store(uint64(by))
	}
}

// check reports whether the entry is valid. It expires the entry if a soft purge since its request
// began concerns it.
func (e *Entry) check(m *invalidation.Table) bool {
	return m.Check(invalidation.Subject{Key: e.Key, Labels: e.labels, Generation: e.generation, Checked: &e.checked}, func(v invalidation.Latest) { e.expire(time.Unix(0, v.When), v.Soft) })
}

// Hit counts one use of the entry, also of the stored one if it is still there, and returns how
// often it has been used.
func (e *Entry) Hit() uint64 {
	if e.home != nil {
		if n := e.home.countHit(e); n > 0 {
			e.hits.Store(n)
			return n
		}
	}
	return e.hits.Add(1)
}

// CopyConfirmed returns a copy of e after the origin confirmed it (RFC 9111, section 4.3.4). The
// bodies are shared; the caller sets the fields that the origin updated.
func (e *Entry) CopyConfirmed() *Entry {
	n := &Entry{
		Key: e.Key, Secondary: e.Secondary, Vary: e.Vary, Status: e.Status, ContentType: e.ContentType,
		Date: e.Date, Fields: e.Fields, FieldsWithBody: e.FieldsWithBody, LastModified: e.LastModified, Validator: e.Validator,
		Tags: e.Tags, Monochrome: e.Monochrome, Release: e.Release, Policy: e.Policy, plain: e.plain,
	}
	n.variants = e.variants
	n.hits.Store(e.hits.Load())
	return n
}

const (
	// overhead is the size of an entry on the heap besides its strings and bodies: the Entry, its
	// variants and slices, in bytes. Measured, and rounded up.
	overhead = 1200
	// perIndex is the size of an entry's part of the maps of a shard and of ristretto, which are
	// half to nearly full.
	perIndex   = 160
	perVariant = 320 // size of an entry's part of a variant set
)

// Cost returns the approximate size of the entry on the heap, in bytes.
func (e *Entry) Cost() int64 {
	n := overhead + 2*len(e.Key) + 2*len(e.Secondary) + len(e.ContentType) + len(e.Date) + len(e.Validator) +
		len(e.Monochrome) + len(e.Release)
	for _, fields := range [...][]Field{e.Fields, e.FieldsWithBody} {
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
