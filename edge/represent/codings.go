package represent

import (
	"strings"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/coding"
	"github.com/iconedge/iconedge/edge/recent"
)

// Codings hold recent values of Accept-Encoding, with the coding that each selects from every set
// of stored codings. They are safe for concurrent use.
type Codings [64]atomic.Pointer[Choice]

// A Choice is the coding that an Accept-Encoding selects, by the set of stored codings besides
// identity.
type Choice struct {
	field string
	of    [1 << (entry.Codings - 1)]entry.Coding
}

// In returns the coding in which the client gets the entry of a view.
func (c *Choice) In(v *cache.View) entry.Coding { return c.of[setOf(v)] }

// Of returns the coding that the client gets if these codings are stored besides identity.
func (c *Choice) Of(stored ...entry.Coding) entry.Coding {
	set := 0
	for _, one := range stored {
		set |= bit(one)
	}
	return c.of[set]
}

func bit(c entry.Coding) int { return 1 << (c - entry.Gzip) }

// setOf returns the set of the codings that a view has besides identity.
func setOf(v *cache.View) (set int) {
	for c := entry.Gzip; c < coding.InUse(); c++ {
		if v.Has(c) {
			set |= bit(c)
		}
	}
	return set
}

// Of returns the choices of an Accept-Encoding.
func (c *Codings) Of(field []byte) *Choice {
	at := recent.Slot(c[:], field)
	known := at.Load()
	if known == nil || known.field != string(field) {
		known = newChoice(string(field))
		at.Store(known)
	}
	return known
}

func newChoice(field string) *Choice {
	c := &Choice{field: strings.Clone(field)}
	for set := range 1 << (coding.InUse() - 1) {
		var names []string
		for _, one := range coding.All() {
			if set&bit(one) != 0 {
				names = append(names, one.String())
			}
		}
		c.of[set] = entry.Select(field, names...)
	}
	return c
}

// BrotliHits is the number of hits from which a response on the edge's own routes gets brotli. A
// response that is requested once is not worth its cost.
const BrotliHits = 2
