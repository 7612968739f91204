package cache

// Ristretto decides which entries stay. It takes them in by a goroutine of its own, from a queue, and may refuse them; what it
// is told about one hash is told in order, because whoever tells it holds the turn of the shelf. Its callbacks run on that
// goroutine, and so take a shelf's lock, which nobody holds while waiting for the queue, but never its turn.

// hand gives ristretto an entry in the place of others. Whatever it has under the same hash goes first: an update in place would
// not make room. Where too much waits to be taken in, or the entry is not in front, it waits, so that the ceiling holds.
func (c *Cache) hand(e *Entry, instead []*Entry) {
	c.closing.RLock()
	defer c.closing.RUnlock()
	if c.closed {
		return
	}
	for _, old := range instead {
		if old.hash != e.hash {
			c.lru.Del(old.hash)
		}
	}
	c.lru.Del(e.hash)
	waiting := c.waiting.Add(e.cost)
	for !c.lru.Set(e.hash, e, 0) {
		c.lru.Wait() // the queue is full
	}
	if waiting > c.front.max {
		c.lru.Wait()
	}
}

// takenIn is called when ristretto comes to an entry in its queue, and is what the entry counts.
func (c *Cache) takenIn(e *Entry) int64 {
	c.waiting.Add(-e.cost)
	return e.cost
}

// refused is called when ristretto does not, or no longer, keep an entry; e is nil if that was taken from it meanwhile.
func (c *Cache) refused(e *Entry) {
	if e == nil {
		return
	}
	s := c.shelf(e.labels[0])
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		e.place.kept = false
		c.drop(s, e)
	}
}

// forget takes from ristretto what is no longer on a shelf.
func (c *Cache) forget(gone []*Entry) {
	c.closing.RLock()
	defer c.closing.RUnlock()
	for _, e := range gone {
		if c.closed {
			return
		}
		s := c.shelf(e.labels[0])
		s.turn.Lock()
		s.mu.RLock()
		newer := s.find(e.Key, e.Secondary)
		s.mu.RUnlock()
		if newer == nil || newer.hash != e.hash { // else it went before that one came
			c.lru.Del(e.hash)
		}
		s.turn.Unlock()
	}
}

// settle waits until ristretto has taken in what it was handed.
func (c *Cache) settle() {
	c.closing.RLock()
	defer c.closing.RUnlock()
	if !c.closed {
		c.lru.Wait()
	}
}
