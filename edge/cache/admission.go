package cache

// Ristretto decides which entries stay. It takes them in by a goroutine of its own, from a queue, and may refuse them; what it
// is told about one hash is told in order, because whoever tells it holds the turn of the shelf. Its callbacks run on that
// goroutine, and so take a shelf's lock, which nobody holds while waiting for the queue, but never its turn.

// A ticket is what ristretto keeps of an entry: its number, by which it is known from one that had the same hash before, and its
// cost in units. It is never 0.
type ticket uint64

const costBits = 28 // 4 GiB

func ticketOf(id uint64, cost uint32) ticket {
	return ticket(id<<costBits) | ticket(min(cost, 1<<costBits-1))
}

func (t ticket) bytes() int64 { return int64(t&(1<<costBits-1)) * costUnit }

func (t ticket) is(l *cell) bool { return l != nil && t == ticketOf(l.id, l.cost) }

// hand gives ristretto an entry in the place of others. Whatever it has under the same hash goes first: an update in place would
// not make room. Where too much waits to be taken in, or the entry is not in front, it waits, so that the ceiling holds. Without
// a ticket the others go, and that is all.
func (c *Cache) hand(hash uint64, t ticket, instead []uint64) {
	c.closing.RLock()
	defer c.closing.RUnlock()
	if c.closed {
		return
	}
	for _, old := range instead {
		if old != hash {
			c.lru.Del(old)
		}
	}
	c.lru.Del(hash)
	if t == 0 {
		return
	}
	c.lru.UpdateMaxCost(c.room())
	waiting := c.waiting.Add(t.bytes())
	for !c.lru.Set(hash, t, 0) {
		c.lru.Wait() // the queue is full
	}
	if waiting > c.front.max {
		c.lru.Wait()
	}
}

// room is how many bytes ristretto may keep: what is lost to holes, and to what entries have in common, is not there for them.
func (c *Cache) room() int64 { return max(1, c.most-c.arena.waste.Load()-c.commons.bytes.Load()) }

// takenIn is called when ristretto comes to an entry in its queue, and is what the entry counts.
func (c *Cache) takenIn(t ticket) int64 {
	c.waiting.Add(-t.bytes())
	return t.bytes()
}

// refused is called when ristretto does not, or no longer, keep an entry; t is 0 if that was taken from it meanwhile.
func (c *Cache) refused(hash uint64, t ticket) {
	if t == 0 {
		return
	}
	s := c.shelf(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.at(hash); !s.closed && t.is(l) {
		l.state &^= kept
		c.drop(s, hash)
	}
}

// forget takes from ristretto what is no longer on a shelf, a few at a time, because a store needs room in its queue.
func (c *Cache) forget(gone []uint64) {
	for n, hash := range gone {
		if !c.forgetOne(hash) {
			return
		}
		if (n+1)%batch == 0 {
			c.settle()
			breathe((n + 1) / batch)
		}
	}
}

// forgetOne is false when the cache is closed.
func (c *Cache) forgetOne(hash uint64) bool {
	c.closing.RLock()
	defer c.closing.RUnlock()
	if c.closed {
		return false
	}
	s := c.shelf(hash)
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.RLock()
	newer := s.at(hash)
	s.mu.RUnlock()
	if newer == nil { // else it went before that one came
		c.lru.Del(hash)
	}
	return true
}

// settle waits until ristretto has taken in what it was handed.
func (c *Cache) settle() {
	c.closing.RLock()
	defer c.closing.RUnlock()
	if !c.closed {
		c.lru.Wait()
	}
}
