package hit

import (
	"sync/atomic"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/recent"
)

// normalised hold the normal forms of recent values of fields.
type normalised [256]atomic.Pointer[normalForm]

type normalForm struct{ name, value, normal string }

const acceptEncoding = "Accept-Encoding"

func asSent(value string) string { return value }

// normalEncoding returns the Accept-Encoding that origins get in place of value.
func normalEncoding(value string) string { return cachepolicy.NormalEncoding([]string{value}, false) }

// of returns the normal form of a value, to which first was applied. Each table has one first.
func (n *normalised) of(name string, value []byte, first func(string) string) string {
	if value == nil {
		return ""
	}
	at := recent.Slot(n[:], value)
	known := at.Load()
	if known == nil || known.value != string(value) || known.name != name {
		text := string(value)
		known = &normalForm{name, text, cachepolicy.NormaliseVary(name, first(text))}
		at.Store(known)
	}
	return known.normal
}
