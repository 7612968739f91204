package cache

import (
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
	gone          []*Entry // those that were taken off their shelves
	origins       []*place // where those lie that came from disk
	buried, bytes int64    // those that only count no more
}

func (h *hits) inMemory(p *Purge, s *sentence) {
	if p.scans() {
		h.everywhere(s)
		h.cache.janitor.buried = h.cache.janitor.buried || !p.Soft
		return
	}
	for i, key := range p.Keys {
		h.under(key, s.labels[i])
	}
}

// under hits all entries of one address, and takes them away.
func (h *hits) under(key string, label uint64) {
	s := h.cache.shelf(label)
	s.mu.Lock()
	defer s.mu.Unlock()
	for e := range s.books[key].all() {
		switch {
		case !e.place.on || e.mark >= h.mark: // another purge has it, or it was asked for after this one began
		case h.soft:
			h.soften(e)
		default:
			h.cache.off(s, e)
			h.gone = append(h.gone, e)
			h.one(e)
		}
	}
}

// everywhere hits the entries that a sentence concerns, on several processors: most of the time goes by waiting for memory. The
// janitor takes them away.
func (h *hits) everywhere(rule *sentence) {
	parts := make([]hits, min(runtime.GOMAXPROCS(0), shelves))
	var wg sync.WaitGroup
	for p := range parts {
		parts[p] = *h
		wg.Go(func() {
			for i := p; i < shelves; i += len(parts) {
				parts[p].among(&h.cache.shelves[i], rule)
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

func (h *hits) among(s *shelf, rule *sentence) {
	concerns := rule.concerns()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.books {
		if r.varied == nil {
			h.bury(r.plain, concerns)
			continue
		}
		for e := range r.all() {
			h.bury(e, concerns)
		}
	}
}

// bury hits an entry, if it is concerned: it is not found any more, and not counted.
func (h *hits) bury(e *Entry, concerns func(*Entry) bool) {
	switch {
	case !e.place.on || e.mark >= h.mark || !concerns(e):
	case h.soft:
		h.soften(e)
	default:
		e.place.on = false
		h.buried++
		h.bytes += e.cost
		h.one(e)
	}
}

func (h *hits) soften(e *Entry) {
	if e.expire(h.when, h.mark) {
		h.one(e)
	}
}

// one counts an entry, and remembers where it lies on disk as well, where it is not counted again.
func (h *hits) one(e *Entry) {
	h.n++
	if e.origin != nil {
		h.origins = append(h.origins, e.origin)
	}
}
