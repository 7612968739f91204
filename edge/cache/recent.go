package cache

const (
	maxRecent  = 4 // entries of each shard
	recentSize = 4 << 10 // bytes of a slot whose decoded entry is kept
	recentPart = 64 // share of the ceiling for all of them: 1/64
)

// decodedPerShard returns how many decoded entries each shard may keep, so that not every request
// of the slow path copies an entry that is requested often.
func recents(most int64) int {
	return int(min(maxRecent, most/recentPart/(shelves*recentMost)))
}

// decodedMost is the maximum size of one of them.
const recentMost = recentSize + overhead

// entryOf returns the entry of a slot, decoded before if possible.
func (c *Cache) entryOf(s *shelf, l *cell, hash uint64) *Entry {
	if l.shape&large != 0 {
		return l.entry()
	}
	if len(s.recent) == 0 || l.end() > recentSize {
		return c.unpack(s, l, hash)
	}
	place := &s.recent[hash%uint64(len(s.recent))]
	if e := place.Load(); e != nil && e.id == l.id && e.softened.Load() == l.softened.Load() {
		return e
	}
	e := c.unpack(s, l, hash)
	place.Store(e)
	return e
}

// forgetDecoded removes the decoded entry of a slot that is freed.
func (s *shelf) lose(hash, id uint64) {
	if len(s.recent) == 0 {
		return
	}
	place := &s.recent[hash%uint64(len(s.recent))]
	if e := place.Load(); e != nil && e.id == id {
		place.Store(nil)
	}
}

// decode decodes the entry of a slot.
func (c *Cache) unpack(s *shelf, l *cell, hash uint64) *Entry {
	if l.shape&large != 0 {
		return l.entry() // the stored entry itself, which others read too
	}
	e := l.unpack(&c.commons)
	e.home, e.hash, e.origin = c, hash, s.origins[hash]
	return e
}

// toEvict returns an entry that goes to disk, with its aliases.
func (c *Cache) leaving(s *shelf, l *cell, hash uint64) *Entry {
	e := c.unpack(s, l, hash)
	if v := s.varied[l.label]; v != nil {
		e.aliases = v.aliasesOf(hash)
	}
	return e
}

// countHit counts a use of a stored entry, and returns 0 if it is no longer stored.
func (c *Cache) hit(e *Entry) uint64 {
	s := c.shelf(e.hash)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if l := s.at(e.hash); l != nil && l.id == e.id {
		return l.hit()
	}
	return 0
}
