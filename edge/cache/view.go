package cache

import "github.com/iconedge/iconedge/edge/cache/memory"

// A View reads a stored response in place, without copying it. It holds the lock of a shard, and
// its values are valid until Release. A caller must not call the cache meanwhile, and must release
// the view soon.
type View struct {
	memory.View
	shard *shard
}

// View finds the entry that Get finds, if its response is prebuilt. It counts as a request. If it
// returns false, the caller takes the slow path. The key need not outlive the call.
func (c *Cache) View(key string, v *View) bool {
	if !c.view(key, v, nil) {
		return false
	}
	if !v.IsPrebuilt() {
		v.Release()
		return false
	}
	return true
}

// ViewVariant finds the entry that Find finds for the secondary key, in memory. secondary returns
// that of the request for the names in Vary, and false if it does not know. Neither key need
// outlive the call.
func (c *Cache) ViewVariant(key string, v *View, secondary func(vary []string) (string, bool)) bool {
	return c.view(key, v, secondary)
}

func (c *Cache) view(key string, v *View, secondary func(vary []string) (string, bool)) bool {
	label := c.seeds.LabelOfKey(key)
	s := c.shard(label)
	s.mu.RLock()
	set, variant, ok := s.variantsAt(key, label), "", true
	if set != nil {
		if ok = secondary != nil; ok {
			variant, ok = secondary(set.names)
		}
	}
	if ok {
		if l, hash := s.find(c, key, label, variant); l != nil && l.Check(&c.invalidations) {
			if set != nil {
				set.use(hash)
			}
			s.countUse(c, l, hash)
			v.Open(l, &c.interned)
			v.shard = s
			return true
		}
	}
	s.mu.RUnlock()
	return false
}

// Release ends the view. It must be called exactly once after View or ViewVariant returned true.
func (v *View) Release() {
	v.Close()
	v.shard.mu.RUnlock()
}
