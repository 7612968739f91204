package ratelimit

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/iconedge/iconedge/edge/slabs"
)

// A pool hands out tables, which lie in slabs of memory. A slab without a table in use is released,
// except for one, so that taking and returning a table in turn maps nothing.
type pool struct {
	mu    sync.Mutex
	slabs []*slab
}

// A slab is memory for slabTables tables: one huge page.
type slab struct {
	mapped []byte // nil: the slab is on the heap, because nothing can be mapped
	tables *[slabTables]table
	free   uint64 // a bit for each table
}

const slabTables = slabs.HugePage / int(unsafe.Sizeof(table{}))

// take returns an empty table.
func (p *pool) take() *table {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slabs {
		if s.free != 0 {
			i := bits.TrailingZeros64(s.free)
			s.free &^= 1 << i
			return &s.tables[i]
		}
	}
	s := newSlab(len(p.slabs) > 0)
	s.free = allFree &^ 1
	p.slabs = append(p.slabs, s)
	return &s.tables[0]
}

// newSlab returns a slab of empty tables, with huge pages or without. The first slab of a limiter
// has none, because most limiters have few clients, and these would make all of it resident.
func newSlab(huge bool) *slab {
	mapped := slabs.Map(2 * slabs.HugePage)
	if mapped == nil {
		return &slab{tables: new([slabTables]table)}
	}
	memory := mapped
	if huge {
		memory = slabs.Huge(mapped)
	}
	return &slab{mapped: mapped, tables: (*[slabTables]table)(unsafe.Pointer(&memory[0]))}
}

// put takes back a table.
func (p *pool) put(t *table) {
	*t = table{}
	p.mu.Lock()
	defer p.mu.Unlock()
	spare := -1
	for i, s := range p.slabs {
		if n, ok := s.indexOf(t); ok {
			s.free |= 1 << n
		}
		if s.free != allFree {
			continue
		}
		if spare >= 0 {
			p.release(i)
			return
		}
		spare = i
	}
}

// indexOf returns the index of a table in the slab, if it is one of it.
func (s *slab) indexOf(t *table) (i uintptr, ok bool) {
	off := uintptr(unsafe.Pointer(t)) - uintptr(unsafe.Pointer(s.tables))
	return off / unsafe.Sizeof(*t), off < unsafe.Sizeof(*s.tables)
}

// release releases slab i.
func (p *pool) release(i int) {
	if m := p.slabs[i].mapped; m != nil {
		slabs.Unmap(m)
	}
	last := len(p.slabs) - 1
	p.slabs[i], p.slabs[last] = p.slabs[last], nil
	p.slabs = p.slabs[:last]
}

// releaseAll releases all slabs. No table may be in use.
func (p *pool) releaseAll() {
	for len(p.slabs) > 0 {
		p.release(len(p.slabs) - 1)
	}
}
