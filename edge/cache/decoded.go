package cache

import (
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/hashes"
	"github.com/iconedge/iconedge/edge/cache/memory"
)

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
const decodedMost = decodedSize + entry.Overhead

// entryOf returns the entry of a slot, decoded before if possible.
func (c *Cache) entryOf(s *shard, l *memory.Slot, hash uint64) *entry.Entry {
	if l.IsLarge() {
		return l.Entry()
	}
	if len(s.decoded) == 0 || l.Size() > decodedSize {
		return c.decode(s, l, hash)
	}
	cached := &s.decoded[hash%uint64(len(s.decoded))]
	if e := cached.Load(); e != nil && e.ID == l.ID && e.ExpiredAt.Load() == l.ExpiredAt.Load() {
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
	if e := cached.Load(); e != nil && e.ID == id {
		cached.Store(nil)
	}
}

// decode decodes the entry of a slot.
func (c *Cache) decode(s *shard, l *memory.Slot, hash uint64) *entry.Entry {
	if l.IsLarge() {
		return l.Entry() // the stored entry itself, which others read too
	}
	e := l.Decode(&c.interned)
	e.Home, e.Hash, e.Origin = (*hitCounter)(c), hash, s.origins[hash]
	return e
}

// toEvict returns an entry that goes to disk, with its aliases.
func (c *Cache) toEvict(s *shard, l *memory.Slot, hash uint64) *entry.Entry {
	e := c.decode(s, l, hash)
	if v := s.variants[l.Label]; v != nil {
		e.Aliases = v.aliasesOf(hash)
	}
	return e
}

// A hitCounter is a Cache as the home of its entries.
type hitCounter Cache

// CountHit counts a use of a stored entry, and returns 0 if it is no longer stored.
func (h *hitCounter) CountHit(e *entry.Entry) uint64 {
	s := (*Cache)(h).shard(e.Hash)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if l := s.at(e.Hash); l != nil && l.ID == e.ID {
		return l.CountHit()
	}
	return 0
}
