package cache

import (
	"cmp"
	"maps"
	"slices"
	"unsafe"

	"github.com/iconedge/iconedge/edge/cache/batches"
)

// evacuate selects the slabs to empty, those with the fewest slots in use first, and returns which
// they are, by number, or nil if there are none. They get no new slots.
func (a *arena) evacuate() (evacuating []bool) {
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
			if evacuating == nil {
				evacuating = make([]bool, len(a.slabs))
			}
			a.unlist(s)
			s.evacuating, evacuating[s.number] = true, true
		}
	}
	return evacuating
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
func (a *arena) endEvacuation() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.slabs {
		if s != nil && s.evacuating {
			s.evacuating = false
			a.list(s)
		}
	}
}

// compactIfWasteful compacts if that releases enough memory.
func (c *Cache) compactIfWasteful() {
	if c.arena.compactable.Load() > c.loss {
		c.compact()
	}
}

// smallCache is the number of entries up to which a request compacts by itself, which takes less
// than a millisecond.
const smallCache = 4 << 10

// requestCompaction compacts if that releases enough memory. In a large cache it leaves that to the
// janitor, so that no request waits for it.
func (c *Cache) requestCompaction() {
	switch {
	case c.arena.compactable.Load() <= c.loss:
	case c.counts.entries.Load() <= smallCache:
		c.compact()
	default:
		c.janitor.trigger()
	}
}

// compact moves the slots of sparse slabs together, so that these slabs can be released. It takes
// some milliseconds, and locks each shard for some tens of microseconds at a time.
func (c *Cache) compact() {
	c.compacting.Lock()
	defer c.compacting.Unlock()
	evacuating := c.arena.evacuate()
	if evacuating == nil {
		return
	}
	for i := range c.shards {
		c.shards[i].evacuate(&c.arena, evacuating)
	}
	c.arena.endEvacuation()
}

// evacuate moves the slots of a shard that are in slabs to be emptied. Only its index refers to
// them.
func (s *shard) evacuate(a *arena, evacuating []bool) {
	batches.Each(&s.mu, maps.Keys(s.index), func(hash uint64) {
		if r, ok := s.index[hash]; ok && r != onHeap && int(r.slab()) < len(evacuating) && evacuating[r.slab()] {
			s.index[hash] = a.move(r)
		}
	})
}
