package cache

import (
	"slices"
	"time"
)

// A Purge names what is to go: an entry to which any of it applies.
type Purge struct {
	Keys     []string // addresses, exactly; with all that is stored under one, however it varies
	Prefixes []string // of addresses
	Tags     []string // surrogate keys
	All      bool
	Soft     bool // mark it stale, instead of removing it
}

// Purge removes entries, or marks them stale, and returns how many that were: variants count each, and what was marked stale
// before does not count as marked again. Answers that are on their way at this moment are not stored as fresh. With a disk tier
// it is known there too when Purge returns; prefixes then take longer, because keys are read from disk.
func (c *Cache) Purge(p Purge, now time.Time) int {
	p.Keys = slices.Compact(slices.Sorted(slices.Values(p.Keys)))
	c.janitor.mu.Lock()
	defer c.janitor.mu.Unlock()
	if p.scans() {
		c.onDisk((*disk).flush) // what is on its way there is counted there
		c.sweep()               // what was dropped is not purged once more
	}
	s := specOf(&c.seeds, &p, now)
	mark := c.marks.apply(s)
	hit := &hits{cache: c, mark: mark, soft: p.Soft, when: now}
	c.onDisk(func(d *disk) { d.record(&p, mark, now, true) })
	hit.inMemory(&p, s)
	c.onDisk(func(d *disk) { hit.n += d.purge(&p, s, mark, hit.origins) })
	if c.janitor.swept == mark-1 {
		c.janitor.swept = mark
	}
	c.counts.purged.Add(uint64(hit.n))
	c.counts.entries.Add(-hit.buried)
	c.counts.bytes.Add(-hit.bytes)
	c.janitor.litter = append(c.janitor.litter, hit.gone...)
	c.janitor.call()
	return hit.n
}

// scans reports whether all entries must be looked at: the keys alone say where theirs are.
func (p *Purge) scans() bool { return p.All || len(p.Prefixes)+len(p.Tags) > 0 }
