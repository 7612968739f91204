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
	if len(tags) == 0 {
		return
	}
	labels := make([]uint64, len(tags))
	for i, t := range tags {
		labels[i] = c.seeds.LabelOfTag(t)
	}
	c.applyDrop(&invalidation.Spec{Labels: labels}, &invalidation.Purge{Tags: tags})
}

// InvalidateAll invalidates everything.
func (c *Cache) InvalidateAll() {
	c.applyDrop(&invalidation.Spec{All: true}, &invalidation.Purge{All: true})
}

func (c *Cache) applyDrop(s *invalidation.Spec, p *invalidation.Purge) {
	generation := c.invalidations.Apply(s)
	c.onDisk(func(d *disk.Tier) { d.RecordPurge(p, generation, time.Time{}, false) })
	c.counts.drops.Add(1)
	c.janitor.trigger()
}
