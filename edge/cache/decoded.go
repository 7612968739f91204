package cache

import "github.com/iconedge/iconedge/edge/cache/hashes"

const (
	maxDecoded  = 4       // entries of each shard
	decodedSize = 4 << 10 // bytes of a slot whose decoded entry is kept
	decodedPart = 64      // share of the ceiling for all of them: 1/64
)

// decodedPerShard returns how many decoded entries each shard may keep, so that not every request
// of the slow path copies an entry that is requested often.
func decodedPerShard(most int64) int {
	return int(min(maxDecoded, most/decodedPart/(hashes.Shards*decodedMost)))
}

// decodedMost is the maximum size of one of them.
const decodedMost = decodedSize + overhead

// entryOf returns the entry of a slot, decoded before if possible.
func (c *Cache) entryOf(s *shard, l *slot, hash uint64) *Entry {
	if l.shape&large != 0 {
		return l.entry()
	}
	if len(s.decoded) == 0 || l.end() > decodedSize {
		return c.decode(s, l, hash)
	}
	cached := &s.decoded[hash%uint64(len(s.decoded))]
	if e := cached.Load(); e != nil && e.id == l.id && e.expiredAt.Load() == l.expiredAt.Load() {
		return e
	}
	e := c.decode(s, l, hash)
	cached.Store(e)
	return e
}

// forgetDecoded removes the decoded entry of a slot that is freed.
func (s *shard) forgetDecoded(hash, id uint64) {
	if len(s.decoded) == 0 {
		return
	}
	cached := &s.decoded[hash%uint64(len(s.decoded))]
	if e := cached.Load(); e != nil && e.id == id {
		cached.Store(nil)
	}
}

// decode decodes the entry of a slot.
func (c *Cache) decode(s *shard, l *slot, hash uint64) *Entry {
	if l.shape&large != 0 {
		return l.entry() // the stored entry itself, which others read too
	}
	e := l.decode(&c.interned)
	e.home, e.hash, e.origin = c, hash, s.origins[hash]
	return e
}

// toEvict returns an entry that goes to disk, with its aliases.
func (c *Cache) toEvict(s *shard, l *slot, hash uint64) *Entry {
	e := c.decode(s, l, hash)
	if v := s.variants[l.label]; v != nil {
		e.aliases = v.aliasesOf(hash)
	}
	return e
}

// countHit counts a use of a stored entry, and returns 0 if it is no longer stored.
func (c *Cache) countHit(e *Entry) uint64 {
	s := c.shard(e.hash)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if l := s.at(e.hash); l != nil && l.id == e.id {
		return l.countHit()
	}
	return 0
}
