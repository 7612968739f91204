package cache

import (
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/iconedge/iconedge/cachepolicy"
)

// A cell is an entry as it is stored: one piece of memory without pointers, in the arena. What many entries have alike is a
// common one. Behind what is listed here lie the labels of its tags, then
//
//	text   key, secondary key, own lines of the head, those with a body; then whatever else the notes point to
//	notes  an encoder's, that say where in the text the rest of the entry stands; then its common, where that is its own
//	bodies identity, gzip, br
//
// An entry that is too large for the arena has a cell on the heap, with nothing behind it; what is said here of text is the
// entry's then.
//
// A shelf's lock guards its cells. What is atomic changes also while that is locked for reading.
type cell struct {
	id       uint64 // of the entry; 0 in a cell that is free
	mark     Mark   // at which it was asked for
	checked  atomic.Uint64
	hits     atomic.Uint64
	softened atomic.Int64  // when a soft purge made it stale, in nanoseconds; 0: none did
	by       atomic.Uint64 // the mark of that purge; 0: one of an earlier life
	stored   int64         // Policy.Stored, in nanoseconds; never: the zero time
	age      time.Duration
	lifetime time.Duration
	cost     uint32 // as it is counted, in units
	common   uint32 // the number of its common; 0: it follows the notes
	paints   int32

	key, secondary, own, ownBody uint16 // lengths in the text
	tag, tagLen                  uint16 // the identity body's entity tag in the text
	text, notes, ownCommon       uint16 // lengths
	body                         [3]uint16

	shape shape
	tags  uint8 // how many labels follow that of the address
	state state
	slot  uint8 // in the ring of its shelf, while it is there
	label uint64
}

const cellStart = int(unsafe.Sizeof(cell{}))

// costUnit is what costs are counted in, in bytes: the cells of the arena are multiples of it.
const costUnit = 16

// A shape says what there is of an entry.
type shape uint8

const (
	withHead shape = 1 << iota
	withGzip       // Gzip and Brotli, shifted
	withBrotli
	large // it is on the heap
)

// has is the shape with a coding.
func has(c Coding) shape { return withGzip << (c - Gzip) }

// A state is where an entry stands. It changes while its shelf is locked for writing.
type state uint8

const (
	onShelf state = 1 << iota // and not purged
	inFront                   // in the ring of its shelf
	kept                      // by ristretto, or on its way there
)

// A bigCell is that of an entry which is on the heap.
type bigCell struct {
	cell
	entry *Entry
}

func newBigCell(e *Entry) *bigCell {
	b := &bigCell{entry: e}
	b.shape = large
	b.number(e)
	return b
}

// entry is that of a large cell.
func (l *cell) entry() *Entry { return (*bigCell)(unsafe.Pointer(l)).entry }

// number gives a cell what its entry has become by being stored.
func (l *cell) number(e *Entry) {
	l.id, l.mark, l.label, l.cost = e.id, e.mark, e.labels[0], uint32(e.cost/costUnit)
	l.state = onShelf | kept // until ristretto says otherwise
	l.checked.Store(e.checked.Load())
	l.hits.Store(e.hits.Load())
	l.softened.Store(e.softened.Load())
	l.by.Store(e.by.Load())
}

func (l *cell) is(s state) bool { return l.state&s == s }

func (l *cell) bytes(off int, n uint16) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(l), off)), int(n))
}

func (l *cell) string(off int, n uint16) string {
	return unsafe.String((*byte)(unsafe.Add(unsafe.Pointer(l), off)), int(n))
}

// start is where the text begins.
func (l *cell) start() int { return cellStart + 8*int(l.tags) }

// end is where the cell ends.
func (l *cell) end() int {
	return l.bodyStart(Identity) + int(l.body[Identity]) + int(l.body[Gzip]) + int(l.body[Brotli])
}

func (l *cell) bodyStart(c Coding) int {
	off := l.start() + int(l.text) + int(l.notes) + int(l.ownCommon)
	for _, n := range l.body[:c] {
		off += int(n)
	}
	return off
}

// keyText is the key; it holds as long as the lock.
func (l *cell) keyText() string {
	if l.shape&large != 0 {
		return l.entry().Key
	}
	return l.string(l.start(), l.key)
}

func (l *cell) secondaryText() string {
	if l.shape&large != 0 {
		return l.entry().Secondary
	}
	return l.string(l.start()+int(l.key), l.secondary)
}

// labels are those of the address and of the surrogate keys.
func (l *cell) labels() []uint64 {
	if l.shape&large != 0 {
		return l.entry().labels
	}
	return unsafe.Slice(&l.label, 1+int(l.tags))
}

func (l *cell) subject() subject { return subject{l.keyText(), l.labels(), l.mark, &l.checked} }

// bytesTaken is what the cell counts.
func (l *cell) bytesTaken() int64 { return int64(l.cost) * costUnit }

// soften makes the entry stale from a moment on, and reports whether the purge with that mark did, or had done, so: another one
// may have been first.
func (l *cell) soften(when time.Time, by Mark) bool {
	if l.softened.CompareAndSwap(0, moment(when)) {
		l.by.Store(uint64(by))
	}
	if l.shape&large != 0 {
		l.entry().expire(when, by)
	}
	return l.by.Load() == uint64(by)
}

// hit counts one use.
func (l *cell) hit() uint64 {
	if l.shape&large != 0 {
		return l.entry().hits.Add(1)
	}
	return l.hits.Add(1)
}

// freshness is the policy, or what a soft purge left of it. Of the common the periods are used.
func (l *cell) freshness(c *common) cachepolicy.Entry {
	if l.shape&large != 0 {
		return l.entry().Freshness()
	}
	return expired(l.policy(c), l.softened.Load())
}

func (l *cell) policy(c *common) cachepolicy.Entry {
	p := c.policy
	p.Stored, p.Age, p.Lifetime = timeOf(l.stored), l.age, l.lifetime
	return p
}

// expired is a policy after a soft purge, in nanoseconds, if there was one.
func expired(p cachepolicy.Entry, softened int64) cachepolicy.Entry {
	if softened == 0 {
		return p
	}
	return p.Expired(time.Unix(0, softened))
}
