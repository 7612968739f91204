// Package cache stores complete responses, ready to send: status, header fields and the body in
// every content coding.
//
// Each response is in one slot of an arena that the garbage collector does not scan, and header
// text that many responses share is interned. A View reads a response in place; an Entry is a copy.
// Shards index the slots by key and variant. Ristretto counts requests and decides evictions,
// except for a small recency window, which keeps a newly stored entry available for the next
// request. Evicted entries may go to a log on disk, from which they return, also after a restart.
// Callers of one key share a collapsed fetch, and a Spool lets them read a body while it arrives.
// Invalidations remove all entries with a surrogate key at once, and responses that are in flight
// at that moment are not stored.
//
// The package makes no decision that HTTP makes: package cachepolicy decides whether a response may
// be reused, and the server consults it.
package cache

import (
	"hash/maphash"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/ristretto/v2"
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
	Restored func(*Entry)
	// Log receives failures of the disk tier, with arguments as for slog. It may be nil.
	Log func(msg string, args ...any)
}

// A Cache is safe for concurrent use.
type Cache struct {
	seeds         seeds
	ids           atomic.Uint64 // the number of the newest entry
	arena         arena
	interned      internTable
	shards        [shards]shard
	lru           *ristretto.Cache[uint64, lruItem]
	most          int64 // bytes that ristretto may use if none are wasted
	loss          int64 // bytes of holes in the arena above which it is compacted
	window        recencyWindow
	disk          *disk // nil: none
	invalidations invalidations
	fetches       fetches
	janitor       janitor

	compacting sync.Mutex // taken before the lock of a shard
	// closing is locked while the cache closes, because ristretto does not allow writes then.
	closing      sync.RWMutex
	closed       bool
	pendingBytes atomic.Int64 // bytes of entries in ristretto's queue
	counts       counts
}

type counts struct {
	entries, bytes         atomic.Int64
	evicted, drops, purged atomic.Uint64
}

// New opens a cache, with the entries in its folder. Close ends it.
func New(o Options) (*Cache, error) {
	c := &Cache{seeds: newSeeds(), window: recencyWindow{max: o.MaxBytes / windowPart}, loss: o.MaxBytes / lossPart}
	c.fetches.init()
	c.interned.init(o.MaxBytes)
	c.arena.init(o.MaxBytes)
	recent := decodedPerShard(o.MaxBytes)
	for i := range c.shards {
		c.shards[i].init(&c.arena, recent)
	}
	counters := countersFor(o.MaxBytes)
	c.most = o.MaxBytes - 3*c.window.max - c.loss - shards*decodedMost*int64(recent) - countersSize(counters)
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
	c.janitor.end()
	c.closing.Lock()
	defer c.closing.Unlock()
	c.closed = true
	for i := range c.shards {
		c.shards[i].close()
	}
	if c.disk != nil {
		c.disk.close(c.all())
	}
	c.lru.Close()
	for i := range c.shards {
		c.shards[i].clear()
	}
	c.arena.close()
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
		Bytes: c.counts.bytes.Load() + c.arena.waste.Load() + c.interned.bytes.Load(),
		Drops: c.counts.drops.Load(), Purged: c.counts.purged.Load(),
	}
	if d := c.disk; d != nil {
		d.mu.RLock()
		defer d.mu.RUnlock()
		s.DiskBytes, s.DiskEntries = d.bytes, d.index.live
		s.DiskHits, s.DiskErrors, s.DiskDropped = d.hits.Load(), d.errors.Load(), d.dropped.Load()
	}
	return s
}

// seeds are the seeds of the hashes of keys and surrogate keys. They differ between processes, so
// that no client can choose names that collide.
type seeds struct{ url, secondary, tag maphash.Seed }

func newSeeds() seeds { return seeds{maphash.MakeSeed(), maphash.MakeSeed(), maphash.MakeSeed()} }

// labelOfKey returns the label of a key. Every entry has it besides the labels of its surrogate
// keys.
func (s *seeds) labelOfKey(key string) uint64 { return maphash.String(s.url, key) }

func (s *seeds) labelOfTag(tag string) uint64 { return maphash.String(s.tag, tag) }

// TargetTag returns the surrogate key that all entries with a target have whose keys begin with a
// scheme and a host. No response can name it, because surrogate keys have no spaces.
func TargetTag(target string) string { return " " + target }

// targetOf returns the target in a key that begins with a scheme and a host; other keys are targets
// themselves.
func targetOf(key string) (target string, sited bool) {
	_, rest, sited := strings.Cut(key, "://")
	if i := strings.IndexByte(rest, '/'); sited && key[0] != '/' && i >= 0 {
		return rest[i:], true
	}
	return key, false
}

// labelsOf appends the labels of an entry: that of its key, those of its surrogate keys, and that
// of its target, if the key has a scheme and a host.
func (s *seeds) labelsOf(labels []uint64, key string, tags []string) []uint64 {
	labels = append(labels, s.labelOfKey(key))
	if target, sited := targetOf(key); sited {
		labels = append(labels, s.labelOfTag(TargetTag(target)))
	}
	for _, t := range tags {
		labels = append(labels, s.labelOfTag(t))
	}
	return labels
}

// hashOf returns the hash of a variant, which is in the same shard as other variants of its key.
// The hash of a response without variants is the label of its key.
func (s *seeds) hashOf(label uint64, secondary string) uint64 {
	if secondary == "" {
		return label
	}
	return label ^ maphash.String(s.secondary, secondary)&^shardBits
}
