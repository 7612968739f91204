package cache

import (
	"slices"
	"time"
)

// A Purge specifies entries: all to which any of its fields applies.
type Purge struct {
	Keys     []string // exact keys; all variants of a key are included
	Prefixes []string // of keys
	Tags     []string // surrogate keys
	All      bool
	Soft     bool // make the entries stale, instead of removing them
}

// Purge removes entries, or makes them stale, and returns how many. Each variant counts, but an
// entry that was stale by an earlier purge does not count again. Responses that are in flight are
// not stored as fresh. When Purge returns, the disk tier has recorded the purge; a purge of
// prefixes takes longer there, because it reads keys from disk.
func (c *Cache) Purge(p Purge, now time.Time) int {
	p.Keys = slices.Compact(slices.Sorted(slices.Values(p.Keys)))
	c.janitor.mu.Lock()
	defer c.janitor.mu.Unlock()
	if p.scans() {
		c.onDisk((*disk).flush) // entries in the queue are counted on disk
		c.sweep() // dropped entries do not count as purged
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

// scans reports whether a purge has to check all entries. Only keys lead directly to their entries.
func (p *Purge) scans() bool { return p.All || len(p.Prefixes)+len(p.Tags) > 0 }
