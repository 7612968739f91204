package cache

import (
	"math/rand/v2"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
	"github.com/iconedge/iconedge/edge/cache/memory"
)

const (
	// perIndex is the size of an entry's part of the maps of a shard and of ristretto, which are
	// half to nearly full.
	perIndex   = 160
	perVariant = 320 // size of an entry's part of a variant set
)

// Get returns the entry under a key without variants, fresh or not, or nil. It does not return
// dropped entries.
func (c *Cache) Get(key string) *entry.Entry {
	e, _ := c.lookup(key, c.seeds.LabelOfKey(key))
	return e
}

// Find returns the entry under a key for a request. If the key has variants, Find calls secondary
// with the names in Vary for the secondary keys of the request, and returns the first entry under
// one of them. varies is then true, whether an entry was found or not.
func (c *Cache) Find(key string, secondary func(vary []string) []string) (e *entry.Entry, varies bool) {
	label := c.seeds.LabelOfKey(key)
	e, names := c.lookup(key, label)
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

// Reads reports whether Get may read the entry of a key from disk.
func (c *Cache) Reads(key string) bool {
	return c.disk != nil && c.disk.HasKey(c.seeds.LabelOfKey(key))
}

// lookup returns the entry under a key, or the names by which the entries of the key vary.
func (c *Cache) lookup(key string, label uint64) (e *entry.Entry, names []string) {
	e, names, there := c.inMemory(key, label)
	if !there && names == nil && c.disk != nil && c.disk.HasKey(label) {
		return c.fromDisk(key, label)
	}
	return e, names
}

// inMemory is lookup in memory. If the entry there was dropped, there is true and e is nil.
func (c *Cache) inMemory(key string, label uint64) (e *entry.Entry, names []string, there bool) {
	s := c.shard(label)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if v := s.variantsAt(key, label); v != nil {
		names = v.names
	} else {
		s.count(c, label)
	}
	l, hash := s.find(c, key, label, "")
	return c.liveEntry(s, l, hash), names, l != nil
}

func (c *Cache) variant(key string, label uint64, secondary string, names []string) *entry.Entry {
	hash := c.seeds.HashOf(label, secondary)
	e, there := c.variantInMemory(key, label, secondary)
	if !there && c.disk != nil && c.disk.HasVariant(hash) {
		return c.variantFromDisk(key, label, secondary, names, hash)
	}
	return e
}

func (c *Cache) variantInMemory(key string, label uint64, secondary string) (e *entry.Entry, there bool) {
	s := c.shard(label)
	s.mu.RLock()
	defer s.mu.RUnlock()
	l, hash := s.find(c, key, label, secondary) // an alias may lead to it
	s.count(c, hash)
	if v := s.variantsAt(key, label); v != nil {
		v.use(hash)
	}
	return c.liveEntry(s, l, hash), l != nil
}

// count makes ristretto count a request for a key. While the shard is locked, ristretto cannot be
// closed.
func (s *shard) count(c *Cache, hash uint64) {
	if !s.closed {
		c.lru.Get(hash)
	}
}

// countUse makes ristretto count a use of a stored entry, unless it has counted one shortly before.
// Ristretto's counters end at 15, and are halved after as many counts as there are of them. An
// entry that is in constant use is still counted usesPerPeriod times until then. Each count reads
// several lines of memory that are in no cache of the processor.
func (s *shard) countUse(c *Cache, l *memory.Slot, hash uint64) {
	if l.CountDue(s.use(c.countApart/usesApart), c.countApart) {
		s.count(c, hash)
	}
}

// use counts a use of the hit path: one of about so many, at random, as that many, because
// processors wait for a count that another has just changed. It returns the number of uses so far.
func (s *shard) use(step uint32) uint32 {
	if step <= 1 {
		return s.uses.Add(1)
	}
	if rand.Uint32()%step != 0 {
		return s.uses.Load()
	}
	return s.uses.Add(step)
}

const (
	usesPerPeriod = 64
	usesApart     = 16 // countings of uses between two of an entry that ristretto counts
)

// liveEntry returns the entry of a slot, or nil if it was dropped. The janitor removes it then.
func (c *Cache) liveEntry(s *shard, l *memory.Slot, hash uint64) *entry.Entry {
	if l == nil || !l.Check(&c.invalidations) {
		return nil
	}
	return c.entryOf(s, l, hash)
}

// Put stores an entry whose request began at a generation, and reports whether it did. It does not
// if one of its tags, or its key, was invalidated since, because the origin may have generated the
// response before that. After a soft purge it stores the entry as stale.
//
// An entry with Vary joins those of its key that vary by the same names, and replaces any others.
// An entry without Vary replaces them all.
func (c *Cache) Put(e *entry.Entry, generation invalidation.Generation) bool {
	return c.put(e, generation, func(*shard) bool { return true })
}

// Replace stores an entry made from an older one, as Put does, if the older one is still stored.
func (c *Cache) Replace(old, e *entry.Entry, generation invalidation.Generation) bool {
	return c.put(e, generation, func(s *shard) bool {
		l, _ := s.find(c, e.Key, e.Labels[0], e.Secondary)
		return l != nil && l.ID == old.ID
	})
}

// Alias makes a stored entry available under another secondary key too, until it is replaced. It
// does nothing if that key has an entry of its own.
func (c *Cache) Alias(e *entry.Entry, secondary string) {
	s := c.shard(c.seeds.LabelOfKey(e.Key))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alias(c, e, secondary)
}

func (c *Cache) put(e *entry.Entry, generation invalidation.Generation, fits func(*shard) bool) bool {
	e.Generation = generation
	e.SetHashes(&c.seeds)
	p := memory.NewEncoder()
	defer p.Release()
	compact := p.Encode(e, c.arena.Largest())
	s := c.shard(e.Hash)
	s.update.Lock()
	defer s.update.Unlock()
	s.mu.Lock()
	if s.closed || !fits(s) || !e.Check(&c.invalidations) {
		s.mu.Unlock()
		return false
	}
	conflicts := s.conflicts(e)
	for _, old := range conflicts {
		c.remove(s, old)
	}
	if old, ok := s.excessVariant(e); ok { // none of the conflicts, which are removed already
		c.evict(s, old)
		conflicts = append(conflicts, old)
	}
	t, ok := c.insert(s, e, p, compact)
	restored := e.Origin != nil
	s.mu.Unlock()
	if c.disk != nil && !restored {
		c.disk.Hide(e)
		if ok && e.IsObject() {
			c.writeNow(s, e)
		}
	}
	c.requestCompaction() // before ristretto evicts entries because of the holes
	c.admit(e.Hash, t, conflicts)
	return ok && c.has(e) // ristretto may reject an entry that is too large for the recency window
}

// writeNow has the entry of a large object written to disk while it stays in memory. Otherwise a
// crash would make all of its slices unreachable.
func (c *Cache) writeNow(s *shard, e *entry.Entry) {
	s.mu.Lock() // the disk tier is not closed while a shard is locked and open
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	written := e.CopyConfirmed() // the writer reads it without the lock
	written.Generation, written.Labels, written.Hash, written.Charged = e.Generation, e.Labels, e.Hash, e.Charged
	c.disk.EnqueueStored(written, func(at entry.Origin) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		l := s.at(e.Hash)
		if l == nil || l.ID != e.ID || !l.Is(memory.Live) {
			return false
		}
		e.Origin, s.origins[e.Hash] = at, at
		return true
	})
}

// insert adds an entry to its shard and to the recency window. ok is false if there is no memory.
// The caller holds the lock of the shard.
func (c *Cache) insert(s *shard, e *entry.Entry, p *memory.Encoder, compact bool) (t lruItem, ok bool) {
	at, ok := onHeap, true
	if compact {
		p.Intern(&c.interned)
		at, ok = c.arena.Alloc(p.Size())
	}
	if !ok {
		c.interned.Release(p.Number())
		return 0, false
	}
	e.ID, e.Home, e.Charged = c.ids.Add(1), (*hitCounter)(c), c.costOf(e, at)
	if compact {
		p.WriteTo(c.arena.Slot(at), e)
	} else {
		s.large[e.Hash] = memory.NewHeapSlot(e)
	}
	l := s.add(e, at)
	c.counts.entries.Add(1)
	c.counts.bytes.Add(e.Charged)
	for _, old := range c.window.push(s, l, e.Hash) {
		c.evictUnreferenced(s, old)
	}
	return lruItemOf(e.ID, l.Cost), true
}

// costOf returns the cost of an entry: all memory that it takes, rounded up as the arena does.
func (c *Cache) costOf(e *entry.Entry, at memory.Ref) int64 {
	n := int64(perIndex)
	if at == onHeap {
		n += e.Cost()
	} else {
		n += int64(c.arena.Size(at))
	}
	if e.Secondary != "" {
		n += perVariant
	}
	return (n + memory.CostUnit - 1) / memory.CostUnit * memory.CostUnit
}

// has reports whether an entry is still stored.
func (c *Cache) has(e *entry.Entry) bool {
	s := c.shard(e.Hash)
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := s.at(e.Hash)
	return l != nil && l.ID == e.ID && l.Is(memory.Live)
}

// remove removes an entry from its shard. It returns false if the entry was purged before. The
// caller holds the lock of the shard.
func (c *Cache) remove(s *shard, hash uint64) bool {
	l := s.at(hash)
	was := l.Is(memory.Live)
	if was {
		c.counts.entries.Add(-1)
		c.counts.bytes.Add(-l.Bytes())
	}
	c.window.remove(s, l)
	interned := l.Interned
	if at := s.remove(hash, l); at != onHeap {
		c.arena.Free(at)
	}
	c.interned.Release(interned)
	return was
}

// evictUnreferenced evicts an entry that neither the recency window nor ristretto holds. The caller
// holds the lock of the shard.
func (c *Cache) evictUnreferenced(s *shard, hash uint64) {
	l := s.at(hash)
	if l.State&(memory.Recent|memory.Admitted) == 0 {
		c.evict(s, hash)
	}
}

// evict removes an entry from its shard, and passes it to the disk tier. The caller holds the lock
// of the shard.
func (c *Cache) evict(s *shard, hash uint64) {
	l := s.at(hash)
	var e *entry.Entry
	if c.disk != nil && l.Is(memory.Live) {
		e = c.toEvict(s, l, hash)
	}
	if c.remove(s, hash) {
		c.counts.evicted.Add(1)
		if e != nil {
			c.disk.Enqueue(e)
		}
	}
}
