package disk

import (
	"errors"
	"hash/crc32"
	"io"
	"os"

	"github.com/iconedge/iconedge/edge/cache/codec"
)

// A SliceID names a slice of a large object. The object has a random number, which its entry holds.
// If the entry is removed, nothing refers to the slices any more, and they leave the log with their
// segments.
type SliceID struct {
	Object uint64
	Number int64
}

// A sliceLocation is the position of a slice on disk.
type sliceLocation struct {
	segment *segment
	off     uint32 // of the record
	head    uint32 // size of the head of the record
	body    uint32 // size of the slice
	intact  bool   // the slice was written or verified in this run
}

// at returns the position of the slice in its segment.
func (p sliceLocation) at() int64 { return int64(p.off) + recordStart + int64(p.head) }

func encodeSliceID(id SliceID) []byte {
	var w codec.Encoder
	w.Uint(id.Object)
	w.Uint(uint64(id.Number))
	return w.Out
}

func decodeSliceID(head []byte) (id SliceID, ok bool) {
	r := &codec.Decoder{Rest: head}
	id = SliceID{r.Uint(), int64(r.Uint())}
	return id, r.Ended() && id.Object != 0 && id.Number >= 0
}

// MaxObject returns the length of the largest object that may be stored in slices. The log removes
// its oldest segments first, so a larger object could push its own beginning out. It is 0 once a
// write has failed.
func (d *Tier) MaxObject() int64 {
	d.writing.Lock()
	defer d.writing.Unlock()
	if d.failed {
		return 0
	}
	return d.MaxBytes / objectPart
}

// objectPart is the part of the tier that one object may take.
const objectPart = 4

// PutSlice appends a slice to the log, and reports whether it did. It does nothing once a write has
// failed, for instance because the disk is full.
func (d *Tier) PutSlice(id SliceID, body []byte) bool {
	d.writing.Lock()
	defer d.writing.Unlock()
	head := encodeSliceID(id)
	size := int64(recordStart + len(head) + len(body))
	switch {
	case d.failed:
		return false
	case int64(segmentStart)+size > d.segmentSize():
		d.dropped.Add(1)
		return false
	}
	s, off, _, err := d.append(size, kindSlice, head, [][]byte{body})
	if err != nil {
		d.fail(err)
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.index.addSlice(id, sliceLocation{segment: s, off: uint32(off), head: uint32(len(head)), body: uint32(len(body)), intact: true})
	return true
}

// HasSlice reports whether a slice is on disk.
func (d *Tier) HasSlice(id SliceID) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	_, ok := d.index.slices[id]
	return ok
}

// OpenSlice returns a slice of a length, or nil if it is not on disk. The slice is verified when it
// is opened for the first time since the start, and then read in place. A read fails if the segment
// of the slice is removed meanwhile.
func (d *Tier) OpenSlice(id SliceID, length int64) io.ReaderAt {
	d.mu.RLock()
	p, ok := d.index.slices[id]
	d.mu.RUnlock()
	if !ok {
		return nil
	}
	if !p.intact {
		switch err := p.verify(id); {
		case errors.Is(err, os.ErrClosed):
			return nil
		case err != nil:
			d.removeDamaged(id, p)
			return nil
		}
		d.mu.Lock()
		if d.index.slices[id].segment == p.segment {
			p.intact = true
			d.index.slices[id] = p
		}
		d.mu.Unlock()
	}
	if int64(p.body) != length {
		return nil
	}
	return io.NewSectionReader(p.segment.file, p.at(), length)
}

// verify reads the record of a slice in pieces, and compares its checksums.
func (p sliceLocation) verify(id SliceID) error {
	start := make([]byte, recordStart+p.head)
	if _, err := p.segment.file.ReadAt(start, int64(p.off)); err != nil {
		return err
	}
	r, err := parseRecord(start, p.segment.marker)
	if err != nil {
		return err
	}
	if found, ok := decodeSliceID(start[recordStart:]); !ok || found != id || r.head != p.head || r.body != p.body || !r.headIntact(start) {
		return errDamaged
	}
	sum := crc32.New(castagnoli)
	if _, err := io.Copy(sum, io.NewSectionReader(p.segment.file, p.at(), int64(p.body))); err != nil {
		return err
	}
	if sum.Sum32() != r.bodySum {
		return errDamaged
	}
	return nil
}

// removeDamaged removes a slice that can't be read from the index.
func (d *Tier) removeDamaged(id SliceID, p sliceLocation) {
	d.errors.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.index.slices[id] == p {
		delete(d.index.slices, id)
	}
}

// indexSlice indexes a slice from the log, unless a newer record of it is indexed.
func (d *Tier) indexSlice(s *segment, r foundRecord) {
	id, ok := decodeSliceID(r.head)
	if _, newer := d.index.slices[id]; ok && !newer {
		n := len(r.head)
		d.index.addSlice(id, sliceLocation{segment: s, off: uint32(r.off), head: uint32(n), body: uint32(r.size - recordStart - int64(n))})
	}
}

func (x *index) addSlice(id SliceID, p sliceLocation) {
	x.slices[id] = p
	p.segment.slices = append(p.segment.slices, id)
}

// removeSlices removes the slices of a segment.
func (x *index) removeSlices(s *segment) {
	for _, id := range s.slices {
		if x.slices[id].segment == s {
			delete(x.slices, id)
		}
	}
}
