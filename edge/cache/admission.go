package cache

import (
	"github.com/iconedge/iconedge/edge/cache/batches"
	"github.com/iconedge/iconedge/edge/cache/memory"
)

// Ristretto decides which entries stay. A goroutine of its own takes them from a queue, and may
// reject them. Calls about one hash reach it in order, because each caller holds the update lock of
// the shard. Its callbacks run on that goroutine. They take the lock of a shard, which no caller
// holds while it waits for the queue, but never the update lock.

// An lruItem is ristretto's value for an entry: the entry's number, which distinguishes it from an
// earlier entry with the same hash, and its cost in units. It is never 0.
type lruItem uint64

const costBits = 28 // 4 GiB

func lruItemOf(id uint64, cost uint32) lruItem {
	return lruItem(id<<costBits) | lruItem(min(cost, 1<<costBits-1))
}

func (t lruItem) bytes() int64 { return int64(t&(1<<costBits-1)) * memory.CostUnit }

func (t lruItem) is(l *memory.Slot) bool { return l != nil && t == lruItemOf(l.ID, l.Cost) }

// admit passes an entry to ristretto and removes the entries that it replaces. It removes an older
// value of the same hash too, because an update in place would not evict others. If too many bytes
// are pending, it waits until ristretto has processed its queue, so that the ceiling holds. With a
// zero item it only removes.
func (c *Cache) admit(hash uint64, t lruItem, replaced []uint64) {
	c.closing.RLock()
	defer c.closing.RUnlock()
	if c.closed {
		return
	}
	for _, old := range replaced {
		if old != hash {
			c.lru.Del(old)
		}
	}
	c.lru.Del(hash)
	if t == 0 {
		return
	}
	c.lru.UpdateMaxCost(c.capacity())
	pendingBytes := c.pendingBytes.Add(t.bytes())
	for !c.lru.Set(hash, t, 0) {
		c.lru.Wait() // the queue is full
	}
	if pendingBytes > c.window.max {
		c.lru.Wait()
	}
}

// capacity returns the bytes that ristretto may use: free slots in the arena and interned headers
// reduce them.
func (c *Cache) capacity() int64 { return max(1, c.most-c.arena.Wasted()-c.interned.Bytes()) }

// admissionCost is called when ristretto takes an entry from its queue, and returns the entry's
// cost.
func (c *Cache) admissionCost(t lruItem) int64 {
	c.pendingBytes.Add(-t.bytes())
	return t.bytes()
}

// onEvicted is called when ristretto rejects or evicts an entry. t is 0 if the entry was removed
// from ristretto in the meantime.
func (c *Cache) onEvicted(hash uint64, t lruItem) {
	if t == 0 {
		return
	}
	s := c.shard(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.at(hash); !s.closed && t.is(l) {
		l.State &^= memory.Admitted
		c.evictUnreferenced(s, hash)
	}
}

// removeFromLRU removes entries that are in no shard from ristretto, in batches, because stores
// need room in its queue.
func (c *Cache) removeFromLRU(gone []uint64) {
	for n, hash := range gone {
		if !c.removeOneFromLRU(hash) {
			return
		}
		if (n+1)%batches.Size == 0 {
			c.waitForLRU()
			batches.Pause((n + 1) / batches.Size)
		}
	}
}

// removeOneFromLRU returns false if the cache is closed.
func (c *Cache) removeOneFromLRU(hash uint64) bool {
	c.closing.RLock()
	defer c.closing.RUnlock()
	if c.closed {
		return false
	}
	s := c.shard(hash)
	s.update.Lock()
	defer s.update.Unlock()
	s.mu.RLock()
	newer := s.at(hash)
	s.mu.RUnlock()
	if newer == nil { // otherwise admit has removed it before it added the newer entry
		c.lru.Del(hash)
	}
	return true
}

// waitForLRU waits until ristretto has processed its queue.
func (c *Cache) waitForLRU() {
	c.closing.RLock()
	defer c.closing.RUnlock()
	if !c.closed {
		c.lru.Wait()
	}
}
