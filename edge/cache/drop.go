package cache

import (
	"time"

	"github.com/iconedge/iconedge/edge/cache/disk"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// Generation returns the generation for requests that begin now.
func (c *Cache) Generation() invalidation.Generation { return c.invalidations.Current() }

// Invalidate invalidates every entry that has one of the surrogate keys, also entries that are in
// flight.
func (c *Cache) Invalidate(tags ...string) {
	if len(tags) > 0 {
		c.applyDrop(&invalidation.Purge{Tags: tags}, time.Time{})
	}
}

// Expire makes every entry stale that has one of the surrogate keys, also entries that are in
// flight.
func (c *Cache) Expire(now time.Time, tags ...string) {
	if len(tags) > 0 {
		c.applyDrop(&invalidation.Purge{Tags: tags, Soft: true}, now)
	}
}

// InvalidateAll invalidates everything.
func (c *Cache) InvalidateAll() {
	c.applyDrop(&invalidation.Purge{All: true}, time.Time{})
}

// applyDrop makes a drop effective at once. The janitor removes its entries later.
func (c *Cache) applyDrop(p *invalidation.Purge, now time.Time) {
	generation := c.invalidations.Apply(invalidation.SpecOf(&c.seeds, p, now))
	c.onDisk(func(d *disk.Tier) { d.RecordPurge(p, generation, now, false) })
	c.counts.drops.Add(1)
	c.janitor.trigger()
}
