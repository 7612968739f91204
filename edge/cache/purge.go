package cache

import (
	"slices"
	"time"

	"github.com/iconedge/iconedge/edge/cache/disk"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// Purge removes entries, or makes them stale, and returns how many. Each variant counts, but an
// entry that was stale by an earlier purge does not count again. Responses that are in flight are
// not stored as fresh. When Purge returns, the disk tier has recorded the purge; a purge of
// prefixes takes longer there, because it reads keys from disk.
//
// A purge of an address also concerns the response that the address shares with others (package
// queries).
func (c *Cache) Purge(p invalidation.Purge, now time.Time) int {
	learned := c.Queries.Learned()
	n := purge(c, c.Queries.Widen(p), now)
	if c.Queries.Learned() != learned {
		n += purge(c, c.Queries.Widen(p), now)
	}
	return n
}

// purge is Purge for the names in p alone.
func purge(c *Cache, p invalidation.Purge, now time.Time) int {
	p.Keys = slices.Compact(slices.Sorted(slices.Values(p.Keys)))
	c.janitor.mu.Lock()
	defer c.janitor.mu.Unlock()
	if p.Scans() {
		c.onDisk((*disk.Tier).Flush) // entries in the queue are counted on disk
		c.sweep()                    // dropped entries do not count as purged
	}
	s := invalidation.SpecOf(&c.seeds, &p, now)
	generation := c.invalidations.Apply(s)
	run := &purger{cache: c, generation: generation, soft: p.Soft, when: now}
	c.onDisk(func(d *disk.Tier) { d.RecordPurge(&p, generation, now, true) })
	run.purgeMemory(&p, s)
	c.onDisk(func(d *disk.Tier) { run.n += d.Purge(&p, s, generation, run.origins) })
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
