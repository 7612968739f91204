package cache

// Get returns what is stored under a key whose answers do not vary, fresh or not; nil, if nothing is. What was dropped is not
// found.
func (c *Cache) Get(key string) *Entry {
	e, _ := c.look(key, c.seeds.labelOfURL(key))
	return e
}

// Find returns what is stored under a key for a request. Where the answers vary, it asks secondary for the secondary keys that
// the request may have for these names, and returns the first entry that is found under one of them; then varies is true,
// whether there is one or not.
func (c *Cache) Find(key string, secondary func(vary []string) []string) (e *Entry, varies bool) {
	label := c.seeds.labelOfURL(key)
	e, v := c.look(key, label)
	if v == nil {
		return e, false
	}
	for _, k := range secondary(v.names) {
		if e := c.variant(key, label, k, v.names); e != nil {
			return e, true
		}
	}
	return nil, true
}

// look returns what is stored under a key: an entry, or the record of a Vary.
func (c *Cache) look(key string, label uint64) (*Entry, *varied) {
	e, v := c.inMemory(key, label)
	if e == nil && v == nil && c.disk != nil && c.disk.knows(label) {
		e, v = c.fromDisk(key, label)
	}
	return c.living(e), v
}

func (c *Cache) inMemory(key string, label uint64) (*Entry, *varied) {
	s := c.shelf(label)
	s.mu.RLock()
	defer s.mu.RUnlock()
	v := s.books[key].varied
	if v == nil {
		s.count(c, label)
	}
	return s.find(key, ""), v
}

func (c *Cache) variant(key string, label uint64, secondary string, names []string) *Entry {
	hash := c.seeds.hashOf(label, secondary)
	e := c.variantInMemory(key, label, secondary, hash)
	if e == nil && c.disk != nil && c.disk.knowsVariant(hash) {
		e = c.variantFromDisk(key, label, secondary, names, hash)
	}
	return c.living(e)
}

func (c *Cache) variantInMemory(key string, label uint64, secondary string, hash uint64) *Entry {
	s := c.shelf(label)
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := s.find(key, secondary)
	if e != nil {
		hash = e.hash // it may be found by an alias
	}
	s.count(c, hash)
	return e
}

// count tells ristretto that a key was asked for. A shelf that is locked keeps it from being closed meanwhile.
func (s *shelf) count(c *Cache, hash uint64) {
	if !s.closed {
		c.lru.Get(hash)
	}
}

// living is e, unless it was dropped. Those who sweep take it off its shelf.
func (c *Cache) living(e *Entry) *Entry {
	if e == nil || !c.marks.keep(e) {
		return nil
	}
	return e
}

// Put stores an entry that was asked for at a mark, and reports whether it did: it does not if one of its tags, or its address,
// was dropped since, because nobody knows whether the answer was made before or after. One that was marked stale since is
// stored as that.
//
// An entry with Vary stands beside those of its key that vary by the same names, and replaces any other; one without it
// replaces them all.
func (c *Cache) Put(e *Entry, asked Mark) bool {
	return c.put(e, asked, func(*shelf) bool { return true })
}

// Replace stores an entry made from an older one, as Put does, if that is still what is stored under its keys.
func (c *Cache) Replace(old, e *Entry, asked Mark) bool {
	return c.put(e, asked, func(s *shelf) bool { return s.find(e.Key, e.Secondary) == old })
}

// Alias makes a stored entry found under another secondary key too, until it is replaced. Nothing happens where that key has an
// entry of its own.
func (c *Cache) Alias(e *Entry, secondary string) {
	s := c.shelf(c.seeds.labelOfURL(e.Key))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alias(e, secondary)
}

func (c *Cache) put(e *Entry, asked Mark, fits func(*shelf) bool) bool {
	e.mark = asked
	c.label(e)
	s := c.shelf(e.labels[0])
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	if s.closed || !fits(s) || !c.marks.keep(e) {
		s.mu.Unlock()
		return false
	}
	rivals := s.rivals(e)
	for _, old := range rivals {
		c.off(s, old)
	}
	c.on(s, e)
	s.mu.Unlock()
	if c.disk != nil && e.origin == nil {
		c.disk.hide(e)
	}
	c.hand(e, rivals)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return e.place.on // ristretto may not want what is too large for the front
}

// label prepares an entry for being stored.
func (c *Cache) label(e *Entry) {
	e.labels = append(e.few[:0], c.seeds.labelOfURL(e.Key))
	for _, t := range e.Tags {
		e.labels = append(e.labels, c.seeds.labelOfTag(t))
	}
	e.hash = c.seeds.hashOf(e.labels[0], e.Secondary)
	e.cost = e.Cost()
}

// on puts an entry on its shelf, which is locked, and in front.
func (c *Cache) on(s *shelf, e *Entry) {
	s.put(e)
	c.counts.entries.Add(1)
	c.counts.bytes.Add(e.cost)
	e.place.kept = true // until ristretto says otherwise
	for _, old := range c.front.advance(s, e) {
		c.drop(s, old)
	}
}

// off takes an entry off its shelf, which is locked; it is false where the entry was gone already.
func (c *Cache) off(s *shelf, e *Entry) bool {
	was := e.place.on
	if was {
		e.place.on = false
		c.counts.entries.Add(-1)
		c.counts.bytes.Add(-e.cost)
	}
	s.take(e)
	c.front.leave(s, e)
	return was
}

// drop takes an entry off its shelf, which is locked, if neither the front nor ristretto keeps it.
func (c *Cache) drop(s *shelf, e *Entry) {
	if e.place.inFront || e.place.kept || !c.off(s, e) {
		return
	}
	c.counts.evicted.Add(1)
	if c.disk != nil {
		c.disk.offer(e)
	}
}
