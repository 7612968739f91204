package cache

import (
	"io"

	"github.com/iconedge/iconedge/edge/cache/disk"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/memory"
)

// MaxSliced returns the length of the largest object that can be stored in slices; 0 without a disk
// tier, and once it has failed.
func (c *Cache) MaxSliced() (n int64) {
	c.onDisk(func(d *disk.Tier) { n = d.MaxObject() })
	return n
}

// PutSlice stores a slice of a large object, and reports whether it did.
func (c *Cache) PutSlice(object uint64, number int64, body []byte) (ok bool) {
	c.onDisk(func(d *disk.Tier) { ok = d.PutSlice(disk.SliceID{Object: object, Number: number}, body) })
	return ok
}

// HasSlice reports whether a slice of a large object is stored.
func (c *Cache) HasSlice(object uint64, number int64) (ok bool) {
	c.onDisk(func(d *disk.Tier) { ok = d.HasSlice(disk.SliceID{Object: object, Number: number}) })
	return ok
}

// OpenSlice returns a stored slice of a length, or nil. A read fails if the slice is removed
// meanwhile.
func (c *Cache) OpenSlice(object uint64, number, length int64) (slice io.ReaderAt) {
	c.onDisk(func(d *disk.Tier) { slice = d.OpenSlice(disk.SliceID{Object: object, Number: number}, length) })
	return slice
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
