package cache

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	maxCell    = 32 << 10 // bytes of what the arena takes; larger entries are few, and stay on the heap
	minSlab    = 32 << 10
	maxSlab    = 1 << 20
	slabsInAll = 1 << 10 // so many slabs make up the ceiling, where these bounds allow it
	finer      = 32      // sizes of cells between two powers of two; up to 1,024 bytes all multiples of 16
	classes    = finer*7 + 1
)

// An arena holds pieces of memory where the garbage collector does not look. Its slabs are divided into cells of one size each:
// thirty-two sizes up to each power of two, so that little is lost by rounding. A slab whose cells are all free is given back.
//
// Who uses a cell sees to it that nobody else frees it meanwhile: here that is the lock of a shelf.
type arena struct {
	slabSize int
	bases    atomic.Pointer[[]unsafe.Pointer] // of the slabs, by their number

	mu    sync.Mutex
	slabs []*slab // by their number; nil: given back. There is none of number 0
	spare []uint32
	open  [classes]*slab // a list of those with room, by class
	holes [classes]int   // free cells among those that were in use once

	taken     atomic.Int64 // bytes of slabs that have been in use: these are resident
	waste     atomic.Int64 // those of them that are free
	emptiable atomic.Int64 // bytes of the slabs that would be given back if cells were moved together
}

// A slab is a region of memory that is divided into cells from its beginning, as they are needed.
type slab struct {
	memory          []byte
	number          uint32
	class           int
	size, room      int    // of a cell, and cells in all
	carved, live    int    // cells that were in use, and that are
	free            uint32 // one more than the offset of the first free cell among those carved; 0: none
	listed, leaving bool
	next, before    *slab
}

// A ref says where in the arena a cell lies.
type ref uint64

func refTo(slab uint32, off int) ref { return ref(slab)<<32 | ref(off) }

func (r ref) slab() uint32 { return uint32(r >> 32) }

func (r ref) off() int { return int(uint32(r)) }

// A hole is what a free cell begins with: a cell in use begins with a number that is not zero.
type hole struct {
	zero uint64
	next uint64
}

// init makes an arena for about so many bytes.
func (a *arena) init(most int64) {
	a.slabSize = minSlab
	for a.slabSize < maxSlab && int64(a.slabSize) < most/slabsInAll {
		a.slabSize *= 2
	}
	a.slabs = make([]*slab, 1)
	a.bases.Store(&[]unsafe.Pointer{nil})
}

// largest is how long a cell may be: some of them must fit into a slab.
func (a *arena) largest() int { return min(maxCell, a.slabSize/4) }

// classOf is the class of cells that have room for n bytes, and their size.
func classOf(n int) (class, size int) {
	shift := max(4, bits.Len(uint(n-1))-6)
	units := (n + 1<<shift - 1) >> shift
	return (shift-4)*finer + units, units << shift
}

// alloc finds room for n bytes, whose content is what was there before. It is not ok where the system gives no memory.
func (a *arena) alloc(n int) (r ref, ok bool) {
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

// take uses a cell of a slab that has one.
func (a *arena) take(s *slab) ref {
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
	a.leave(s.class, 1)
	return refTo(s.number, off)
}

// grow adds a slab.
func (a *arena) grow(class, size int) *slab {
	memory := mapSlab(a.slabSize)
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

// at is where a cell lies, for as long as it is in use.
func (a *arena) at(r ref) unsafe.Pointer { return unsafe.Add((*a.bases.Load())[r.slab()], r.off()) }

// size is how long the cell is.
func (a *arena) size(r ref) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.slabs[r.slab()].size
}

// free gives a cell back.
func (a *arena) free(r ref) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.slabs[r.slab()]
	*(*hole)(unsafe.Pointer(&s.memory[r.off()])) = hole{next: uint64(s.free)}
	s.free = uint32(r.off()) + 1
	s.live--
	a.waste.Add(int64(s.size))
	a.leave(s.class, -1)
	switch {
	case s.live == 0:
		a.remove(s)
	case !s.listed && !s.leaving:
		a.list(s)
	}
}

// leave counts holes of a class, less n, and what could be won by moving its cells together.
func (a *arena) leave(class, n int) {
	before := a.winnings(class)
	a.holes[class] -= n
	a.emptiable.Add(a.winnings(class) - before)
}

func (a *arena) winnings(class int) int64 {
	room := a.slabSize / classSize(class)
	return int64(a.holes[class]/room) * int64(a.slabSize)
}

// classSize is the size of the cells of a class.
func classSize(class int) int {
	shift := max(0, (class-1)/finer-1)
	return (class - shift*finer) << (shift + 4)
}

// remove gives an empty slab back to the system.
func (a *arena) remove(s *slab) {
	if s.listed {
		a.unlist(s)
	}
	a.leave(s.class, s.carved)
	a.waste.Add(-int64(s.carved * s.size))
	a.taken.Add(-int64(s.carved * s.size))
	a.slabs[s.number] = nil
	(*a.bases.Load())[s.number] = nil
	a.spare = append(a.spare, s.number)
	unmapSlab(s.memory)
}

// close gives everything back. Nobody may use a cell any more.
func (a *arena) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.slabs {
		if s != nil {
			a.remove(s)
		}
	}
}

func (a *arena) list(s *slab) {
	s.listed, s.before, s.next = true, nil, a.open[s.class]
	if s.next != nil {
		s.next.before = s
	}
	a.open[s.class] = s
}

func (a *arena) unlist(s *slab) {
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
