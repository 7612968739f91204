// Package entry has the form of a complete response: what the cache stores, and what its packages
// pass to each other.
package entry

import (
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/hashes"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// A Field is one header field of a response, ready to send.
type Field struct{ Name, Value []byte }

// An Entry is one complete response. Its creator fills every exported field, the identity variant
// and the codings before the entry is stored or shared; afterwards only its count of hits changes.
// An entry can be stored once. To store it again, copy it.
//
// Entries that a cache returns are copies too, so later purges do not affect them. SameStored
// reports whether two entries are copies of the same stored response.
type Entry struct {
	State // only the packages of the cache set these fields

	Key         string   // path and query; on forwarded paths behind scheme and host
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
	// Object is the body, if it is stored in slices apart from the entry. The identity variant then
	// has its entity tag alone.
	Object Object
	Head   *Head // nil: responses are assembled field by field
}

// State has the fields of an entry that only the packages of the cache set.
type State struct {
	Plain    bool              // do not add codings
	Variants [Codings]*Variant // by coding; nil: none
	Hits     atomic.Uint64     // uses

	// These fields are set when the cache stores the entry.

	ID         uint64                  // 0: it was never stored
	Home       Home                    // the cache that stores it
	Generation invalidation.Generation // at which its request began
	Labels     []uint64                // of Key and Tags
	Few        [4]uint64               // the array of a short Labels
	Hash       uint64                  // of Key and Secondary
	Charged    int64                   // its cost as it is counted
	Aliases    []string                // other secondary keys of an entry that goes to disk
	Origin     Origin                  // on disk, if the entry was read from there

	// Invalidations change these fields.

	Checked   atomic.Uint64 // one more than the last generation against which it was checked
	ExpiredAt atomic.Int64  // when a soft purge made it stale, in nanoseconds; 0: none did
	ExpiredBy atomic.Uint64 // the generation of that purge; 0: one of an earlier run
}

// An Object is a body that is stored in slices on disk. Entries with the same ID share the slices.
type Object struct {
	ID     uint64 // random; 0: the entry has its body itself
	Length int64  // of the body, in bytes
}

// IsObject reports whether the body of the entry is stored in slices.
func (e *Entry) IsObject() bool { return e.Object.ID != 0 }

// A Home is a cache that stores entries.
type Home interface {
	// CountHit counts a use of a stored entry, and returns how often it has been used; 0 if it is
	// no longer stored.
	CountHit(e *Entry) uint64
}

// An Origin is a location on disk; only package disk knows its form.
type Origin any

// SetHashes computes the labels and the hash of an entry that is about to be stored.
func (e *Entry) SetHashes(seeds *hashes.Seeds) {
	e.Labels = seeds.LabelsOf(e.Few[:0], e.Key, e.Tags)
	e.Hash = seeds.HashOf(e.Labels[0], e.Secondary)
}

// SameStored reports whether two entries are copies of the same stored response, which was not
// replaced in between.
func (e *Entry) SameStored(o *Entry) bool {
	if e == nil || o == nil {
		return e == o
	}
	return e == o || e.ID != 0 && e.ID == o.ID && e.Home == o.Home
}

// Freshness returns the Policy, or the policy after a soft purge. It decides whether the entry may
// be used.
func (e *Entry) Freshness() cachepolicy.Entry { return Expired(e.Policy, e.ExpiredAt.Load()) }

// Expired returns a policy after a soft purge at a time in nanoseconds, if there was one.
func Expired(p cachepolicy.Entry, expiredAt int64) cachepolicy.Entry {
	if expiredAt == 0 {
		return p
	}
	return p.Expired(time.Unix(0, expiredAt))
}

// Moment returns a time in nanoseconds that is not zero, because zero means that there is none.
func Moment(t time.Time) int64 {
	if n := t.UnixNano(); n != 0 {
		return n
	}
	return 1
}

// Expire makes the entry stale from a moment on, by the purge of that generation, unless it was
// before.
func (s *State) Expire(when time.Time, by invalidation.Generation) {
	if s.ExpiredAt.CompareAndSwap(0, Moment(when)) {
		s.ExpiredBy.Store(uint64(by))
	}
}

// HasField reports whether the response has a field, in the form of http.CanonicalHeaderKey.
func (e *Entry) HasField(name string) bool {
	return slices.ContainsFunc(e.Fields, func(f Field) bool { return string(f.Name) == name })
}

// IsPublic reports whether the Cache-Control of the response says that it is for all users.
func (e *Entry) IsPublic() bool {
	for _, f := range e.Fields {
		if string(f.Name) != "Cache-Control" {
			continue
		}
		if value := unsafe.String(unsafe.SliceData(f.Value), len(f.Value)); cachepolicy.ParseCacheControl(value).Public {
			return true
		}
	}
	return false
}

// Check reports whether the entry is valid. It expires the entry if a soft purge since its request
// began concerns it.
func (e *Entry) Check(m *invalidation.Table) bool {
	s := invalidation.Subject{Key: e.Key, Labels: e.Labels, Generation: e.Generation, Checked: &e.Checked}
	return m.Check(s, func(v invalidation.Latest) { e.Expire(time.Unix(0, v.When), v.Soft) })
}

// Hit counts one use of the entry, also of the stored one if it is still there, and returns how
// often it has been used.
func (e *Entry) Hit() uint64 {
	if e.Home != nil {
		if n := e.Home.CountHit(e); n > 0 {
			e.Hits.Store(n)
			return n
		}
	}
	return e.Hits.Add(1)
}

// CopyConfirmed returns a copy of e after the origin confirmed it (RFC 9111, section 4.3.4). The
// bodies are shared; the caller sets the fields that the origin updated.
func (e *Entry) CopyConfirmed() *Entry {
	n := &Entry{
		Key: e.Key, Secondary: e.Secondary, Vary: e.Vary, Status: e.Status, ContentType: e.ContentType,
		Date: e.Date, Fields: e.Fields, FieldsWithBody: e.FieldsWithBody, LastModified: e.LastModified, Validator: e.Validator,
		Tags: e.Tags, Monochrome: e.Monochrome, Release: e.Release, Policy: e.Policy,
		Object: e.Object,
	}
	n.Plain, n.Variants = e.Plain, e.Variants
	n.Hits.Store(e.Hits.Load())
	return n
}

// Overhead is the size of an entry on the heap besides its strings and bodies: the Entry, its
// variants and slices, in bytes. Measured, and rounded up.
const Overhead = 1200

// Cost returns the approximate size of the entry on the heap, in bytes.
func (e *Entry) Cost() int64 {
	n := Overhead + 2*len(e.Key) + 2*len(e.Secondary) + len(e.ContentType) + len(e.Date) + len(e.Validator) +
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
	for _, v := range e.Variants {
		if v != nil {
			n += 64 + cap(v.Body) + len(v.ETag)
		}
	}
	return int64(n)
}
