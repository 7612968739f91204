package cache

import (
	"cmp"
	"maps"
	"slices"
	"unsafe"
)

// vacate chooses the slabs that are to be emptied, those with the fewest cells in use first, and returns which these are, by
// number; nil, if there are none. Nothing new comes into them.
func (a *arena) vacate() (leaving []bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for class, holes := range a.holes {
		if holes == 0 || holes < a.slabSize/classSize(class) {
			continue
		}
		var sparse []*slab
		for s := a.open[class]; s != nil; s = s.next {
			sparse = append(sparse, s)
		}
		slices.SortFunc(sparse, func(s, o *slab) int { return cmp.Compare(s.live, o.live) })
		for _, s := range sparse[:min(len(sparse), holes/sparse[0].room)] {
			if leaving == nil {
				leaving = make([]bool, len(a.slabs))
			}
			a.unlist(s)
			s.leaving, leaving[s.number] = true, true
		}
	}
	return leaving
}

// move copies a cell to another slab, and frees it; where there is no memory it stays.
func (a *arena) move(r ref) ref {
	size := a.size(r)
	to, ok := a.alloc(size)
	if !ok {
		return r
	}
	copy(unsafe.Slice((*byte)(a.at(to)), size), unsafe.Slice((*byte)(a.at(r)), size))
	a.free(r)
	return to
}

// settle ends a move: slabs that could not be emptied are in use again.
func (a *arena) settle() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.slabs {
		if s != nil && s.leaving {
			s.leaving = false
			a.list(s)
		}
	}
}

// keepCompact compacts if so much is lost to holes that it can be won back.
func (c *Cache) keepCompact() {
	if c.arena.emptiable.Load() > c.loss {
		c.compact()
	}
}

// atOnce is how many entries may be there for a request to compact: that takes less than a millisecond.
const atOnce = 4 << 10

// haveCompact has the janitor compact, as keepCompact does, because a request is not to wait for that where there is much.
func (c *Cache) haveCompact() {
	switch {
	case c.arena.emptiable.Load() <= c.loss:
	case c.counts.entries.Load() <= atOnce:
		c.compact()
	default:
		c.janitor.call()
	}
}

// compact moves the cells of sparse slabs together, so that these can be given back. It is worth its time, some milliseconds in
// which a shelf is locked for some tens of microseconds, when much is lost to holes.
func (c *Cache) compact() {
	c.compacting.Lock()
	defer c.compacting.Unlock()
	leaving := c.arena.vacate()
	if leaving == nil {
		return
	}
	for i := range c.shelves {
		c.shelves[i].gather(&c.arena, leaving)
	}
	c.arena.settle()
}

// gather moves the cells of a shelf that lie in slabs that are to be emptied. Its books alone say where they lie.
func (s *shelf) gather(a *arena, leaving []bool) {
	inBatches(&s.mu, maps.Keys(s.books), func(hash uint64) {
		if r, ok := s.books[hash]; ok && r != onHeap && int(r.slab()) < len(leaving) && leaving[r.slab()] {
			s.books[hash] = a.move(r)
		}
	})
}
