package cache

import (
	"maps"
	"runtime"
	"sync"
	"time"
)

// A purger applies one purge to the entries in memory.
type hits struct {
	cache         *Cache
	mark          Mark
	soft          bool
	when          time.Time
	n             int
	gone          []uint64 // hashes of entries that were removed from their shards
	origins       []*place // locations of affected entries that are on disk too
	buried, bytes int64 // entries in place that no longer count, and their bytes
}

func (h *hits) inMemory(p *Purge, s *purgeSpec) {
	if p.scans() {
		h.everywhere(s)
		h.cache.janitor.buried = h.cache.janitor.buried || !p.Soft
		return
	}
	for i, key := range p.Keys {
		if h.under(key, s.labels[i]); (i+1)%batch == 0 {
			breathe((i + 1) / batch)
		}
	}
}

// purgeKey removes all entries of one key, or expires them.
func (h *hits) under(key string, label uint64) {
	s := h.cache.shelf(label)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, hash := range s.under(key, label) {
		l := s.at(hash)
		switch {
		case !l.is(onShelf) || l.mark >= h.mark: // another purge has removed it, or its request began after this purge
		case h.soft:
			h.soften(s, l, hash)
		default:
			h.one(s, hash)
			h.cache.off(s, hash)
			h.gone = append(h.gone, hash)
		}
	}
}

// scan applies the purge to all matching entries, on half of the processors: most of the time is
// spent waiting for memory, and requests need the other processors. The janitor removes the
// entries.
func (h *hits) everywhere(spec *purgeSpec) {
	parts := make([]hits, min(max(1, runtime.GOMAXPROCS(0)/2), shelves))
	concerns := spec.concerns()
	var wg sync.WaitGroup
	for p := range parts {
		parts[p] = *h
		wg.Go(func() {
			for i := p; i < shelves; i += len(parts) {
				parts[p].among(&h.cache.shelves[i], concerns)
			}
		})
	}
	wg.Wait()
	for _, part := range parts {
		h.n += part.n
		h.buried += part.buried
		h.bytes += part.bytes
		h.origins = append(h.origins, part.origins...)
	}
}

func (h *hits) among(s *shelf, concerns func(*cell) bool) {
	inBatches(&s.mu, maps.Keys(s.books), func(hash uint64) { h.bury(s, hash, concerns) })
}

// purgeMatching purges an entry that matches: it is no longer found, and no longer counted.
func (h *hits) bury(s *shelf, hash uint64, concerns func(*cell) bool) {
	l := s.at(hash)
	switch {
	case l == nil || !l.is(onShelf) || l.mark >= h.mark || !concerns(l):
	case h.soft:
		h.soften(s, l, hash)
	default:
		l.state &^= onShelf
		h.buried++
		h.bytes += l.bytesTaken()
		h.one(s, hash)
	}
}

func (h *hits) soften(s *shelf, l *cell, hash uint64) {
	if l.soften(h.when, h.mark) {
		h.one(s, hash)
	}
}

// count counts an affected entry, and collects its location on disk, where it is not counted again.
func (h *hits) one(s *shelf, hash uint64) {
	h.n++
	if p := s.origins[hash]; p != nil {
		h.origins = append(h.origins, p)
	}
}
