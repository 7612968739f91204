package cache

import (
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
)

// A Field is one header field of an answer, ready to be written.
type Field struct{ Name, Value []byte }

// An Entry is one complete answer. Whoever makes one fills every exported field and its identity variant before it is stored
// or shared; after that only codings are added.
type Entry struct {
	Key          string
	Status       int
	ContentType  []byte
	Fields       []Field   // on every answer made from it, whatever its coding
	Missing      []Field   // besides, on those with a body: a 304 leaves them out (RFC 9110, section 15.4.5)
	LastModified time.Time // zero: unknown
	Validator    string    // the origin's own ETag, for asking it whether the answer has changed
	Tags         []string  // surrogate keys
	Monochrome   string    // what the origin said of recolouring; empty: nothing
	Release      string    // of the origin, when it made the answer; empty: unknown
	Policy       cachepolicy.Entry

	plain    bool // no codings are wanted
	mark     Mark
	checked  atomic.Uint64 // the last mark against which it was judged, and kept
	variants [3]atomic.Pointer[Variant]
	coded    atomic.Bool  // its codings are made, being made, or not wanted
	reserved atomic.Int64 // bytes that its codings may take, while they are not made
}

// A Variant is a body in one content coding, with the entity tag that belongs to it.
type Variant struct {
	Body []byte
	ETag string
}

// A Coding is one of the content codings of an entry.
type Coding uint8

const (
	Identity Coding = iota
	Gzip
	Brotli
)

var codingNames = [...]string{cachepolicy.Identity, cachepolicy.Gzip, cachepolicy.Brotli}

// String is the coding's name in Content-Encoding.
func (c Coding) String() string { return codingNames[c] }

// SetIdentity gives a new entry its body and the strong entity tag of it.
func (e *Entry) SetIdentity(body []byte, etag string) {
	e.variants[Identity].Store(&Variant{Body: body, ETag: etag})
}

// Identity is the body as the origin made it.
func (e *Entry) Identity() *Variant { return e.variants[Identity].Load() }

// Variant is the body in a coding; nil, if it was not made: not yet, or because it would not be smaller.
func (e *Entry) Variant(c Coding) *Variant { return e.variants[c].Load() }

// AsItIs keeps codings from being made: the body has one already, or its maker forbids it.
func (e *Entry) AsItIs() {
	e.plain = true
	e.coded.Store(true)
}

// Choose returns the variant that an Accept-Encoding asks for, of those that are there.
func (e *Entry) Choose(acceptEncoding string) (*Variant, Coding) {
	var have [2]string
	n := 0
	for _, c := range [...]Coding{Brotli, Gzip} {
		if e.variants[c].Load() != nil {
			have[n] = c.String()
			n++
		}
	}
	if n > 0 && acceptEncoding != "" {
		switch cachepolicy.Encoding(acceptEncoding, have[:n]...) {
		case cachepolicy.Brotli:
			return e.variants[Brotli].Load(), Brotli
		case cachepolicy.Gzip:
			return e.variants[Gzip].Load(), Gzip
		}
	}
	return e.Identity(), Identity
}

// Confirmed is a copy of e for which the origin said that it has not changed (RFC 9111, section 4.3.4): bodies are shared,
// what the origin said anew is for the caller to set.
func (e *Entry) Confirmed() *Entry {
	n := &Entry{
		Key: e.Key, Status: e.Status, ContentType: e.ContentType, Fields: e.Fields, Missing: e.Missing,
		LastModified: e.LastModified, Validator: e.Validator, Tags: e.Tags, Monochrome: e.Monochrome, Release: e.Release,
		Policy: e.Policy, plain: e.plain,
	}
	for i := range e.variants {
		n.variants[i].Store(e.variants[i].Load())
	}
	n.coded.Store(n.plain || n.variants[Brotli].Load() != nil || n.variants[Gzip].Load() != nil)
	return n
}

// overhead is what an entry takes besides its strings and bodies: itself, its variants, slices, and its places in the maps of
// front and cache, in bytes. Measured, and rounded up.
const overhead = 1200

// Cost is what the entry takes in memory, in bytes, about.
func (e *Entry) Cost() int64 {
	n := overhead + 2*len(e.Key) + len(e.ContentType) + len(e.Validator)
	for _, fields := range [...][]Field{e.Fields, e.Missing} {
		for _, f := range fields {
			n += 48 + len(f.Name) + len(f.Value)
		}
	}
	for _, t := range e.Tags {
		n += 16 + len(t)
	}
	for i := range e.variants {
		if v := e.variants[i].Load(); v != nil {
			n += 64 + cap(v.Body) + len(v.ETag)
		}
	}
	return int64(n) + e.reserved.Load()
}
