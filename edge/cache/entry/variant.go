package entry

import (
	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/coding"
)

// MaxVariants is the maximum number of entries of a key, in memory and on disk each. The least
// recently used one is evicted first.
const MaxVariants = 256

// A Variant is a body in one content coding, with its entity tag.
type Variant struct {
	Body []byte
	ETag string
}

// A Coding is a content coding, of the table in edge/coding.
type Coding = coding.Coding

// Codings that some code treats in a way of its own, and the number for which an entry has room.
const (
	Identity = coding.Identity
	Gzip     = coding.Gzip
	Brotli   = coding.Brotli
	Zstd     = coding.Zstd
	Codings  = coding.Room
)

// SetIdentity sets the body of a new entry, and its entity tag.
func (e *Entry) SetIdentity(body []byte, etag string) {
	e.Variants[Identity] = &Variant{Body: body, ETag: etag}
}

// Identity returns the body without a content coding; nil while it is still arriving.
func (e *Entry) Identity() *Variant { return e.Variants[Identity] }

// Variant returns the body in a coding; nil if the coding was not made, because it would not be
// smaller.
func (e *Entry) Variant(c Coding) *Variant { return e.Variants[c] }

// DisableCodings prevents codings: the body has one already, or the origin forbids it.
func (e *Entry) DisableCodings() { e.Plain = true }

// EnableCodings permits codings again.
func (e *Entry) EnableCodings() { e.Plain = false }

// DropCodings removes the coded bodies from a new entry that shares those of an older one, if it
// may have none.
func (e *Entry) DropCodings() {
	if e.Plain {
		e.Variants = [Codings]*Variant{e.Identity()}
	}
}

// Choose returns the variant that Accept-Encoding selects, of those that exist.
func (e *Entry) Choose(acceptEncoding string) (*Variant, Coding) {
	var have [Codings]string
	n := 0
	for _, c := range coding.All() {
		if e.Variants[c] != nil {
			have[n] = c.String()
			n++
		}
	}
	c := Select(acceptEncoding, have[:n]...)
	return e.Variants[c], c
}

// Select returns the coding that Accept-Encoding selects, of identity and those with these names,
// which are in order of preference.
func Select(acceptEncoding string, have ...string) Coding {
	if len(have) == 0 || acceptEncoding == "" {
		return Identity
	}
	c, _ := coding.Find(cachepolicy.Encoding(acceptEncoding, have...))
	return c
}
