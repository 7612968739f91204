package disk

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// A segment is one file of the disk tier. Only the newest one is written to.
type segment struct {
	number    uint64
	file      *os.File
	marker    [markerSize]byte
	size      int64
	locations []*location // of the entries in it
	slices    []SliceID   // of the slices in it, also of those that were replaced
	removed   bool        // from the tier
	buffer    []byte      // of append
}

const segmentPattern = "%016x.segment"

func segmentPath(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf(segmentPattern, number))
}

// createSegment creates a segment durably, so that it exists after a power failure.
func createSegment(dir string, number uint64) (*segment, error) {
	s := &segment{number: number, size: int64(segmentStart)}
	rand.Read(s.marker[:])
	f, err := os.OpenFile(segmentPath(dir, number), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("making a segment of the cache: %w", err)
	}
	s.file = f
	_, err = f.Write(appendSegmentStart(nil, s.marker))
	if err = errors.Join(err, syncDir(dir)); err != nil {
		f.Close()
		return nil, fmt.Errorf("making a segment of the cache: %w", err)
	}
	return s, nil
}

// errEmpty means that a segment was created, and nothing written to it.
var errEmpty = errors.New("an empty segment")

// openSegment opens a segment for reading. The error is errDamaged if its start is malformed.
func openSegment(dir string, number uint64) (*segment, error) {
	f, err := os.Open(segmentPath(dir, number))
	if err != nil {
		return nil, err
	}
	s := &segment{number: number, file: f}
	b := make([]byte, segmentStart)
	info, err := f.Stat()
	if err == nil {
		if s.size = info.Size(); s.size < int64(segmentStart) {
			err = errEmpty
		} else if _, err = f.ReadAt(b, 0); err == nil {
			s.marker, err = parseSegmentStart(b)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

// writeMost is the size of a record up to which it is written by one call, which costs more than to
// copy the record.
const writeMost = 64 << 10

// append writes a record, and returns its position.
func (s *segment) append(kind byte, head []byte, body [][]byte) (off, size int64, err error) {
	off, end := s.size, s.size
	b := appendRecord(s.buffer[:0], s.marker, kind, head, body)
	write := func(part []byte) {
		if err == nil {
			_, err = s.file.WriteAt(part, end)
			end += int64(len(part))
		}
	}
	for _, part := range body {
		if len(b)+len(part) <= writeMost {
			b = append(b, part...)
			continue
		}
		write(b)
		write(part)
		b = b[:0]
	}
	write(b)
	if err != nil {
		return 0, 0, err
	}
	s.size, s.buffer = end, b
	return off, end - off, nil
}

// A foundRecord is a record that walk found.
type foundRecord struct {
	off, size int64
	kind      byte
	head      []byte
}

// walk returns the intact records of a segment in order, without reading their bodies. It ends at a
// torn record. If there is another record after it, a part of unknown content was lost in the
// middle; walk then continues there, leaves out the records before, and returns whole as false.
func (s *segment) walk() (records []foundRecord, whole bool) {
	whole = true
	reader := &segmentReader{segment: s}
	for off := int64(segmentStart); off < s.size; {
		r, err := reader.record(off)
		if err != nil {
			if off = reader.next(off + 1); off < 0 {
				break
			}
			records, whole = nil, false
			continue
		}
		records = append(records, r)
		off += r.size
	}
	return records, whole
}

// A segmentReader reads a segment forwards, in blocks.
type segmentReader struct {
	segment *segment
	block   []byte
	from    int64
}

const readBlock = 16 << 10

// at returns n bytes at an offset, or fewer at the end of the file. They are valid until the next
// call.
func (v *segmentReader) at(off, n int64) []byte {
	n = min(n, v.segment.size-off)
	if off < v.from || off+n > v.from+int64(len(v.block)) {
		want := int(min(max(n, readBlock), v.segment.size-off))
		block := slices.Grow(v.block[:0], want)[:want]
		read, _ := v.segment.file.ReadAt(block, off) // an unreadable part is treated as missing
		v.block, v.from = block[:read], off
	}
	return v.block[off-v.from:][:min(n, int64(len(v.block))-(off-v.from))]
}

// record reads the record at an offset, whose body must be inside the file.
func (v *segmentReader) record(off int64) (foundRecord, error) {
	r, err := parseRecord(v.at(off, recordStart), v.segment.marker)
	if err != nil {
		return foundRecord{}, err
	}
	if r.size() > v.segment.size-off {
		return foundRecord{}, errDamaged
	}
	b := v.at(off, recordStart+int64(r.head))
	if !r.headIntact(b) {
		return foundRecord{}, errDamaged
	}
	return foundRecord{off, r.size(), r.kind, bytes.Clone(b[recordStart:])}, nil
}

// next returns the offset of the next intact record from an offset on, or -1.
func (v *segmentReader) next(off int64) int64 {
	for ; off < v.segment.size; off++ {
		b := v.at(off, readBlock)
		i := bytes.Index(b, v.segment.marker[:])
		switch {
		case i < 0 && len(b) < readBlock:
			return -1
		case i < 0:
			off += int64(len(b)) - markerSize // the marker may be split between blocks
			continue
		}
		off += int64(i)
		if _, err := v.record(off); err == nil {
			return off
		}
	}
	return -1
}

// remove closes the segment's file and removes it. Reads in progress fail.
func (s *segment) remove(dir string) error {
	s.file.Close()
	return os.Remove(segmentPath(dir, s.number))
}
