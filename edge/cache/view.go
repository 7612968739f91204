package cache

import (
	"bytes"

	"github.com/iconedge/iconedge/cachepolicy"
)

// A View is a stored answer where it lies: nothing of it is copied. What it gives holds until Release, and so does the lock of a
// shelf: whoever has one takes what is to be sent, asks nothing else of the cache meanwhile, and releases it soon.
type View struct {
	shelf  *shelf
	cell   *cell
	common *common
	head   Head
	tag    [maxTag]byte
}

// maxTag is how long an entity tag may be for that of a coding to be made in a View; the longer ones cost memory.
const maxTag = 96

var quote = []byte{'"'}

// View finds what Get finds, if it has a Head, and lies where it may be looked at; if not, the long way finds out why. It counts as
// asked for. The key need not outlive the call.
func (c *Cache) View(key string, v *View) bool {
	label := c.seeds.labelOfURL(key)
	s := c.shelf(label)
	s.mu.RLock()
	if l, _ := s.find(c, key, label, ""); l != nil && v.open(c, l) {
		s.count(c, label)
		v.shelf, v.cell = s, l
		return true
	}
	s.mu.RUnlock()
	return false
}

// open looks into a cell, if that is possible. Its common is among those of all, but where these are too many.
func (v *View) open(c *Cache, l *cell) bool {
	if !c.marks.keepCell(l) {
		return false
	}
	if l.shape&large != 0 {
		return v.openLarge(l.entry())
	}
	if l.shape&withHead == 0 || l.common == 0 {
		return false
	}
	v.common = c.commons.of(l.common)
	off := l.start() + int(l.key) + int(l.secondary)
	v.head = l.headOf(v.common, l.bytes(off, l.own+l.ownBody))
	return true
}

func (v *View) openLarge(e *Entry) bool {
	if e.Head == nil {
		return false
	}
	v.head = *e.Head
	return true
}

// Release ends the view. It must be called once, where View was true.
func (v *View) Release() { v.shelf.mu.RUnlock() }

// Freshness decides whether the answer may be used: its policy, or what a soft purge left of it.
func (v *View) Freshness() cachepolicy.Entry { return v.cell.freshness(v.common) }

// Head is never nil.
func (v *View) Head() *Head { return &v.head }

// Hit counts one use, and returns how often the answer has been used.
func (v *View) Hit() uint64 { return v.cell.hit() }

// Has reports whether there is a body in a coding.
func (v *View) Has(c Coding) bool {
	switch {
	case v.cell.shape&large != 0:
		return v.cell.entry().variants[c] != nil
	case c == Identity:
		return true
	}
	return v.cell.shape&has(c) != 0
}

// Body is the body in a coding that is there.
func (v *View) Body(c Coding) []byte {
	if v.cell.shape&large != 0 {
		return v.cell.entry().variants[c].Body
	}
	return v.cell.bytes(v.cell.bodyStart(c), v.cell.body[c])
}

// ETag is the entity tag of the body in a coding that is there; it holds until the next is asked for.
func (v *View) ETag(c Coding) []byte {
	l := v.cell
	if l.shape&large != 0 {
		return asBytes(l.entry().variants[c].ETag)
	}
	tag := l.bytes(l.start()+int(l.tag), l.tagLen)
	if c == Identity || len(tag) == 0 {
		return tag
	}
	b := append(append(v.tag[:0], bytes.TrimSuffix(tag, quote)...), '-') // as Suffixed
	return append(append(b, c.String()...), '"')
}
