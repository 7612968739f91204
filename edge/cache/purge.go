package cache

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Purge names what is to go: an entry to which any of it applies.
type Purge struct {
	Keys     []string // addresses, exactly; with all that is stored under one, however it varies
	Prefixes []string // of addresses
	Tags     []string // surrogate keys
	All      bool
	Soft     bool // mark it stale, instead of removing it
}

// Purge removes entries, or marks them stale, and returns how many that were: variants count each, and what was marked stale
// before does not count as marked again. Answers that are on their way at this moment are not stored as fresh.
func (c *Cache) Purge(p Purge, now time.Time) int {
	c.janitor.mu.Lock()
	defer c.janitor.mu.Unlock()
	if p.scans() {
		c.sweep() // what was dropped is not purged once more
	}
	s := c.sentence(p, now)
	mark := c.marks.rule(s)
	hit := &hits{cache: c, mark: mark, soft: p.Soft, when: now}
	if p.scans() {
		hit.everywhere(s)
		c.janitor.buried = c.janitor.buried || !p.Soft
	} else {
		for i, key := range p.Keys {
			hit.under(key, s.labels[i])
		}
	}
	if c.janitor.swept == mark-1 {
		c.janitor.swept = mark
	}
	c.counts.purged.Add(uint64(hit.n))
	c.counts.entries.Add(-hit.buried)
	c.counts.bytes.Add(-hit.bytes)
	c.janitor.litter = append(c.janitor.litter, hit.gone...)
	c.janitor.call()
	return hit.n
}

// scans reports whether all entries must be looked at: the keys alone say where theirs are.
func (p *Purge) scans() bool { return p.All || len(p.Prefixes)+len(p.Tags) > 0 }

func (c *Cache) sentence(p Purge, now time.Time) sentence {
	s := sentence{all: p.All, prefixes: p.Prefixes, soft: p.Soft, when: now}
	for _, k := range p.Keys {
		s.labels = append(s.labels, c.seeds.labelOfURL(k))
	}
	for _, t := range p.Tags {
		s.labels = append(s.labels, c.seeds.labelOfTag(t))
	}
	return s
}

// hits are the entries to which a purge applies.
type hits struct {
	cache         *Cache
	mark          Mark
	soft          bool
	when          time.Time
	n             int
	gone          []*Entry // those that were taken off their shelves
	buried, bytes int64    // those that only count no more
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
			h.n++
			h.gone = append(h.gone, e)
		}
	}
}

// everywhere hits the entries that a sentence concerns, on several processors: most of the time goes by waiting for memory. The
// janitor takes them away.
func (h *hits) everywhere(rule sentence) {
	parts := make([]hits, min(runtime.GOMAXPROCS(0), shelves))
	var wg sync.WaitGroup
	for p := range parts {
		parts[p] = *h
		wg.Go(func() {
			for i := p; i < shelves; i += len(parts) {
				parts[p].among(&h.cache.shelves[i], &rule)
			}
		})
	}
	wg.Wait()
	for _, part := range parts {
		h.n += part.n
		h.buried += part.buried
		h.bytes += part.bytes
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
		h.n++
		h.buried++
		h.bytes += e.cost
	}
}

func (h *hits) soften(e *Entry) {
	if e.expire(h.when) {
		h.n++
	}
}

// concerns is a function that reports whether the sentence is about an entry.
func (s *sentence) concerns() func(*Entry) bool {
	switch {
	case s.all:
		return func(*Entry) bool { return true }
	case len(s.labels) == 1 && len(s.prefixes) == 0:
		label := s.labels[0]
		return func(e *Entry) bool { return slices.Contains(e.labels, label) }
	}
	named := make(map[uint64]bool, len(s.labels))
	for _, l := range s.labels {
		named[l] = true
	}
	return func(e *Entry) bool {
		return slices.ContainsFunc(e.labels, func(l uint64) bool { return named[l] }) ||
			slices.ContainsFunc(s.prefixes, func(p string) bool { return strings.HasPrefix(e.Key, p) })
	}
}
