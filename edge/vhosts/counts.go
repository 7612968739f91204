package vhosts

import (
	"maps"
	"slices"
	"time"

	"github.com/iconedge/iconedge/edge/upstream"
)

// counts are the counts of several clients together. Origins with the same URL are one.
type counts struct {
	all     upstream.Stats // without Origins
	origins map[string]upstream.OriginStats
}

func (c *counts) add(s upstream.Stats) {
	all := &c.all
	all.Requests, all.Failures, all.Timeouts, all.Broken = all.Requests+s.Requests, all.Failures+s.Failures,
		all.Timeouts+s.Timeouts, all.Broken+s.Broken
	all.Retries, all.Open = all.Retries+s.Retries, all.Open+s.Open
	if c.origins == nil {
		c.origins = map[string]upstream.OriginStats{}
	}
	for _, o := range s.Origins {
		if known, ok := c.origins[o.URL]; ok {
			o.Healthy, o.Failures, o.Opened = known.Healthy && o.Healthy, known.Failures+o.Failures, known.Opened+o.Opened
		}
		c.origins[o.URL] = o
	}
}

// leave keeps the counts of a client that no site uses any more. b.mu is held.
func (b *Builder) leave(c *running) {
	if b.leaving == nil {
		b.leaving = map[*running]bool{}
	}
	b.leaving[c] = true
	time.AfterFunc(b.Drain, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.leaving, c)
		s := c.Stats()
		s.Open = 0 // they are closed
		b.ended.add(s)
		used := counts{}
		for _, c := range b.clients {
			used.add(c.Stats())
		}
		maps.DeleteFunc(b.ended.origins, func(url string, _ upstream.OriginStats) bool {
			_, ok := used.origins[url]
			return !ok
		})
	})
}

// Stats returns the counts of all clients together, also of those that a reload has ended: counts
// never fall. Its origins are those that a site uses.
func (b *Builder) Stats() upstream.Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	used, before := counts{}, counts{all: b.ended.all, origins: maps.Clone(b.ended.origins)}
	for _, c := range b.clients {
		used.add(c.Stats())
	}
	for c := range b.leaving {
		before.add(c.Stats())
	}
	before.add(used.all)
	all := before.all
	for _, url := range slices.Sorted(maps.Keys(used.origins)) {
		o := used.origins[url]
		o.Failures, o.Opened = o.Failures+before.origins[url].Failures, o.Opened+before.origins[url].Opened
		all.Origins = append(all.Origins, o)
	}
	return all
}
