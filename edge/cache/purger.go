package cache

import (
	"maps"
	"runtime"
	"sync"
	"time"

	"github.com/iconedge/iconedge/edge/cache/batches"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/hashes"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
	"github.com/iconedge/iconedge/edge/cache/memory"
)

// A purger applies one purge to the entries in memory.
type purger struct {
	cache         *Cache
	generation    invalidation.Generation
	soft          bool
	when          time.Time
	n             int
	removed       []uint64       // hashes of entries that were removed from their shards
	origins       []entry.Origin // locations of affected entries that are on disk too
	purged, bytes int64          // entries in place that no longer count, and their bytes
}

func (h *purger) purgeMemory(p *invalidation.Purge, s *invalidation.Spec) {
	if p.Scans() {
		h.scan(s)
		h.cache.janitor.purged = h.cache.janitor.purged || !p.Soft
		return
	}
	for i, key := range p.Keys {
		if h.purgeKey(key, s.Labels[i]); (i+1)%batches.Size == 0 {
			batches.Pause((i + 1) / batches.Size)
		}
	}
}

// purgeKey removes all entries of one key, or expires them.
func (h *purger) purgeKey(key string, label uint64) {
	s := h.cache.shard(label)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, hash := range s.under(key, label) {
		l := s.at(hash)
		switch {
		// Another purge has removed it, or its request began after this purge.
		case !l.Is(memory.Live) || l.Generation >= h.generation:
		case h.soft:
			h.expire(s, l, hash)
		default:
			h.count(s, hash)
			h.cache.remove(s, hash)
			h.removed = append(h.removed, hash)
		}
	}
}

// scan applies the purge to all matching entries, on half of the processors: most of the time is
// spent waiting for memory, and requests need the other processors. The janitor removes the
// entries.
func (h *purger) scan(spec *invalidation.Spec) {
	parts := make([]purger, min(max(1, runtime.GOMAXPROCS(0)/2), hashes.Shards))
	matches := matcher(spec)
	var wg sync.WaitGroup
	for p := range parts {
		parts[p] = *h
		wg.Go(func() {
			for i := p; i < hashes.Shards; i += len(parts) {
				parts[p].scanShard(&h.cache.shards[i], matches)
			}
		})
	}
	wg.Wait()
	for _, part := range parts {
		h.n += part.n
		h.purged += part.purged
		h.bytes += part.bytes
		h.origins = append(h.origins, part.origins...)
	}
}

// matcher returns a function that reports whether a purge concerns the entry in a slot.
func matcher(s *invalidation.Spec) func(*memory.Slot) bool {
	labelsMatch, keyMatches := s.MatchesLabels(), s.MatchesPrefixes()
	if s.All || len(s.Prefixes) == 0 {
		return func(l *memory.Slot) bool { return labelsMatch(l.Labels()) }
	}
	return func(l *memory.Slot) bool { return labelsMatch(l.Labels()) || keyMatches(l.Key()) }
}

func (h *purger) scanShard(s *shard, matches func(*memory.Slot) bool) {
	batches.Each(&s.mu, maps.Keys(s.index), func(hash uint64) { h.purgeMatching(s, hash, matches) })
}

// purgeMatching purges an entry that matches: it is no longer found, and no longer counted.
func (h *purger) purgeMatching(s *shard, hash uint64, matches func(*memory.Slot) bool) {
	l := s.at(hash)
	switch {
	case l == nil || !l.Is(memory.Live) || l.Generation >= h.generation || !matches(l):
	case h.soft:
		h.expire(s, l, hash)
	default:
		l.State &^= memory.Live
		h.purged++
		h.bytes += l.Bytes()
		h.count(s, hash)
	}
}

func (h *purger) expire(s *shard, l *memory.Slot, hash uint64) {
	if l.Expire(h.when, h.generation) {
		h.count(s, hash)
	}
}

// count counts an affected entry, and collects its location on disk, where it is not counted again.
func (h *purger) count(s *shard, hash uint64) {
	h.n++
	if p := s.origins[hash]; p != nil {
		h.origins = append(h.origins, p)
	}
}
