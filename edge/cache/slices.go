package cache

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/http"

	"github.com/iconedge/iconedge/edge/cache/disk"
	"github.com/iconedge/iconedge/edge/cache/entry"
)

// A SliceStore stores slices of large objects: on disk if there is a disk tier, and otherwise in
// memory. An object has a random number, which its entry holds. It is safe for concurrent use.
type SliceStore interface {
	// MaxObject returns the length of the largest object that can be stored; 0: none can.
	MaxObject() int64
	// Lasting reports whether slices stay until as many newer ones as there is room for have come.
	// Others may leave soon after they were stored.
	Lasting() bool
	// PutSlice stores a copy of a slice, and reports whether it did.
	PutSlice(object uint64, number int64, body []byte) bool
	HasSlice(object uint64, number int64) bool
	// OpenSlice returns a stored slice of a length, or nil. Reads fail if it is removed from the
	// disk meanwhile.
	OpenSlice(object uint64, number, length int64) io.ReaderAt
}

// SliceStore returns the cache's storage of slices.
func (c *Cache) SliceStore() SliceStore {
	if c.disk != nil {
		return slicesOnDisk{c}
	}
	return slicesInMemory{c}
}

type slicesOnDisk struct{ cache *Cache }

func (s slicesOnDisk) Lasting() bool { return true }

// MaxObject returns 0 once the disk tier has failed.
func (s slicesOnDisk) MaxObject() (n int64) {
	s.cache.onDisk(func(d *disk.Tier) { n = d.MaxObject() })
	return n
}

func (s slicesOnDisk) PutSlice(object uint64, number int64, body []byte) (ok bool) {
	s.cache.onDisk(func(d *disk.Tier) { ok = d.PutSlice(disk.SliceID{Object: object, Number: number}, body) })
	return ok
}

func (s slicesOnDisk) HasSlice(object uint64, number int64) (ok bool) {
	s.cache.onDisk(func(d *disk.Tier) { ok = d.HasSlice(disk.SliceID{Object: object, Number: number}) })
	return ok
}

func (s slicesOnDisk) OpenSlice(object uint64, number, length int64) (slice io.ReaderAt) {
	s.cache.onDisk(func(d *disk.Tier) { slice = d.OpenSlice(disk.SliceID{Object: object, Number: number}, length) })
	return slice
}

// Each slice in memory is an entry of its own. It takes part in the ceiling, and in the decision
// which entries stay.
type slicesInMemory struct{ cache *Cache }

// objectPart is the part of the memory that one object may take.
const objectPart = 4

func (s slicesInMemory) Lasting() bool { return false }

func (s slicesInMemory) MaxObject() int64 { return s.cache.most / objectPart }

func (s slicesInMemory) PutSlice(object uint64, number int64, body []byte) bool {
	e := &entry.Entry{Key: sliceKey(object, number), Status: http.StatusPartialContent}
	e.SetIdentity(bytes.Clone(body), "")
	e.DisableCodings()
	return s.cache.Put(e, s.cache.Generation())
}

func (s slicesInMemory) HasSlice(object uint64, number int64) bool {
	key := sliceKey(object, number)
	label := s.cache.seeds.LabelOfKey(key)
	shard := s.cache.shard(label)
	shard.mu.RLock()
	defer shard.mu.RUnlock()
	l, _ := shard.find(s.cache, key, label, "")
	return l != nil && l.Check(&s.cache.invalidations)
}

func (s slicesInMemory) OpenSlice(object uint64, number, length int64) io.ReaderAt {
	if e := s.cache.Get(sliceKey(object, number)); e != nil && int64(len(e.Identity().Body)) == length {
		return bytes.NewReader(e.Identity().Body)
	}
	return nil
}

// sliceKey returns the key of a slice in memory. No response has such a key: those begin with a
// scheme or a slash.
func sliceKey(object uint64, number int64) string {
	key := append(make([]byte, 0, 24), "\x00slice\x00"...)
	key = binary.BigEndian.AppendUint64(key, object)
	return string(binary.BigEndian.AppendUint64(key, uint64(number)))
}
