package cache

const (
	maxRecent  = 4       // entries of each shelf
	recentSize = 4 << 10 // bytes of a cell whose entry is kept so
	recentPart = 64      // all of them may take one part in so many of the ceiling
)

// recents is how many entries each shelf may keep, as they were last taken out of their cells: of what is asked for again and
// again on the long way not every request makes a copy.
func recents(most int64) int {
	return int(min(maxRecent, most/recentPart/(shelves*recentMost)))
}

// recentMost is what one of them takes at most.
const recentMost = recentSize + overhead

// entryOf takes an entry out of its cell.
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

// lose forgets an entry whose cell goes.
func (s *shelf) lose(hash, id uint64) {
	if len(s.recent) == 0 {
		return
	}
	place := &s.recent[hash%uint64(len(s.recent))]
	if e := place.Load(); e != nil && e.id == id {
		place.Store(nil)
	}
}

// unpack makes an entry of a cell on a shelf.
func (c *Cache) unpack(s *shelf, l *cell, hash uint64) *Entry {
	if l.shape&large != 0 {
		return l.entry() // it is what was put there, and others read it
	}
	e := l.unpack(&c.commons)
	e.home, e.hash, e.origin = c, hash, s.origins[hash]
	return e
}

// leaving is an entry that goes to disk from its cell, with its aliases.
func (c *Cache) leaving(s *shelf, l *cell, hash uint64) *Entry {
	e := c.unpack(s, l, hash)
	if v := s.varied[l.label]; v != nil {
		e.aliases = v.aliasesOf(hash)
	}
	return e
}

// hit counts a use of an entry in its cell; 0, if it is no longer there.
func (c *Cache) hit(e *Entry) uint64 {
	s := c.shelf(e.hash)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if l := s.at(e.hash); l != nil && l.id == e.id {
		return l.hit()
	}
	return 0
}
