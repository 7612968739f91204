package cache

import (
	"maps"
	"sync"

	"github.com/iconedge/iconedge/edge/cache/batches"
	"github.com/iconedge/iconedge/edge/cache/disk"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
	"github.com/iconedge/iconedge/edge/cache/memory"
)

// A janitor removes dropped and purged entries, in a goroutine of its own.
type janitor struct {
	wake, stop, ended chan struct{}

	mu sync.Mutex // held while all entries are checked
	// Every stored entry was checked against the invalidations up to swept.
	swept    invalidation.Generation
	purged   bool     // a purge left entries in the shards for removal
	toRemove []uint64 // hashes that are in no shard, and still in ristretto
}

func (j *janitor) start(c *Cache) {
	j.wake, j.stop, j.ended = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(j.ended)
		for {
			select {
			case <-j.wake:
				c.tidy()
			case <-j.stop:
				return
			}
		}
	}()
}

func (j *janitor) end() {
	close(j.stop)
	<-j.ended
}

// trigger makes the janitor run soon.
func (j *janitor) trigger() {
	select {
	case j.wake <- struct{}{}:
	default: // it runs anyway
	}
}

// tidy removes dropped and purged entries.
func (c *Cache) tidy() {
	c.janitor.mu.Lock()
	many := c.invalidations.TooMany() && (c.disk == nil || !c.disk.Indexing())
	if many || c.janitor.purged {
		c.janitor.swept = 0 // every entry is checked
	}
	c.sweep()
	if many {
		c.invalidations.Discard(c.janitor.swept) // every entry was checked
	}
	toRemove := c.janitor.toRemove
	c.janitor.toRemove = nil
	c.janitor.mu.Unlock()
	c.removeFromLRU(toRemove)
	c.compactIfWasteful()
}

// sweep removes dropped entries from the shards, if there was an invalidation since the last sweep.
// The caller holds the janitor's lock.
func (c *Cache) sweep() {
	now := c.invalidations.Current()
	if c.janitor.swept >= now {
		return
	}
	for i := range c.shards {
		c.sweepShard(&c.shards[i])
	}
	c.compactIfWasteful() // soon: until then ristretto evicts entries because of the holes
	c.onDisk((*disk.Tier).Sweep)
	c.janitor.swept, c.janitor.purged = now, false
}

func (c *Cache) sweepShard(s *shard) {
	batches.Each(&s.mu, maps.Keys(s.index), func(hash uint64) {
		if l := s.at(hash); l != nil && (!l.Is(memory.Live) || !l.Check(&c.invalidations)) {
			c.remove(s, hash)
			c.janitor.toRemove = append(c.janitor.toRemove, hash)
		}
	})
}
