// Package cache keeps complete answers, ready to be sent: status, header fields, the body in every coding. Each lies in one piece
// in an arena that the garbage collector does not walk, and what many have alike is stored once; a View reads one where it lies,
// an Entry is a copy of it. Shelves know them by address and variant; ristretto counts which are asked for and says which must go; a small front keeps the newest whatever it
// says, so that an answer just stored is there for the next request. What falls out of memory may go to a log on disk, from which
// it comes back, after a restart too. A collapsed fetch for each key that is being asked for is what later
// callers wait for; a spool lets them read a body that still comes. Marks drop everything with a surrogate key at once, whatever
// is on its way at that moment. The package decides nothing that HTTP decides: package cachepolicy judges entries, and the
// server asks it.
package cache

import (
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/ristretto/v2"
)

const (
	meanEntry = 2 << 10 // expected bytes of an entry, from which the number of frequency counters follows
	frontPart = 16      // the front may hold one part in so many of the ceiling; as much may wait for ristretto, or to be written to disk
	lossPart  = 32      // as much may be lost to holes between entries before these are moved
)

// Options say how much a cache may hold.
type Options struct {
	MaxBytes  int64  // of all entries in memory, bodies and header fields together
	Dir       string // folder of the disk tier, for one process alone; empty: there is none
	DiskBytes int64  // what the tier may take there; for each entry it also takes some 150 bytes of memory

	// Restored is called with an entry that was read from disk, before anybody else has it: Head is not kept there. May be nil.
	Restored func(*Entry)
	// Log is told what goes wrong with the tier, in the manner of slog. May be nil.
	Log func(msg string, args ...any)
}

// A Cache is safe for concurrent use.
type Cache struct {
	seeds   seeds
	ids     atomic.Uint64 // the last number of an entry
	arena   arena
	commons commons
	shelves [shelves]shelf
	lru     *ristretto.Cache[uint64, ticket]
	most    int64 // that ristretto may keep, where nothing is lost
	loss    int64 // to holes in the arena, beyond which it is compacted
	front   budget
	disk    *disk // nil: none
	marks   invalidations
	fetches fetches
	janitor janitor

	compacting sync.Mutex   // taken before the lock of a shelf
	closing    sync.RWMutex // held for writing while the cache ends: ristretto does not bear writes then
	closed     bool
	waiting    atomic.Int64 // bytes of entries that ristretto was handed and has not taken in
	counts     counts
}

type counts struct {
	entries, bytes         atomic.Int64
	evicted, drops, purged atomic.Uint64
}

// New makes a cache, with what is found in its folder. Close ends it.
func New(o Options) (*Cache, error) {
	c := &Cache{seeds: newSeeds(), front: budget{max: o.MaxBytes / frontPart}, loss: o.MaxBytes / lossPart}
	c.fetches.init()
	c.commons.init(o.MaxBytes)
	c.arena.init(o.MaxBytes)
	recent := recents(o.MaxBytes)
	for i := range c.shelves {
		c.shelves[i].init(&c.arena, recent)
	}
	counters := countersFor(o.MaxBytes)
	c.most = o.MaxBytes - 3*c.front.max - c.loss - shelves*recentMost*int64(recent) - sketch(counters)
	lru, err := ristretto.NewCache(&ristretto.Config[uint64, ticket]{
		NumCounters:        counters,
		MaxCost:            c.room(),
		BufferItems:        countsAtOnce,
		IgnoreInternalCost: true,
		ShouldUpdate:       func(_, _ ticket) bool { return false }, // an entry is taken in behind the removal of the one before
		Cost:               c.takenIn,
		OnEvict:            func(i *ristretto.Item[ticket]) { c.refused(i.Key, i.Value) },
		OnReject:           func(i *ristretto.Item[ticket]) { c.refused(i.Key, i.Value) },
	})
	if err != nil {
		return nil, err
	}
	c.lru = lru
	if o.Dir != "" {
		if err := c.openDisk(o); err != nil {
			lru.Close()
			return nil, err
		}
	}
	c.janitor.start(c)
	return c, nil
}

// countersFor is how many counters of frequency ristretto is to have: five to ten for an entry. It rounds up to a power of two, and
// its filter, of 9.6 bits for each, too: a little less than one takes half of what a little more would.
func countersFor(most int64) int64 {
	return 13 << max(10, bits.Len64(uint64(10*most/meanEntry))-1) / 16
}

// sketch is what they take, in bytes: four times four bits each, and the filter.
func sketch(counters int64) int64 {
	return 2<<bits.Len64(uint64(counters-1)) + 1<<bits.Len64(uint64(counters*96/10-1))/8
}

// Close ends the cache's goroutines; nothing is stored after it, and nothing found. What may be reused is written to the disk
// tier. It may be called once, when no View is held.
func (c *Cache) Close() {
	c.janitor.end()
	c.closing.Lock()
	defer c.closing.Unlock()
	c.closed = true
	for i := range c.shelves {
		c.shelves[i].close()
	}
	if c.disk != nil {
		c.disk.close(c.all())
	}
	c.lru.Close()
	for i := range c.shelves {
		c.shelves[i].clear()
	}
	c.arena.close()
}

// Stats are plain counts, for metrics.
type Stats struct {
	Entries int64
	Bytes   int64  // of all entries, as they count against the ceiling, with what is lost between them
	Evicted uint64 // entries that had to go because there was no room
	Drops   uint64 // times that something was dropped by its surrogate key
	Purged  uint64 // entries that a purge removed or marked stale

	DiskBytes   int64
	DiskEntries int64
	DiskHits    uint64 // entries that were brought back from disk
	DiskErrors  uint64 // reads and writes that failed, and records that were damaged
	DiskDropped uint64 // entries that were not written: too many at once, or too large
}

// Stats counts what is there now.
func (c *Cache) Stats() Stats {
	s := Stats{
		Entries: c.counts.entries.Load(), Evicted: c.counts.evicted.Load(),
		Bytes: c.counts.bytes.Load() + c.arena.waste.Load() + c.commons.bytes.Load(),
		Drops: c.counts.drops.Load(), Purged: c.counts.purged.Load(),
	}
	if d := c.disk; d != nil {
		d.mu.RLock()
		defer d.mu.RUnlock()
		s.DiskBytes, s.DiskEntries = d.bytes, d.index.there
		s.DiskHits, s.DiskErrors, s.DiskDropped = d.hits.Load(), d.errors.Load(), d.dropped.Load()
	}
	return s
}

// seeds of the hashes by which keys and surrogate keys are known. They differ from process to process, so that nobody outside
// can choose names that meet.
type seeds struct{ url, secondary, tag maphash.Seed }

func newSeeds() seeds { return seeds{maphash.MakeSeed(), maphash.MakeSeed(), maphash.MakeSeed()} }

// url is the label of an address: every entry has it besides those of its surrogate keys.
func (s *seeds) labelOfURL(key string) uint64 { return maphash.String(s.url, key) }

func (s *seeds) labelOfTag(tag string) uint64 { return maphash.String(s.tag, tag) }

// labelsOf appends the labels of an entry: that of its URL, and those of its surrogate keys.
func (s *seeds) labelsOf(labels []uint64, key string, tags []string) []uint64 {
	labels = append(labels, s.labelOfURL(key))
	for _, t := range tags {
		labels = append(labels, s.labelOfTag(t))
	}
	return labels
}

// hashOf is the hash of a variant, on the same shelf as others of its address; that of an answer without variants is the label of
// its address.
func (s *seeds) hashOf(label uint64, secondary string) uint64 {
	if secondary == "" {
		return label
	}
	return label ^ maphash.String(s.secondary, secondary)&^shelfBits
}
