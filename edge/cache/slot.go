package cache

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// A slot is an entry as it is stored: one piece of memory without pointers, in the arena. Header
// text that many entries share is interned. After these fields come the labels of its tags, then
//
//	text   key, secondary key, own header lines, those sent with a body; then further text
//	spans  positions of that further text; then the header text, if that is not interned
//	bodies identity, gzip, br
//
// An entry that is too large for the arena has a slot on the heap without these parts; its text is
// that of the Entry.
//
// The lock of a shard guards its slots. Atomic fields also change while it is locked for reading.
type slot struct {
	id uint64 // of the entry; 0 in a free slot
	validity
	hits atomic.Uint64
	times
	cost     uint32 // in units of costUnit
	interned uint32 // the number of its interned header; 0: it follows the spans
	paints   int32  // ColourUses of its Head
	layout
	shape     shape
	tags      uint8 // number of labels after that of the key
	state     state
	ringIndex uint8 // index in the ring of its shard, while stateRecent
	label     uint64
}

// A validity says against which invalidations a slot was checked, and with what result.
type validity struct {
	generation invalidation.Generation // at which its request began
	checked    atomic.Uint64
	expiredAt  atomic.Int64  // when a soft purge made it stale, in nanoseconds; 0: none did
	expiredBy  atomic.Uint64 // the generation of that purge; 0: one of an earlier run
}

// The times are those of a slot's policy.
type times struct {
	stored        int64 // in nanoseconds; never: the zero time
	age, lifetime time.Duration
}

// A layout has the positions of a slot's parts.
type layout struct {
	key, secondary, own, ownBody uint16 // lengths in the text
	// The tag is the position of the identity body's entity tag in the text.
	tag, tagLen            uint16
	text, spans, ownHeader uint16 // lengths
	body                   [3]uint16
}

const slotStart = int(unsafe.Sizeof(slot{}))

// costUnit is the unit of costs, in bytes: the sizes of the arena's slots are multiples of it.
const costUnit = 16

// A shape says which parts an entry has.
type shape uint8

const (
	withHead shape = 1 << iota
	withGzip       // Gzip and Brotli, shifted
	withBrotli
	large // it is on the heap
)

// withCoding returns the bit of the shape for a coding.
func withCoding(c entry.Coding) shape { return withGzip << (c - entry.Gzip) }

// A state says which parts of the cache refer to an entry. It changes while the shard is locked for
// writing.
type state uint8

const (
	stateLive     state = 1 << iota // in its shard, and not purged
	stateRecent                     // in the recency window of its shard
	stateAdmitted                   // in ristretto, or in its queue
)

// isLarge reports whether the slot is on the heap.
func (l *slot) isLarge() bool { return l.shape&large != 0 }

// A heapSlot is the slot of an entry on the heap.
type heapSlot struct {
	slot
	entry *entry.Entry
}

// newHeapSlot returns a slot for an entry that is too large for the arena.
func newHeapSlot(e *entry.Entry) *heapSlot {
	b := &heapSlot{entry: e}
	b.shape = large
	b.setStored(e)
	return b
}

// entry returns the entry of a heap slot.
func (l *slot) entry() *entry.Entry { return (*heapSlot)(unsafe.Pointer(l)).entry }

// setStored copies the values that the entry got when it was stored.
func (l *slot) setStored(e *entry.Entry) {
	l.id, l.generation, l.label, l.cost = e.ID, e.Generation, e.Labels[0], uint32(e.Charged/costUnit)
	l.state = stateLive | stateAdmitted // until ristretto rejects it
	l.checked.Store(e.Checked.Load())
	l.hits.Store(e.Hits.Load())
	l.expiredAt.Store(e.ExpiredAt.Load())
	l.expiredBy.Store(e.ExpiredBy.Load())
}

// is reports whether the state includes s.
func (l *slot) is(s state) bool { return l.state&s == s }

func (l *slot) bytes(off int, n uint16) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(l), off)), int(n))
}

func (l *slot) string(off int, n uint16) string {
	return unsafe.String((*byte)(unsafe.Add(unsafe.Pointer(l), off)), int(n))
}

// start returns the offset of the text.
func (l *slot) start() int { return slotStart + 8*int(l.tags) }

// end returns the size of the slot.
func (l *slot) end() int {
	return l.bodyStart(entry.Identity) + int(l.body[entry.Identity]) + int(l.body[entry.Gzip]) + int(l.body[entry.Brotli])
}

func (l *slot) bodyStart(c entry.Coding) int {
	off := l.start() + int(l.text) + int(l.spans) + int(l.ownHeader)
	for _, n := range l.body[:c] {
		off += int(n)
	}
	return off
}

// keyText returns the key, which is valid while the shard is locked.
func (l *slot) keyText() string {
	if l.isLarge() {
		return l.entry().Key
	}
	return l.string(l.start(), l.key)
}

// secondaryText returns the secondary key, which is valid as long.
func (l *slot) secondaryText() string {
	if l.isLarge() {
		return l.entry().Secondary
	}
	return l.string(l.start()+int(l.key), l.secondary)
}

// labels returns the labels of the key and of the surrogate keys.
func (l *slot) labels() []uint64 {
	if l.isLarge() {
		return l.entry().Labels
	}
	return unsafe.Slice(&l.label, 1+int(l.tags))
}

// check reports whether the entry is valid. It checks an entry once between two purges.
func (l *slot) check(m *invalidation.Table) bool {
	return m.IsChecked(l.checked.Load()) ||
		m.Check(invalidation.Subject{Key: l.keyText(), Labels: l.labels(), Generation: l.generation, Checked: &l.checked}, func(v invalidation.Latest) { l.expire(time.Unix(0, v.When), v.Soft) })
}

// bytesTaken returns the cost of the slot in bytes.
func (l *slot) bytesTaken() int64 { return int64(l.cost) * costUnit }

// expire makes the entry stale from a moment on. It reports whether the purge of that generation
// did so; another purge may have been first.
func (l *slot) expire(when time.Time, by invalidation.Generation) bool {
	if l.expiredAt.CompareAndSwap(0, entry.Moment(when)) {
		l.expiredBy.Store(uint64(by))
	}
	if l.isLarge() {
		l.entry().Expire(when, by)
	}
	return l.expiredBy.Load() == uint64(by)
}

// countHit counts one use.
func (l *slot) countHit() uint64 {
	if l.isLarge() {
		return l.entry().Hits.Add(1)
	}
	return l.hits.Add(1)
}

// freshness returns the policy, or the policy after a soft purge. The interned header holds its
// periods.
func (l *slot) freshness(c *interned) cachepolicy.Entry {
	if l.isLarge() {
		return l.entry().Freshness()
	}
	return entry.Expired(l.policy(c), l.expiredAt.Load())
}

func (l *slot) policy(c *interned) cachepolicy.Entry {
	p := c.policy
	p.Stored, p.Age, p.Lifetime = timeOf(l.stored), l.age, l.lifetime
	return p
}
