package entry

import "github.com/iconedge/iconedge/cachepolicy"

// MaxVariants is the maximum number of entries of a key, in memory and on disk each. The least
// recently used one is evicted first.
const MaxVariants = 256

// A Variant is a body in one content coding, with its entity tag.
type Variant struct {
	Body []byte
	ETag string
}

// A Coding is a content coding of an entry.
type Coding uint8

const (
	Identity Coding = iota
	Gzip
	Brotli
	Zstd // only forwarded responses have it
	Codings
)

var codingNames = [Codings]string{cachepolicy.Identity, cachepolicy.Gzip, cachepolicy.Brotli, cachepolicy.Zstd}

// String returns the name of the coding in Content-Encoding.
func (c Coding) String() string { return codingNames[c] }

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
	for c := Gzip; c < Codings; c++ {
		if e.Variants[c] != nil {
			have[n] = c.String()
			n++
		}
	}
	c := Select(acceptEncoding, have[:n]...)
	return e.Variants[c], c
}

// Select returns the coding that Accept-Encoding selects, of identity and those with these names.
func Select(acceptEncoding string, have ...string) Coding {
	if len(have) > 0 && acceptEncoding != "" {
		switch cachepolicy.Encoding(acceptEncoding, have...) {
		case cachepolicy.Brotli:
			return Brotli
		case cachepolicy.Zstd:
			return Zstd
		case cachepolicy.Gzip:
			return Gzip
		}
	}
	return Identity
}
