package cache

import (
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/memory"
)

// AddCoding stores the body of e in one more content coding, if e is still stored. The entry keeps
// its place, its hits, and every purge that concerns it. Copies of e that requests hold do not
// change.
func (c *Cache) AddCoding(e *entry.Entry, coding entry.Coding, body []byte) bool {
	s := c.shard(e.Hash)
	coded, aliases := c.withCoding(s, e, coding, body)
	if coded == nil {
		return false
	}
	stored := c.put(coded, coded.Generation, func(s *shard) bool {
		l := s.at(e.Hash)
		if l == nil || l.ID != e.ID || !l.Is(memory.Live) {
			return false
		}
		l.CopyState(coded) // a purge may have arrived since withCoding
		return true
	})
	for _, a := range aliases {
		c.Alias(coded, a)
	}
	return stored
}

// withCoding returns a copy of a stored entry with one more body, and the other secondary keys of
// the entry. The copy is nil if the entry is no longer stored.
func (c *Cache) withCoding(s *shard, e *entry.Entry, coding entry.Coding, body []byte) (coded *entry.Entry, aliases []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := s.at(e.Hash)
	if s.closed || l == nil || l.ID != e.ID || !l.Is(memory.Live) {
		return nil, nil
	}
	old := c.decode(s, l, e.Hash)
	if v := s.variants[l.Label]; v != nil {
		aliases = v.aliasesOf(e.Hash)
	}
	coded = old.CopyConfirmed()
	coded.Head, coded.Generation = old.Head, old.Generation
	coded.SetCoded(coding, body)
	return coded, aliases
}
