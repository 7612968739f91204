package cache

import (
	"sync"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// A Share is a bounded part of a cache, for entries of which clients can invent any number, and
// which must not displace others. The oldest of them make room for new ones. It is safe for
// concurrent use.
type Share struct {
	cache *Cache
	most  int64 // bytes

	mu     sync.Mutex
	stored []shared // oldest first; some may have left the cache already
	bytes  int64    // of stored
}

type shared struct {
	hash  uint64
	bytes int64
}

// sharePart is the part of a share that one entry may take.
const sharePart = 16

// NewShare returns a share of c with at most so many bytes.
func NewShare(c *Cache, most int64) *Share { return &Share{cache: c, most: most} }

// Put stores an entry as Cache.Put does, if it is small enough.
func (s *Share) Put(e *entry.Entry, generation invalidation.Generation) bool {
	size := e.Cost()
	if size > s.most/sharePart || !s.cache.Put(e, generation) {
		return false
	}
	var gone []shared
	s.mu.Lock()
	s.stored, s.bytes = append(s.stored, shared{e.Hash, size}), s.bytes+size
	for n := range s.stored {
		if s.bytes <= s.most {
			gone, s.stored = s.stored[:n], s.stored[n:]
			break
		}
		s.bytes -= s.stored[n].bytes
	}
	s.mu.Unlock()
	for _, old := range gone {
		s.cache.discard(old.hash)
	}
	return true
}

// discard removes an entry without passing it to the disk tier.
func (c *Cache) discard(hash uint64) {
	s := c.shard(hash)
	s.mu.Lock()
	there := !s.closed && s.at(hash) != nil
	if there {
		c.remove(s, hash)
	}
	s.mu.Unlock()
	if there {
		c.removeOneFromLRU(hash)
	}
}
