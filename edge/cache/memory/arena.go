// Package memory decides how entries are laid out in memory: in slots that the garbage collector
// does not scan, with the header text that entries share stored once.
package memory

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/iconedge/iconedge/edge/slabs"
)

const (
	// A slot has at most 32 KiB. Larger entries are few, and stay on the heap.
	maxSlot = 32 << 10
	minSlab = 32 << 10
	maxSlab = 1 << 20
	// The slab size is the ceiling divided by targetSlabs, within the bounds above.
	targetSlabs = 1 << 10
	// There are 32 slot sizes between two powers of two; up to 1,024 bytes they are all multiples
	// of 16.
	sizesPerDoubling = 32
	classes          = sizesPerDoubling*7 + 1
)

// An Arena holds memory that the garbage collector does not scan. Its slabs are divided into slots
// of one size each. There are 32 sizes up to each power of two, so that rounding wastes little. The
// arena releases a slab when all of its slots are free.
//
// A user of a slot must prevent others from freeing it meanwhile; the lock of a shard
// of the cache does.
type Arena struct {
	slabSize int
	bases    atomic.Pointer[[]unsafe.Pointer] // of the slabs, by number

	mu    sync.Mutex
	slabs []*slab // by number; nil: released. No slab has number 0
	spare []uint32
	open  [classes]*slab // lists of slabs with free slots, by class
	holes [classes]int   // free slots that were in use before, by class

	taken       atomic.Int64 // bytes of slots that have been in use: these are resident
	waste       atomic.Int64 // free bytes among them
	compactable atomic.Int64 // bytes of slabs that compaction would release
}

// A slab is a region of memory that is divided into slots from its start, as they are needed.
type slab struct {
	memory       []byte
	number       uint32
	class        int
	size, room   int // of a slot, and number of slots
	carved, live int // slots that have been in use, and that are in use
	// One more than the offset of the first free slot among those carved; 0 means none.
	free               uint32
	listed, evacuating bool
	next, before       *slab
}

// A Ref is the position of a slot in the arena.
type Ref uint64

func refTo(slab uint32, off int) Ref { return Ref(slab)<<32 | Ref(off) }

// Slab returns the number of the slab.
func (r Ref) Slab() uint32 { return uint32(r >> 32) }

func (r Ref) off() int { return int(uint32(r)) }

// A hole is the start of a free slot. A slot in use starts with a number that is not zero.
type hole struct {
	zero uint64
	next uint64
}

// Init prepares an arena for a ceiling of most bytes.
func (a *Arena) Init(most int64) {
	a.slabSize = minSlab
	for a.slabSize < maxSlab && int64(a.slabSize) < most/targetSlabs {
		a.slabSize *= 2
	}
	a.slabs = make([]*slab, 1)
	a.bases.Store(&[]unsafe.Pointer{nil})
}

// Used returns the bytes of slots in use.
func (a *Arena) Used() int64 { return a.taken.Load() - a.waste.Load() }

// Wasted returns the bytes of free slots that are resident.
func (a *Arena) Wasted() int64 { return a.waste.Load() }

// Reclaimable returns the bytes that compaction would release.
func (a *Arena) Reclaimable() int64 { return a.compactable.Load() }

// Largest returns the maximum size of a slot: a slab holds at least four.
func (a *Arena) Largest() int { return min(maxSlot, a.slabSize/4) }

// classOf returns the class of slots that hold n bytes, and their size.
func classOf(n int) (class, size int) {
	shift := max(4, bits.Len(uint(n-1))-6)
	units := (n + 1<<shift - 1) >> shift
	return (shift-4)*sizesPerDoubling + units, units << shift
}

// Alloc allocates a slot of at least n bytes, whose content is arbitrary. ok is false if the system
// has no memory.
func (a *Arena) Alloc(n int) (r Ref, ok bool) {
	class, size := classOf(n)
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.open[class]
	if s == nil {
		if s = a.grow(class, size); s == nil {
			return 0, false
		}
	}
	r = a.take(s)
	if s.live == s.room {
		a.unlist(s)
	}
	return r, true
}

// take allocates a slot of a slab that has a free one.
func (a *Arena) take(s *slab) Ref {
	s.live++
	if s.free == 0 {
		off := s.carved * s.size
		s.carved++
		a.taken.Add(int64(s.size))
		return refTo(s.number, off)
	}
	off := int(s.free - 1)
	s.free = uint32((*hole)(unsafe.Pointer(&s.memory[off])).next)
	a.waste.Add(-int64(s.size))
	a.removeHoles(s.class, 1)
	return refTo(s.number, off)
}

// grow adds a slab.
func (a *Arena) grow(class, size int) *slab {
	memory := slabs.Map(a.slabSize)
	if memory == nil {
		return nil
	}
	s := &slab{memory: memory, class: class, size: size, room: len(memory) / size}
	if n := len(a.spare); n > 0 {
		s.number, a.spare = a.spare[n-1], a.spare[:n-1]
		a.slabs[s.number] = s
		(*a.bases.Load())[s.number] = unsafe.Pointer(&memory[0])
	} else {
		s.number = uint32(len(a.slabs))
		a.slabs = append(a.slabs, s)
		bases := append(*a.bases.Load(), unsafe.Pointer(&memory[0]))
		a.bases.Store(&bases)
	}
	a.list(s)
	return s
}

// Slot returns a slot, which is valid while it is in use.
func (a *Arena) Slot(r Ref) *Slot { return (*Slot)(a.at(r)) }

func (a *Arena) at(r Ref) unsafe.Pointer { return unsafe.Add((*a.bases.Load())[r.Slab()], r.off()) }

// Size returns the size of the slot.
func (a *Arena) Size(r Ref) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.slabs[r.Slab()].size
}

// Free releases a slot.
func (a *Arena) Free(r Ref) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.slabs[r.Slab()]
	*(*hole)(unsafe.Pointer(&s.memory[r.off()])) = hole{next: uint64(s.free)}
	s.free = uint32(r.off()) + 1
	s.live--
	a.waste.Add(int64(s.size))
	a.removeHoles(s.class, -1)
	switch {
	case s.live == 0:
		a.remove(s)
	case !s.listed && !s.evacuating:
		a.list(s)
	}
}

// removeHoles subtracts n from the holes of a class, and updates compactable.
func (a *Arena) removeHoles(class, n int) {
	before := a.reclaimable(class)
	a.holes[class] -= n
	a.compactable.Add(a.reclaimable(class) - before)
}

func (a *Arena) reclaimable(class int) int64 {
	room := a.slabSize / classSize(class)
	return int64(a.holes[class]/room) * int64(a.slabSize)
}

// classSize returns the size of the slots of a class.
func classSize(class int) int {
	shift := max(0, (class-1)/sizesPerDoubling-1)
	return (class - shift*sizesPerDoubling) << (shift + 4)
}

// remove releases an empty slab to the system.
func (a *Arena) remove(s *slab) {
	if s.listed {
		a.unlist(s)
	}
	a.removeHoles(s.class, s.carved)
	a.waste.Add(-int64(s.carved * s.size))
	a.taken.Add(-int64(s.carved * s.size))
	a.slabs[s.number] = nil
	(*a.bases.Load())[s.number] = nil
	a.spare = append(a.spare, s.number)
	slabs.Unmap(s.memory)
}

// Close releases all slabs. No slot may be used afterwards.
func (a *Arena) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.slabs {
		if s != nil {
			a.remove(s)
		}
	}
}

func (a *Arena) list(s *slab) {
	s.listed, s.before, s.next = true, nil, a.open[s.class]
	if s.next != nil {
		s.next.before = s
	}
	a.open[s.class] = s
}

func (a *Arena) unlist(s *slab) {
	s.listed = false
	if s.next != nil {
		s.next.before = s.before
	}
	if s.before != nil {
		s.before.next = s.next
	} else {
		a.open[s.class] = s.next
	}
	s.next, s.before = nil, nil
}
