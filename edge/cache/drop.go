package cache

import "time"

// Invalidate invalidates every entry that has one of the surrogate keys, also entries that are in
// flight.
func (c *Cache) Invalidate(tags ...string) {
	if len(tags) == 0 {
		return
	}
	labels := make([]uint64, len(tags))
	for i, t := range tags {
		labels[i] = c.seeds.labelOfTag(t)
	}
	c.applyDrop(&purgeSpec{labels: labels}, &Purge{Tags: tags})
}

// InvalidateAll invalidates everything.
func (c *Cache) InvalidateAll() {
	c.applyDrop(&purgeSpec{all: true}, &Purge{All: true})
}

func (c *Cache) applyDrop(s *purgeSpec, p *Purge) {
	generation := c.invalidations.apply(s)
	c.onDisk(func(d *disk) { d.recordPurge(p, generation, time.Time{}, false) })
	c.counts.drops.Add(1)
	c.janitor.trigger()
}
