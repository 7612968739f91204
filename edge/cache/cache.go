// Package cache keeps complete answers, ready to be sent: status, header fields, the body in every coding. It is ristretto,
// which counts and evicts, behind a small synchronous front, so that an answer just stored is there for the next request; a
// flight for each key that is being asked for, which later callers wait for; and marks by which everything with a surrogate
// key is dropped at once, whatever is on its way at that moment. It decides nothing that HTTP decides: package cachepolicy
// judges entries, and the server asks it.
package cache

import (
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/ristretto/v2"
)

const (
	meanEntry = 2 << 10 // expected bytes of an entry, from which the number of frequency counters follows
	frontPart = 16      // the front may hold one part in so many of the ceiling
)

// A Cache is safe for concurrent use. Entries that it returned are never changed, but for codings that are added.
type Cache struct {
	lru     *ristretto.Cache[string, *Entry]
	front   *front
	marks   marks
	flights flights
	codings chan *Entry
	closed  chan struct{}
	closing sync.RWMutex // held for writing while the cache ends: ristretto does not bear writes then
	pending tally        // codings that are queued or being made
	entries atomic.Int64
	evicted atomic.Uint64
}

// New makes a cache whose entries take at most maxBytes, bodies and header fields together. Close ends it.
func New(maxBytes int64) (*Cache, error) {
	c := &Cache{front: newFront(maxBytes / frontPart), codings: make(chan *Entry, 1024), closed: make(chan struct{})}
	c.flights.init()
	lru, err := ristretto.NewCache(&ristretto.Config[string, *Entry]{
		NumCounters:        max(1<<10, 10*maxBytes/meanEntry),
		MaxCost:            max(1, maxBytes-maxBytes/frontPart),
		BufferItems:        64, // as its makers advise
		IgnoreInternalCost: true,
		OnEvict:            func(*ristretto.Item[*Entry]) { c.evicted.Add(1) },
		OnExit: func(e *Entry) {
			if e != nil {
				c.entries.Add(-1)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	c.lru = lru
	c.startCoders()
	return c, nil
}

// Close ends the cache's goroutines; what is stored after it may be forgotten. It may be called once.
func (c *Cache) Close() {
	c.closing.Lock()
	defer c.closing.Unlock()
	close(c.closed)
	c.lru.Close()
}

// Get returns what is stored under a key, fresh or not; nil, if nothing is. What was dropped is not found.
func (c *Cache) Get(key string) *Entry {
	e := c.front.get(key)
	if e == nil {
		e, _ = c.lru.Get(key)
	}
	if e == nil || e.Key != key {
		return nil
	}
	if !c.marks.keep(e) {
		c.remove(e)
		return nil
	}
	return e
}

// Put stores an entry that was asked for at a mark, and reports whether it did: it does not if one of its tags was dropped
// since, because nobody knows whether the answer was made before or after.
func (c *Cache) Put(e *Entry, asked Mark) bool {
	e.mark = asked
	if !c.marks.keep(e) {
		return false
	}
	e.reserve()
	inFront := c.front.put(e)
	c.set(e)
	if !inFront {
		c.settle() // too large for the front: it is taken in before the next request comes
	}
	c.encode(e)
	return true
}

// set hands an entry to ristretto, which takes it in later, if at all.
func (c *Cache) set(e *Entry) {
	c.closing.RLock()
	defer c.closing.RUnlock()
	c.entries.Add(1)
	if !c.lru.Set(e.Key, e, e.Cost()) {
		c.entries.Add(-1) // its queue is full; the front keeps the entry for now
	}
}

// settle waits until ristretto has taken in what it was handed.
func (c *Cache) settle() {
	c.closing.RLock()
	defer c.closing.RUnlock()
	c.lru.Wait()
}

func (c *Cache) remove(e *Entry) {
	c.front.remove(e)
	c.closing.RLock()
	defer c.closing.RUnlock()
	c.lru.Del(e.Key)
}

// Stats are plain counts, for metrics.
type Stats struct {
	Entries int64
	Bytes   int64 // of all entries, as they count against the ceiling
	Evicted uint64
	Drops   uint64 // times that something was dropped by its surrogate key
}

// Stats counts what is there now.
func (c *Cache) Stats() Stats {
	used := c.lru.MaxCost() - c.lru.RemainingCost()
	return Stats{Entries: max(0, c.entries.Load()), Bytes: used, Evicted: c.evicted.Load(), Drops: uint64(c.marks.now())}
}
