package cache

import (
	"maps"

	"github.com/iconedge/iconedge/edge/cache/batches"
	"github.com/iconedge/iconedge/edge/cache/memory"
)

// compactIfWasteful compacts if that releases enough memory.
func (c *Cache) compactIfWasteful() {
	if c.arena.Reclaimable() > c.loss {
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
	case c.arena.Reclaimable() <= c.loss:
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
	evacuating := c.arena.Evacuate()
	if evacuating == nil {
		return
	}
	for i := range c.shards {
		c.shards[i].evacuate(&c.arena, evacuating)
	}
	c.arena.EndEvacuation()
}

// evacuate moves the slots of a shard that are in slabs to be emptied. Only its index refers to
// them.
func (s *shard) evacuate(a *memory.Arena, evacuating []bool) {
	batches.Each(&s.mu, maps.Keys(s.index), func(hash uint64) {
		if r, ok := s.index[hash]; ok && r != onHeap && int(r.Slab()) < len(evacuating) && evacuating[r.Slab()] {
			s.index[hash] = a.Move(r)
		}
	})
}
