package cache

import (
	"maps"
	"runtime"
	"sync"
	"time"
)

// hits are the entries to which a purge applies.
type hits struct {
	cache         *Cache
	mark          Mark
	soft          bool
	when          time.Time
	n             int
	gone          []uint64 // hashes of those that were taken off their shelves
	origins       []*place // where those lie that came from disk
	buried, bytes int64    // those that only count no more
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

// under hits all entries of one address, and takes them away.
func (h *hits) under(key string, label uint64) {
	s := h.cache.shelf(label)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, hash := range s.under(key, label) {
		l := s.at(hash)
		switch {
		case !l.is(onShelf) || l.mark >= h.mark: // another purge has it, or it was asked for after this one began
		case h.soft:
			h.soften(s, l, hash)
		default:
			h.one(s, hash)
			h.cache.off(s, hash)
			h.gone = append(h.gone, hash)
		}
	}
}

// everywhere hits the entries that a purge concerns, on half of the processors: most of the time goes by waiting for memory, and
// requests need the others. The janitor takes them away.
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

// bury hits an entry, if it is concerned: it is not found any more, and not counted.
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

// one counts an entry, and remembers where it lies on disk as well, where it is not counted again.
func (h *hits) one(s *shelf, hash uint64) {
	h.n++
	if p := s.origins[hash]; p != nil {
		h.origins = append(h.origins, p)
	}
}
