package cache

import "github.com/iconedge/iconedge/cachepolicy"

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

// SetIdentity gives a new entry its body and the entity tag of it.
func (e *Entry) SetIdentity(body []byte, etag string) {
	e.variants[Identity] = &Variant{Body: body, ETag: etag}
}

// Identity is the body as the origin made it; nil, while it still comes.
func (e *Entry) Identity() *Variant { return e.variants[Identity] }

// Variant is the body in a coding; nil, if it was not made because it would not be smaller.
func (e *Entry) Variant(c Coding) *Variant { return e.variants[c] }

// AsItIs keeps codings from being made: the body has one already, or its maker forbids it.
func (e *Entry) AsItIs() { e.plain = true }

// Choose returns the variant that an Accept-Encoding asks for, of those that are there.
func (e *Entry) Choose(acceptEncoding string) (*Variant, Coding) {
	var have [2]string
	n := 0
	for _, c := range [...]Coding{Brotli, Gzip} {
		if e.variants[c] != nil {
			have[n] = c.String()
			n++
		}
	}
	if n > 0 && acceptEncoding != "" {
		switch cachepolicy.Encoding(acceptEncoding, have[:n]...) {
		case cachepolicy.Brotli:
			return e.variants[Brotli], Brotli
		case cachepolicy.Gzip:
			return e.variants[Gzip], Gzip
		}
	}
	return e.Identity(), Identity
}
