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
		c.sweep()               // dropped entries do not count as purged
	}
	s := specOf(&c.seeds, &p, now)
	generation := c.invalidations.apply(s)
	run := &purger{cache: c, generation: generation, soft: p.Soft, when: now}
	c.onDisk(func(d *disk) { d.recordPurge(&p, generation, now, true) })
	run.purgeMemory(&p, s)
	c.onDisk(func(d *disk) { run.n += d.purge(&p, s, generation, run.origins) })
	if c.janitor.swept == generation-1 {
		c.janitor.swept = generation
	}
	c.counts.purged.Add(uint64(run.n))
	c.counts.entries.Add(-run.purged)
	c.counts.bytes.Add(-run.bytes)
	c.janitor.toRemove = append(c.janitor.toRemove, run.removed...)
	c.janitor.trigger()
	return run.n
}

// scans reports whether a purge has to check all entries. Only keys lead directly to their entries.
func (p *Purge) scans() bool { return p.All || len(p.Prefixes)+len(p.Tags) > 0 }
