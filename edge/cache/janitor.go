package cache

import (
	"maps"
	"sync"
)

// A janitor removes dropped and purged entries, in a goroutine of its own.
type janitor struct {
	bell, stop, gone chan struct{}

	mu     sync.Mutex // held while all entries are checked
	swept  Mark // every stored entry was checked against the invalidations up to here
	buried bool // a purge left entries in the shards for removal
	litter []uint64 // hashes that are in no shard, and still in ristretto
}

func (j *janitor) start(c *Cache) {
	j.bell, j.stop, j.gone = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(j.gone)
		for {
			select {
			case <-j.bell:
				c.tidy()
			case <-j.stop:
				return
			}
		}
	}()
}

func (j *janitor) end() {
	close(j.stop)
	<-j.gone
}

// trigger makes the janitor run soon.
func (j *janitor) call() {
	select {
	case j.bell <- struct{}{}:
	default: // it runs anyway
	}
}

// tidy removes dropped and purged entries.
func (c *Cache) tidy() {
	c.janitor.mu.Lock()
	many := c.marks.many()
	if many || c.janitor.buried {
		c.janitor.swept = 0 // every entry is checked
	}
	c.sweep()
	if many {
		c.marks.forget(c.janitor.swept) // every entry was checked
	}
	litter := c.janitor.litter
	c.janitor.litter = nil
	c.janitor.mu.Unlock()
	c.forget(litter)
	c.keepCompact()
}

// sweep removes dropped entries from the shards, if there was an invalidation since the last sweep.
// The caller holds the janitor's lock.
func (c *Cache) sweep() {
	now := c.marks.now()
	if c.janitor.swept >= now {
		return
	}
	for i := range c.shelves {
		c.sweepShelf(&c.shelves[i])
	}
	c.keepCompact() // soon: until then ristretto evicts entries because of the holes
	c.onDisk((*disk).sweep)
	c.janitor.swept, c.janitor.buried = now, false
}

func (c *Cache) sweepShelf(s *shelf) {
	inBatches(&s.mu, maps.Keys(s.books), func(hash uint64) {
		if l := s.at(hash); l != nil && (!l.is(onShelf) || !c.marks.keepCell(l)) {
			c.off(s, hash)
			c.janitor.litter = append(c.janitor.litter, hash)
		}
	})
}
