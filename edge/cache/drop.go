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
		c.Drop(&invalidation.Purge{Tags: tags}, time.Time{})
	}
}

// InvalidateAll invalidates everything.
func (c *Cache) InvalidateAll() {
	c.Drop(&invalidation.Purge{All: true}, time.Time{})
}

// Drop removes entries, or makes them stale, as Purge does, without counting them: it takes effect
// at once, however many there are, and the janitor removes them later. A crash may undo it.
func (c *Cache) Drop(p *invalidation.Purge, now time.Time) {
	generation := c.invalidations.Apply(invalidation.SpecOf(&c.seeds, p, now))
	c.onDisk(func(d *disk.Tier) { d.RecordPurge(p, generation, now, false) })
	c.counts.drops.Add(1)
	c.janitor.trigger()
}
