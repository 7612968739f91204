package cache

import (
	"bytes"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/codec"
	"github.com/iconedge/iconedge/edge/cache/entry"
)

// A view reads the response in a slot in place, without copying it. Its values are valid while the
// shard is locked.
type view struct {
	slot     *slot
	interned *interned
	head     entry.Head
	tag      [maxTag]byte
}

// A view makes the entity tag of a coding in a buffer of this size. A longer one is allocated.
const maxTag = 96

var quote = []byte{'"'}

// open reads a slot, if it has a Head and can be read in place. Its header must be interned, as it
// is unless the table is full.
func (v *view) open(l *slot, k *internTable) bool {
	if v.slot = l; l.isLarge() {
		return v.openLarge(l.entry())
	}
	if l.shape&withHead == 0 || l.interned == 0 {
		return false
	}
	v.interned = k.of(l.interned)
	off := l.start() + int(l.key) + int(l.secondary)
	v.head = l.headOf(v.interned, l.bytes(off, l.own+l.ownBody))
	return true
}

func (v *view) openLarge(e *entry.Entry) bool {
	if e.Head == nil {
		return false
	}
	v.head = *e.Head
	return true
}

// Freshness returns the policy of the response, or the policy after a soft purge. It decides
// whether the response may be used.
func (v *view) Freshness() cachepolicy.Entry { return v.slot.freshness(v.interned) }

// Head is never nil.
func (v *view) Head() *entry.Head { return &v.head }

// Hit counts one use, and returns how often the response has been used.
func (v *view) Hit() uint64 { return v.slot.countHit() }

// Has reports whether the response has a coding.
func (v *view) Has(c entry.Coding) bool {
	switch {
	case v.slot.isLarge():
		return v.slot.entry().Variants[c] != nil
	case c == entry.Identity:
		return true
	}
	return v.slot.shape&withCoding(c) != 0
}

// Body returns the body in a coding that the response has.
func (v *view) Body(c entry.Coding) []byte {
	if v.slot.isLarge() {
		return v.slot.entry().Variants[c].Body
	}
	return v.slot.bytes(v.slot.bodyStart(c), v.slot.body[c])
}

// ETag returns the entity tag of a coding that the response has. It is valid until the next call.
func (v *view) ETag(c entry.Coding) []byte {
	l := v.slot
	if l.isLarge() {
		return codec.AsBytes(l.entry().Variants[c].ETag)
	}
	tag := l.bytes(l.start()+int(l.tag), l.tagLen)
	if c == entry.Identity || len(tag) == 0 {
		return tag
	}
	b := append(append(v.tag[:0], bytes.TrimSuffix(tag, quote)...), '-') // as Suffixed
	return append(append(b, c.String()...), '"')
}
