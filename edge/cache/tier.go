package cache

import (
	"github.com/iconedge/iconedge/edge/cache/disk"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/memory"
)

// openDisk opens the disk tier and starts its writer.
func (c *Cache) openDisk(o Options) (err error) {
	c.disk, err = disk.Open(disk.Options{
		Dir: o.Dir, MaxBytes: o.DiskBytes, MaxQueued: o.MaxBytes / windowPart, Restored: o.Restored,
		Newer: c.hasNewer, Clock: o.Clock, Log: o.Log,
	}, &c.seeds, &c.invalidations)
	if err != nil {
		return err
	}
	c.janitor.swept = c.invalidations.Current()
	return nil
}

// onDisk calls do with the disk tier, if there is one and it is not closed.
func (c *Cache) onDisk(do func(*disk.Tier)) {
	c.closing.RLock()
	defer c.closing.RUnlock()
	if c.disk != nil && !c.closed {
		do(c.disk)
	}
}

// fromDisk loads the entry of a key into memory, or returns the names by which its entries vary.
func (c *Cache) fromDisk(key string, label uint64) (*entry.Entry, []string) {
	s := c.shard(label)
	s.load.Lock()
	defer s.load.Unlock()
	if e, names, there := c.inMemory(key, label); there || names != nil {
		return e, names // another request loaded it
	}
	e, aliases, names := c.disk.Find(key, label)
	if names != nil {
		return nil, names
	}
	return c.promote(s, e, aliases), nil
}

func (c *Cache) variantFromDisk(key string, label uint64, secondary string, names []string, hash uint64) *entry.Entry {
	s := c.shard(label)
	s.load.Lock()
	defer s.load.Unlock()
	if e, there := c.variantInMemory(key, label, secondary); there {
		return e
	}
	e, aliases := c.disk.FindVariant(key, secondary, names, hash)
	return c.promote(s, e, aliases)
}

// promote stores an entry that was read from disk, unless memory has a newer one, and returns the
// entry to use.
func (c *Cache) promote(s *shard, e *entry.Entry, aliases []string) *entry.Entry {
	if e == nil {
		return nil
	}
	if c.put(e, e.Generation, func(s *shard) bool { return len(s.conflicts(e)) == 0 }) {
		for _, a := range aliases {
			c.Alias(e, a)
		}
		return c.unlessDropped(e)
	}
	s.mu.RLock()
	l, hash := s.find(c, e.Key, e.Labels[0], e.Secondary)
	newer := c.liveEntry(s, l, hash)
	s.mu.RUnlock()
	if l != nil {
		return newer
	}
	return c.unlessDropped(e) // memory has no room for it
}

// unlessDropped returns e, or nil if it was dropped meanwhile.
func (c *Cache) unlessDropped(e *entry.Entry) *entry.Entry {
	if !e.Check(&c.invalidations) {
		return nil
	}
	return e
}

// hasNewer reports whether memory has another entry in place of an evicted one.
func (c *Cache) hasNewer(e *entry.Entry) bool {
	s := c.shard(e.Hash)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.conflicts(e)) > 0
}

// all returns the entries in memory. The cache is closed.
func (c *Cache) all() func(yield func(*entry.Entry) bool) {
	return func(yield func(*entry.Entry) bool) {
		for i := range c.shards {
			s := &c.shards[i]
			for hash := range s.index {
				if l := s.at(hash); l.Is(memory.Live) && !yield(c.toEvict(s, l, hash)) {
					return
				}
			}
		}
	}
}

// SetLabel stores a small string in the disk tier; Label returns it after a restart. The label is
// replaced only when all earlier drops and purges are on disk. Without a disk tier it is not
// stored.
func (c *Cache) SetLabel(s string) {
	c.onDisk(func(d *disk.Tier) { d.SetLabel(s) })
}

// Label returns the label that SetLabel stored last, in this run or an earlier one; empty: none.
func (c *Cache) Label() (s string) {
	c.onDisk(func(d *disk.Tier) { s = d.Label() })
	return s
}
