package cache

import (
	"bytes"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/codec"
	"github.com/iconedge/iconedge/edge/cache/entry"
)

// A View reads a stored response in place, without copying it. It holds the lock of a shard, and
// its values are valid until Release. A caller must not call the cache meanwhile, and must release
// the view soon.
type View struct {
	shard    *shard
	slot     *slot
	interned *interned
	head     entry.Head
	tag      [maxTag]byte
}

// A View makes the entity tag of a coding in a buffer of this size. A longer one is allocated.

const maxTag = 96

var quote = []byte{'"'}

// View finds the entry that Get finds, if it has a Head and can be read in place. It counts as a
// request. If it returns false, the caller takes the slow path. The key need not outlive the call.
func (c *Cache) View(key string, v *View) bool {
	label := c.seeds.LabelOfKey(key)
	s := c.shard(label)
	s.mu.RLock()
	if l, _ := s.find(c, key, label, ""); l != nil && v.open(c, l) {
		s.count(c, label)
		v.shard, v.slot = s, l
		return true
	}
	s.mu.RUnlock()
	return false
}

// open reads a slot, if possible. Its header must be interned, as it is unless the table is full.
func (v *View) open(c *Cache, l *slot) bool {
	if !l.check(&c.invalidations) {
		return false
	}
	if l.shape&large != 0 {
		return v.openLarge(l.entry())
	}
	if l.shape&withHead == 0 || l.interned == 0 {
		return false
	}
	v.interned = c.interned.of(l.interned)
	off := l.start() + int(l.key) + int(l.secondary)
	v.head = l.headOf(v.interned, l.bytes(off, l.own+l.ownBody))
	return true
}

func (v *View) openLarge(e *entry.Entry) bool {
	if e.Head == nil {
		return false
	}
	v.head = *e.Head
	return true
}

// Release ends the view. It must be called exactly once after View returned true.
func (v *View) Release() { v.shard.mu.RUnlock() }

// Freshness returns the policy of the response, or the policy after a soft purge. It decides
// whether the response may be used.
func (v *View) Freshness() cachepolicy.Entry { return v.slot.freshness(v.interned) }

// Head is never nil.
func (v *View) Head() *entry.Head { return &v.head }

// Hit counts one use, and returns how often the response has been used.
func (v *View) Hit() uint64 { return v.slot.countHit() }

// Has reports whether the response has a coding.
func (v *View) Has(c entry.Coding) bool {
	switch {
	case v.slot.shape&large != 0:
		return v.slot.entry().Variants[c] != nil
	case c == entry.Identity:
		return true
	}
	return v.slot.shape&withCoding(c) != 0
}

// Body returns the body in a coding that the response has.
func (v *View) Body(c entry.Coding) []byte {
	if v.slot.shape&large != 0 {
		return v.slot.entry().Variants[c].Body
	}
	return v.slot.bytes(v.slot.bodyStart(c), v.slot.body[c])
}

// ETag returns the entity tag of a coding that the response has. It is valid until the next call.
func (v *View) ETag(c entry.Coding) []byte {
	l := v.slot
	if l.shape&large != 0 {
		return codec.AsBytes(l.entry().Variants[c].ETag)
	}
	tag := l.bytes(l.start()+int(l.tag), l.tagLen)
	if c == entry.Identity || len(tag) == 0 {
		return tag
	}
	b := append(append(v.tag[:0], bytes.TrimSuffix(tag, quote)...), '-') // as Suffixed
	return append(append(b, c.String()...), '"')
}
