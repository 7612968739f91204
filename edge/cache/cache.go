package cache

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/cache/disk"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/hashes"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
	"github.com/iconedge/iconedge/edge/cache/memory"
	"github.com/iconedge/iconedge/edge/cache/queries"
	"github.com/iconedge/iconedge/edge/clock"
)

const (
	// meanEntry is the expected size of an entry, which determines the number of frequency
	// counters.
	meanEntry = 2 << 10
	// The recency window may hold 1/windowPart of the ceiling. As much may wait for ristretto, and
	// as much for the disk.
	windowPart = 16
	lossPart   = 32 // holes may take 1/lossPart of the ceiling before slots are compacted
)

// Options limit the size of a cache.
type Options struct {
	MaxBytes  int64  // of all entries in memory, bodies and header fields together
	Dir       string // folder of the disk tier, which one process may use; empty: no disk tier
	DiskBytes int64  // size of the disk tier; each entry in it also takes about 150 bytes of memory

	// Restored is called with each entry that was read from disk before any other caller gets it,
	// because Head is not stored on disk. It may be nil.
	Restored func(*entry.Entry)
	// Clock measures lifetimes.
	Clock clock.Clock
	// Log receives failures of the disk tier, with arguments as for slog. It may be nil.
	Log func(msg string, args ...any)
}

// A Cache is safe for concurrent use.
type Cache struct {
	*collapse.Fetches // collapsed fetches
	Queries           *queries.Table

	seeds         hashes.Seeds
	ids           atomic.Uint64 // the number of the newest entry
	arena         memory.Arena
	interned      memory.Interned
	shards        [hashes.Shards]shard
	lru           *ristretto.Cache[uint64, lruItem]
	most          int64 // bytes that ristretto may use if none are wasted
	loss          int64 // bytes of holes in the arena above which it is compacted
	window        recencyWindow
	disk          *disk.Tier // nil: none
	invalidations invalidation.Table
	janitor       janitor

	compacting sync.Mutex // taken before the lock of a shard
	// closing is locked while the cache closes, because ristretto does not allow writes then.
	closing      sync.RWMutex
	closed       bool
	ended        chan struct{} // closed by Close
	pendingBytes atomic.Int64  // bytes of entries in ristretto's queue
	countApart   uint32        // uses of a shard between two of an entry that ristretto counts
	counts       counts
}

type counts struct {
	entries, bytes         atomic.Int64
	evicted, drops, purged atomic.Uint64
}

// New opens a cache, with the entries in its folder. Close ends it.
func New(o Options) (*Cache, error) {
	c := &Cache{seeds: hashes.NewSeeds(), window: recencyWindow{max: o.MaxBytes / windowPart},
		loss: o.MaxBytes / lossPart, ended: make(chan struct{})}
	c.Fetches = collapse.New(&c.seeds, &c.invalidations, o.Clock)
	c.Fetches.Reuse(c.ended)
	c.Queries = queries.New(c.invalidations.Current)
	c.interned.Init(o.MaxBytes)
	c.arena.Init(o.MaxBytes)
	recent := decodedPerShard(o.MaxBytes)
	for i := range c.shards {
		c.shards[i].init(&c.arena, recent)
	}
	counters := countersFor(o.MaxBytes)
	c.countApart = uint32(min(counters/hashes.Shards/usesPerPeriod, math.MaxUint32))
	c.most = o.MaxBytes - 3*c.window.max - c.loss - hashes.Shards*decodedMost*int64(recent) - countersSize(counters)
	lru, err := ristretto.NewCache(&ristretto.Config[uint64, lruItem]{
		NumCounters:        counters,
		MaxCost:            c.capacity(),
		BufferItems:        countsAtOnce,
		IgnoreInternalCost: true,
		// An older value is removed before the newer one is added.
		ShouldUpdate: func(_, _ lruItem) bool { return false },
		Cost:         c.admissionCost,
		OnEvict:      func(i *ristretto.Item[lruItem]) { c.onEvicted(i.Key, i.Value) },
		OnReject:     func(i *ristretto.Item[lruItem]) { c.onEvicted(i.Key, i.Value) },
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

// countersFor returns the number of ristretto's frequency counters: five to ten for each entry.
// Ristretto rounds it up to a power of two, and so does its filter, which has 9.6 bits for each
// counter. A number slightly below a power of two therefore takes half the memory of one slightly
// above.
func countersFor(most int64) int64 {
	return 13 << max(10, bits.Len64(uint64(10*most/meanEntry))-1) / 16
}

// countersSize returns the size of these counters in bytes: four rows of four bits for each
// counter, and the filter.
func countersSize(counters int64) int64 {
	return 2<<bits.Len64(uint64(counters-1)) + 1<<bits.Len64(uint64(counters*96/10-1))/8
}

// Close ends the cache's goroutines and writes reusable entries to the disk tier. Afterwards
// nothing is stored or found. It may be called once, when no View is held.
func (c *Cache) Close() {
	close(c.ended)
	c.janitor.end()
	c.closing.Lock()
	defer c.closing.Unlock()
	c.closed = true
	for i := range c.shards {
		c.shards[i].close()
	}
	if c.disk != nil {
		c.disk.Close(c.all())
	}
	c.lru.Close()
	for i := range c.shards {
		c.shards[i].clear()
	}
	c.arena.Close()
}

// Stats are counts for metrics.
type Stats struct {
	Entries int64
	Bytes   int64  // of all entries, as counted against the ceiling, with the waste between them
	Evicted uint64 // entries that were evicted to make room
	Drops   uint64 // invalidations by Invalidate and InvalidateAll
	Purged  uint64 // entries that a purge removed or made stale

	DiskBytes   int64
	DiskEntries int64
	DiskSlices  int64  // slices of large objects
	DiskHits    uint64 // entries that were read back from disk
	DiskErrors  uint64 // failed reads and writes, and damaged records
	// DiskDropped counts entries that were not written, because the queue was full or they were too
	// large.
	DiskDropped uint64
}

// Stats returns the current counts.
func (c *Cache) Stats() Stats {
	s := Stats{
		Entries: c.counts.entries.Load(), Evicted: c.counts.evicted.Load(),
		Bytes: c.counts.bytes.Load() + c.arena.Wasted() + c.interned.Bytes(),
		Drops: c.counts.drops.Load(), Purged: c.counts.purged.Load(),
	}
	if c.disk != nil {
		d := c.disk.Stats()
		s.DiskBytes, s.DiskEntries, s.DiskSlices, s.DiskHits, s.DiskErrors, s.DiskDropped = d.Bytes, d.Entries,
			d.Slices, d.Hits, d.Errors, d.Dropped
	}
	return s
}

// WithCredentials ends the key of the failures and hit-for-pass markers of requests with
// credentials.
const WithCredentials = "\x00credentials"
