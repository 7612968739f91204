package cache

import (
	"cmp"
	"maps"
	"slices"
	"unsafe"
)

// evacuate selects the slabs to empty, those with the fewest slots in use first, and returns which
// they are, by number, or nil if there are none. They get no new slots.
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

// move copies a slot to another slab, and frees it. Without memory the slot stays.
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

// endEvacuation returns slabs that could not be emptied to use.
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

// compactIfWasteful compacts if that releases enough memory.
func (c *Cache) keepCompact() {
	if c.arena.emptiable.Load() > c.loss {
		c.compact()
	}
}

// smallCache is the number of entries up to which a request compacts by itself, which takes less
// than a millisecond.
const atOnce = 4 << 10

// requestCompaction compacts if that releases enough memory. In a large cache it leaves that to the
// janitor, so that no request waits for it.
func (c *Cache) haveCompact() {
	switch {
	case c.arena.emptiable.Load() <= c.loss:
	case c.counts.entries.Load() <= atOnce:
		c.compact()
	default:
		c.janitor.call()
	}
}

// compact moves the slots of sparse slabs together, so that these slabs can be released. It takes
// some milliseconds, and locks each shard for some tens of microseconds at a time.
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

// evacuate moves the slots of a shard that are in slabs to be emptied. Only its index refers to
// them.
func (s *shelf) gather(a *arena, leaving []bool) {
	inBatches(&s.mu, maps.Keys(s.books), func(hash uint64) {
		if r, ok := s.books[hash]; ok && r != onHeap && int(r.slab()) < len(leaving) && leaving[r.slab()] {
			s.books[hash] = a.move(r)
		}
	})
}
