package disk

import (
	"errors"
	"fmt"
)

// segmentSize returns the maximum size of a segment.
func (d *Tier) segmentSize() int64 {
	return min(maxSegment, max(d.MaxBytes/minSegments, int64(segmentStart)))
}

// append writes a record of a size to the newest segment, or to a new one. The caller holds
// d.writing.
func (d *Tier) append(size int64, kind byte, head []byte, body [][]byte) (s *segment, off, n int64, err error) {
	if s, err = d.room(size); err != nil {
		return nil, 0, 0, err
	}
	before := s.size
	off, n, err = s.append(kind, head, body)
	d.mu.Lock()
	d.bytes += s.size - before
	d.mu.Unlock()
	if err != nil {
		return nil, 0, 0, fmt.Errorf("writing the cache to disk: %w", err)
	}
	return s, off, n, nil
}

// room returns the segment for a record of a size, and removes old segments if the tier would
// exceed its limit.
func (d *Tier) room(size int64) (*segment, error) {
	if d.fresh {
		last := d.segments[len(d.segments)-1]
		if last.size+size <= d.segmentSize() {
			return last, d.shrink(size, 1)
		}
		last.buffer = nil
	}
	if err := d.sync(); err != nil {
		return nil, err
	}
	if err := d.shrink(size+int64(segmentStart)+markMost, 0); err != nil {
		return nil, err
	}
	s, err := createSegment(d.Dir, d.number+1)
	if err != nil {
		return nil, err
	}
	d.number = s.number
	if len(d.segments) > 0 {
		if _, _, err := s.append(kindPurge, encodeMark(d.invalidations.Current(), d.Clock.Now()), nil); err != nil {
			return nil, errors.Join(fmt.Errorf("writing the cache to disk: %w", err), s.remove(d.Dir))
		}
	}
	d.fresh = true
	d.mu.Lock()
	defer d.mu.Unlock()
	d.segments = append(d.segments, s)
	d.bytes += s.size
	return s, nil
}

// shrink removes the oldest segments until there is room, but keeps as many of the newest ones as
// left says.
func (d *Tier) shrink(room int64, left int) error {
	for d.bytes+room > d.MaxBytes && len(d.segments) > left {
		d.mu.Lock()
		old := d.segments[0]
		d.segments = d.segments[1:]
		d.bytes -= old.size
		old.removed = true
		d.index.remove(old)
		d.mu.Unlock()
		if err := errors.Join(old.remove(d.Dir), syncDir(d.Dir)); err != nil {
			return fmt.Errorf("removing the oldest segment of the cache: %w", err)
		}
	}
	return nil
}

// sync makes written records durable. The caller holds d.writing.
func (d *Tier) sync() error {
	if !d.fresh {
		return nil
	}
	if err := d.segments[len(d.segments)-1].file.Sync(); err != nil {
		return fmt.Errorf("writing the cache to disk: %w", err)
	}
	return nil
}

// fail ends all writing. The caller holds d.writing.
func (d *Tier) fail(err error) {
	d.errors.Add(1)
	if !d.failed {
		d.failed = true
		d.Log("disk tier of the cache failed; caching in memory only", "error", err)
	}
}

// wipe removes the tier, because it cannot record purges. The caller holds d.writing.
func (d *Tier) wipe() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.segments {
		s.removed = true
		d.index.remove(s)
		if err := s.remove(d.Dir); err != nil {
			d.errors.Add(1)
			d.Log("segment of the cache not removed; it may hold purged responses", "path", segmentPath(d.Dir, s.number), "error", err)
		}
	}
	d.segments, d.bytes, d.fresh = nil, 0, false
}
