package ratelimit

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/iconedge/iconedge/edge/slabs"
)

// A pool hands out values, such as tables, which lie in slabs of memory. A slab without a value in
// use is released, except for one, so that taking and returning a value in turn maps nothing.
type pool[T any] struct {
	mu    sync.Mutex
	slabs []*slab[T]
}

// A slab is one huge page of values.
type slab[T any] struct {
	mapped []byte // nil: the slab is on the heap, because nothing can be mapped
	values []T
	free   []uint64 // a bit for each value
	used   int
}

// take returns a value of zeros.
func (p *pool[T]) take() *T {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.slabs {
		if s.used < len(s.values) {
			return s.take()
		}
	}
	s := newSlab[T](len(p.slabs) > 0)
	p.slabs = append(p.slabs, s)
	return s.take()
}

// newSlab returns a slab of values, with huge pages or without. The first slab of a limiter has
// none, because most limiters have few clients, and these would make all of it resident.
func newSlab[T any](huge bool) *slab[T] {
	var value T
	n := slabs.HugePage / int(unsafe.Sizeof(value))
	s := &slab[T]{mapped: slabs.Map(2 * slabs.HugePage), free: make([]uint64, (n+63)/64)}
	for i := range n {
		s.free[i/64] |= 1 << (i % 64)
	}
	if s.mapped == nil {
		s.values = make([]T, n)
		return s
	}
	memory := s.mapped
	if huge {
		memory = slabs.Huge(s.mapped)
	}
	s.values = unsafe.Slice((*T)(unsafe.Pointer(&memory[0])), n)
	return s
}

func (s *slab[T]) take() *T {
	for i, free := range s.free {
		if free != 0 {
			s.free[i] &= free - 1
			s.used++
			return &s.values[i*64+bits.TrailingZeros64(free)]
		}
	}
	panic("the slab is full")
}

// put takes back a value.
func (p *pool[T]) put(v *T) {
	var zero T
	*v = zero
	p.mu.Lock()
	defer p.mu.Unlock()
	spare := -1
	for i, s := range p.slabs {
		if n, ok := s.indexOf(v); ok {
			s.free[n/64] |= 1 << (n % 64)
			s.used--
		}
		if s.used > 0 {
			continue
		}
		if spare >= 0 {
			p.release(i)
			return
		}
		spare = i
	}
}

// indexOf returns the index of a value in the slab, if it is one of it.
func (s *slab[T]) indexOf(v *T) (i int, ok bool) {
	off := uintptr(unsafe.Pointer(v)) - uintptr(unsafe.Pointer(&s.values[0]))
	i = int(off / unsafe.Sizeof(*v))
	return i, i >= 0 && i < len(s.values)
}

// release releases slab i.
func (p *pool[T]) release(i int) {
	if m := p.slabs[i].mapped; m != nil {
		slabs.Unmap(m)
	}
	last := len(p.slabs) - 1
	p.slabs[i], p.slabs[last] = p.slabs[last], nil
	p.slabs = p.slabs[:last]
}

// releaseAll releases all slabs. No value may be in use.
func (p *pool[T]) releaseAll() {
	for len(p.slabs) > 0 {
		p.release(len(p.slabs) - 1)
	}
}

// pools hold the memory of a limiter.
type pools struct {
	tables *pool[table]
	chunks *pool[chunkBlocks]
}

// release releases all of p, none of which may be in use.
func (p pools) release() {
	p.tables.releaseAll()
	p.chunks.releaseAll()
}
