package memory

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// A Slot is an entry as it is stored: one piece of memory without pointers, in an Arena. Header
// text that many entries share is interned. After these fields come the labels of its tags, then
//
//	text   key, secondary key, own header lines, those sent with a body; then further text
//	spans  positions of that further text; then the header text, if that is not interned
//	bodies identity, gzip, br
//
// An entry that is too large for the arena has a slot on the heap without these parts; its text is
// that of the Entry.
//
// The lock of a shard of the cache guards its slots. Atomic fields also change while it is locked
// for reading.
type Slot struct {
	ID uint64 // of the entry; 0 in a free slot
	validity
	hits    atomic.Uint32
	counted atomic.Uint32 // the use of its shard at which ristretto last counted one of it; 0: none
	times
	Cost     uint32 // in units of CostUnit
	Interned uint32 // the number of its interned header; 0: it follows the spans
	paint    int32  // of its Head
	layout
	shape     shape
	tags      uint8 // number of labels after that of the key
	State     State
	RingIndex uint8  // index in the ring of its shard, while Recent
	Label     uint64 // of its key; the labels of its tags follow
}

// A validity says against which invalidations a slot was checked, and with what result.
type validity struct {
	Generation invalidation.Generation // at which its request began
	checked    atomic.Uint64
	ExpiredAt  atomic.Int64  // when a soft purge made it stale, in nanoseconds; 0: none did
	expiredBy  atomic.Uint64 // the generation of that purge; 0: one of an earlier run
}

// times are those of a policy.
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

const slotStart = int(unsafe.Sizeof(Slot{}))

// CostUnit is the unit of costs, in bytes: the sizes of the arena's slots are multiples of it.
const CostUnit = 16

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

// A State says which parts of the cache refer to an entry. It changes while the shard is locked for
// writing.
type State uint8

const (
	Live     State = 1 << iota // in its shard, and not purged
	Recent                     // in the recency window of its shard
	Admitted                   // in ristretto, or in its queue
)

// IsLarge reports whether the slot is on the heap.
func (l *Slot) IsLarge() bool { return l.shape&large != 0 }

// A HeapSlot is the slot of an entry on the heap.
type HeapSlot struct {
	Slot
	entry *entry.Entry
}

// NewHeapSlot returns a slot for an entry that is too large for the arena.
func NewHeapSlot(e *entry.Entry) *HeapSlot {
	b := &HeapSlot{entry: e}
	b.shape = large
	b.setStored(e)
	return b
}

// Entry returns the entry of a heap slot.
func (l *Slot) Entry() *entry.Entry { return (*HeapSlot)(unsafe.Pointer(l)).entry }

// setStored copies the values that the entry got when it was stored.
func (l *Slot) setStored(e *entry.Entry) {
	l.ID, l.Generation, l.Label, l.Cost = e.ID, e.Generation, e.Labels[0], uint32(e.Charged/CostUnit)
	l.State = Live | Admitted // until ristretto rejects it
	l.checked.Store(e.Checked.Load())
	l.hits.Store(uint32(min(e.Hits.Load(), math.MaxUint32)))
	l.ExpiredAt.Store(e.ExpiredAt.Load())
	l.expiredBy.Store(e.ExpiredBy.Load())
}

// Is reports whether the state includes s.
func (l *Slot) Is(s State) bool { return l.State&s == s }

func (l *Slot) bytes(off int, n uint16) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(l), off)), int(n))
}

func (l *Slot) string(off int, n uint16) string {
	return unsafe.String((*byte)(unsafe.Add(unsafe.Pointer(l), off)), int(n))
}

// start returns the offset of the text.
func (l *Slot) start() int { return slotStart + 8*int(l.tags) }

// Size returns the size of the slot.
func (l *Slot) Size() int {
	return l.bodyStart(entry.Identity) + int(l.body[entry.Identity]) + int(l.body[entry.Gzip]) + int(l.body[entry.Brotli])
}

func (l *Slot) bodyStart(c entry.Coding) int {
	off := l.start() + int(l.text) + int(l.spans) + int(l.ownHeader)
	for _, n := range l.body[:c] {
		off += int(n)
	}
	return off
}

// Key returns the key, which is valid while the shard is locked.
func (l *Slot) Key() string {
	if l.IsLarge() {
		return l.Entry().Key
	}
	return l.string(l.start(), l.key)
}

// Secondary returns the secondary key, which is valid as long.
func (l *Slot) Secondary() string {
	if l.IsLarge() {
		return l.Entry().Secondary
	}
	return l.string(l.start()+int(l.key), l.secondary)
}

// Labels returns the labels of the key and of the surrogate keys.
func (l *Slot) Labels() []uint64 {
	if l.IsLarge() {
		return l.Entry().Labels
	}
	return unsafe.Slice(&l.Label, 1+int(l.tags))
}

// Check reports whether the entry is valid. It checks an entry once between two purges.
func (l *Slot) Check(m *invalidation.Table) bool {
	return m.IsChecked(l.checked.Load()) ||
		m.Check(l.subject(), func(v invalidation.Latest) { l.Expire(time.Unix(0, v.When), v.Soft) })
}

func (l *Slot) subject() invalidation.Subject {
	return invalidation.Subject{Key: l.Key(), Labels: l.Labels(), Generation: l.Generation, Checked: &l.checked}
}

// Bytes returns the cost of the slot in bytes.
func (l *Slot) Bytes() int64 { return int64(l.Cost) * CostUnit }

// Expire makes the entry stale from a moment on. It reports whether the purge of that generation
// did so; another purge may have been first.
func (l *Slot) Expire(when time.Time, by invalidation.Generation) bool {
	if l.ExpiredAt.CompareAndSwap(0, entry.Moment(when)) {
		l.expiredBy.Store(uint64(by))
	}
	if l.IsLarge() {
		l.Entry().Expire(when, by)
	}
	return l.expiredBy.Load() == uint64(by)
}

// CountHit counts one use.
func (l *Slot) CountHit() uint64 {
	if l.IsLarge() {
		return l.Entry().Hits.Add(1)
	}
	return uint64(l.hits.Add(1))
}

// exactHits is the number of uses up to which SampleHit counts each.
const exactHits = 64

// SampleHit counts one use, and returns how often the slot has been used. Of a slot with many uses
// it counts one of several, at random, as that many, and returns 0 otherwise: processors would wait
// for the slot each time that another has counted. Each power of two is among the results, unless
// two are counted at once.
func (l *Slot) SampleHit() uint64 {
	n := l.hits.Load()
	if n < exactHits || l.IsLarge() {
		return l.CountHit()
	}
	step := uint32(1) << (bits.Len32(n) - bits.Len32(exactHits) + 1)
	if next := n/step*step + step; rand.Uint32()%step == 0 && l.hits.CompareAndSwap(n, next) {
		return uint64(next)
	}
	return 0
}

// CountDue reports whether ristretto has to count the nth use of the slot's shard, which is one of
// the slot: it does not count uses that are less than so many uses of the shard apart.
func (l *Slot) CountDue(nth, apart uint32) bool {
	if last := l.counted.Load(); last != 0 && nth-last < apart {
		return false
	}
	l.counted.Store(max(nth, 1))
	return true
}

// freshness returns the policy, or the policy after a soft purge. The interned header holds its
// periods.
func (l *Slot) freshness(c *interned) cachepolicy.Entry {
	if l.IsLarge() {
		return l.Entry().Freshness()
	}
	return entry.Expired(l.policy(c), l.ExpiredAt.Load())
}

// policy returns the policy, without soft purges.
func (t *times) policy(c *interned) cachepolicy.Entry {
	p := c.policy
	p.Stored, p.Age, p.Lifetime = timeOf(t.stored), t.age, t.lifetime
	return p
}
