package cache

import "github.com/iconedge/iconedge/edge/cache/memory"

// A View reads a stored response in place, without copying it. It holds the lock of a shard, and
// its values are valid until Release. A caller must not call the cache meanwhile, and must release
// the view soon.
type View struct {
	memory.View
	shard *shard
}

// View finds the entry that Get finds, if it has a Head and can be read in place. It counts as a
// request. If it returns false, the caller takes the slow path. The key need not outlive the call.
func (c *Cache) View(key string, v *View) bool {
	label := c.seeds.LabelOfKey(key)
	s := c.shard(label)
	s.mu.RLock()
	if l, _ := s.find(c, key, label, ""); l != nil && l.Check(&c.invalidations) && v.Open(l, &c.interned) {
		s.countUse(c, l, label)
		v.shard = s
		return true
	}
	s.mu.RUnlock()
	return false
}

// Release ends the view. It must be called exactly once after View returned true.
func (v *View) Release() { v.shard.mu.RUnlock() }
