package cache

import (
	"io"

	"github.com/iconedge/iconedge/edge/cache/disk"
)

// sliceLoss is the part of the disk tier that one object may take. The log removes its oldest
// segments first, so a larger object could push its own beginning out.
const sliceLoss = 4

// MaxSliced returns the length of the largest object that can be stored in slices; 0 without a disk
// tier.
func (c *Cache) MaxSliced() (n int64) {
	c.onDisk(func(d *disk.Tier) { n = d.MaxBytes / sliceLoss })
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
