package cache

import (
	"maps"
	"sync"
)

// A janitor removes, in a goroutine of its own, what was dropped, and takes from ristretto what was purged.
type janitor struct {
	bell, stop, gone chan struct{}

	mu     sync.Mutex // held while everything is looked at
	swept  Mark       // every stored entry was checked against what was invalidated up to here
	buried bool       // something on the shelves was purged
	litter []uint64   // hashes of what is off the shelves, and still with ristretto
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

// call makes the janitor come, soon.
func (j *janitor) call() {
	select {
	case j.bell <- struct{}{}:
	default: // it comes anyway
	}
}

// tidy takes away what was dropped or purged.
func (c *Cache) tidy() {
	c.janitor.mu.Lock()
	many := c.marks.many()
	if many || c.janitor.buried {
		c.janitor.swept = 0 // every entry is looked at
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

// sweep takes off the shelves what was dropped, if anything was since it last did. The janitor is locked.
func (c *Cache) sweep() {
	now := c.marks.now()
	if c.janitor.swept >= now {
		return
	}
	for i := range c.shelves {
		c.sweepShelf(&c.shelves[i])
	}
	c.keepCompact() // soon: until then ristretto makes room for what is lost to holes
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
