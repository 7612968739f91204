package disk

import (
	"errors"
	"fmt"
)

// Check compares the counts and the index with the segments, after the queued entries are written.
// Tests call it.
func (d *Tier) Check() (err error) {
	d.Flush()
	d.mu.RLock()
	defer d.mu.RUnlock()
	var live, bytes int64
	locations := map[*location]bool{}
	for _, s := range d.segments {
		bytes += s.size
		for _, p := range s.locations {
			locations[p] = true
			if !p.gone {
				live++
			}
		}
	}
	for hash, s := range d.index.at {
		if s.location != nil && !locations[s.location] {
			err = errors.Join(err, fmt.Errorf("the location under %x is in no segment", hash))
		}
	}
	slices := 0
	for _, s := range d.segments {
		for _, id := range s.slices {
			if at, ok := d.index.slices[id]; ok && at.segment == s {
				slices++
			}
		}
	}
	if slices != len(d.index.slices) {
		err = errors.Join(err, fmt.Errorf("%d slices are indexed, but the segments have %d of them", len(d.index.slices), slices))
	}
	if live != d.index.live || bytes != d.bytes {
		err = errors.Join(err, fmt.Errorf("%d locations with %d bytes are counted, but there are %d with %d",
			d.index.live, d.bytes, live, bytes))
	}
	return err
}
