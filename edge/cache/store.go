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
	e, names := c.look(key, label)
	if names == nil {
		return e, false
	}
	for _, k := range secondary(names) {
		if e := c.variant(key, label, k, names); e != nil {
			return e, true
		}
	}
	return nil, true
}

// look returns what is stored under a key: an entry, or the names by which entries vary.
func (c *Cache) look(key string, label uint64) (e *Entry, names []string) {
	e, names, there := c.inMemory(key, label)
	if !there && names == nil && c.disk != nil && c.disk.knows(label) {
		return c.fromDisk(key, label)
	}
	return e, names
}

// inMemory is look in memory. What is there may have been dropped: then it is no entry.
func (c *Cache) inMemory(key string, label uint64) (e *Entry, names []string, there bool) {
	s := c.shelf(label)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if v := s.variedAt(key, label); v != nil {
		names = v.names
	} else {
		s.count(c, label)
	}
	l, hash := s.find(c, key, label, "")
	return c.living(s, l, hash), names, l != nil
}

func (c *Cache) variant(key string, label uint64, secondary string, names []string) *Entry {
	hash := c.seeds.hashOf(label, secondary)
	e, there := c.variantInMemory(key, label, secondary)
	if !there && c.disk != nil && c.disk.knowsVariant(hash) {
		return c.variantFromDisk(key, label, secondary, names, hash)
	}
	return e
}

func (c *Cache) variantInMemory(key string, label uint64, secondary string) (e *Entry, there bool) {
	s := c.shelf(label)
	s.mu.RLock()
	defer s.mu.RUnlock()
	l, hash := s.find(c, key, label, secondary) // it may be found by an alias
	s.count(c, hash)
	if v := s.variedAt(key, label); v != nil {
		v.use(hash)
	}
	return c.living(s, l, hash), l != nil
}

// count tells ristretto that a key was asked for. A shelf that is locked keeps it from being closed meanwhile.
func (s *shelf) count(c *Cache, hash uint64) {
	if !s.closed {
		c.lru.Get(hash)
	}
}

// living is the entry of a cell, unless it was dropped. Those who sweep take it off its shelf.
func (c *Cache) living(s *shelf, l *cell, hash uint64) *Entry {
	if l == nil || !c.marks.keepCell(l) {
		return nil
	}
	return c.entryOf(s, l, hash)
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
	return c.put(e, asked, func(s *shelf) bool {
		l, _ := s.find(c, e.Key, e.labels[0], e.Secondary)
		return l != nil && l.id == old.id
	})
}

// Alias makes a stored entry found under another secondary key too, until it is replaced. Nothing happens where that key has an
// entry of its own.
func (c *Cache) Alias(e *Entry, secondary string) {
	s := c.shelf(c.seeds.labelOfURL(e.Key))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alias(c, e, secondary)
}

func (c *Cache) put(e *Entry, asked Mark, fits func(*shelf) bool) bool {
	e.mark = asked
	c.label(e)
	p := parcels.Get().(*parcel)
	defer parcels.Put(p)
	compact := p.pack(e, c.arena.largest())
	s := c.shelf(e.hash)
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
	if old, ok := s.surplus(e); ok { // rivals are off: it is none of them
		c.push(s, old)
		rivals = append(rivals, old)
	}
	t, ok := c.shelve(s, e, p, compact)
	s.mu.Unlock()
	if c.disk != nil && e.origin == nil {
		c.disk.hide(e)
	}
	c.haveCompact() // before ristretto makes room for what is lost to holes
	c.hand(e.hash, t, rivals)
	return ok && c.has(e) // ristretto may not want what is too large for the front
}

// label prepares an entry for being stored.
func (c *Cache) label(e *Entry) {
	e.labels = c.seeds.labelsOf(e.few[:0], e.Key, e.Tags)
	e.hash = c.seeds.hashOf(e.labels[0], e.Secondary)
}

// shelve puts an entry on its shelf, which is locked, and in front. It is not ok where there is no memory for it.
func (c *Cache) shelve(s *shelf, e *Entry, p *parcel, compact bool) (t ticket, ok bool) {
	at, ok := onHeap, true
	if compact {
		p.share(&c.commons)
		at, ok = c.arena.alloc(p.cell.end())
	}
	if !ok {
		c.commons.leave(p.cell.common)
		return 0, false
	}
	e.id, e.home, e.cost = c.ids.Add(1), c, c.costOf(e, at)
	if compact {
		p.cell.number(e)
		p.unload((*cell)(c.arena.at(at)))
	} else {
		s.large[e.hash] = newBigCell(e)
	}
	l := s.put(e, at)
	c.counts.entries.Add(1)
	c.counts.bytes.Add(e.cost)
	for _, old := range c.front.advance(s, l, e.hash) {
		c.drop(s, old)
	}
	return ticketOf(e.id, l.cost), true
}

// costOf is what an entry counts: all that it takes, rounded up as memory is.
func (c *Cache) costOf(e *Entry, at ref) int64 {
	n := int64(perIndex)
	if at == onHeap {
		n += e.Cost()
	} else {
		n += int64(c.arena.size(at))
	}
	if e.Secondary != "" {
		n += perVaried
	}
	return (n + costUnit - 1) / costUnit * costUnit
}

// has reports whether an entry is still on its shelf.
func (c *Cache) has(e *Entry) bool {
	s := c.shelf(e.hash)
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := s.at(e.hash)
	return l != nil && l.id == e.id && l.is(onShelf)
}

// off takes an entry off its shelf, which is locked; it is false where the entry was purged already.
func (c *Cache) off(s *shelf, hash uint64) bool {
	l := s.at(hash)
	was := l.is(onShelf)
	if was {
		c.counts.entries.Add(-1)
		c.counts.bytes.Add(-l.bytesTaken())
	}
	c.front.leave(s, l)
	common := l.common
	if at := s.take(hash, l); at != onHeap {
		c.arena.free(at)
	}
	c.commons.leave(common)
	return was
}

// drop takes an entry off its shelf, which is locked, if neither the front nor ristretto keeps it.
func (c *Cache) drop(s *shelf, hash uint64) {
	l := s.at(hash)
	if l.state&(inFront|kept) == 0 {
		c.push(s, hash)
	}
}

// push takes an entry off its shelf, which is locked, to disk if there is a tier.
func (c *Cache) push(s *shelf, hash uint64) {
	l := s.at(hash)
	var e *Entry
	if c.disk != nil && l.is(onShelf) {
		e = c.leaving(s, l, hash)
	}
	if c.off(s, hash) {
		c.counts.evicted.Add(1)
		if e != nil {
			c.disk.offer(e)
		}
	}
}
