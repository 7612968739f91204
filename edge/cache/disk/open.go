package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/hashes"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
	"github.com/iconedge/iconedge/internal/files"
)

// Open opens the tier in a folder, which it creates if necessary, indexes the newest records and
// starts its writer, and a goroutine that indexes the rest.
// Generations continue after the newest one in the log: everything there was checked against
// earlier invalidations.
func Open(o Options, seeds *hashes.Seeds, m *invalidation.Table) (*Tier, error) {
	d, err := open(o, seeds, m)
	if err != nil {
		return nil, err
	}
	go d.write()
	go d.rest.indexAll()
	return d, nil
}

// open is Open without the goroutines.
func open(o Options, seeds *hashes.Seeds, m *invalidation.Table) (*Tier, error) {
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the cache: %w", err)
	}
	lock, err := files.Lock(filepath.Join(o.Dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("locking the folder of the cache: %w", err)
	}
	d := &Tier{
		Options: o, seeds: seeds, invalidations: m, lock: lock,
		index: index{at: map[uint64]indexed{}, variants: map[uint64][]*location{}, slices: map[SliceID]sliceLocation{}},
		queue: make(chan writeJob, maxQueued), written: make(chan struct{}),
	}
	d.rest.tier, d.rest.past, d.rest.ended = d, &invalidation.Table{}, make(chan struct{})
	if d.Log == nil {
		d.Log = func(string, ...any) {}
	}
	if d.Restored == nil {
		d.Restored = func(*entry.Entry) {}
	}
	label, err := os.ReadFile(d.labelPath())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		lock.Close()
		return nil, fmt.Errorf("reading the label of the cache: %w", err)
	}
	d.label = string(label)
	if err := d.rebuild(); err != nil {
		d.closeFiles()
		return nil, fmt.Errorf("opening the cache on disk: %w", err)
	}
	m.StartAt(d.swept)
	return d, nil
}

// rebuild opens the segments and indexes the newest ones.
func (d *Tier) rebuild() error {
	numbers, err := segmentNumbers(d.Dir)
	if err != nil {
		return err
	}
	for i, number := range slices.Backward(numbers) {
		d.number = max(d.number, number)
		s, err := openSegment(d.Dir, number)
		switch {
		case errors.Is(err, errEmpty):
			if err := d.discard(numbers[i : i+1]); err != nil {
				return err
			}
			continue
		case err != nil:
			d.errors.Add(1)
			d.Log("unreadable segment of the cache; it and older segments are discarded", "path", segmentPath(d.Dir, number), "error", err)
			if err := d.discard(numbers[:i+1]); err != nil {
				return err
			}
		}
		if err != nil {
			break
		}
		d.segments = append(d.segments, s)
		d.bytes += s.size
	}
	slices.Reverse(d.segments)
	d.rest.segments = slices.Clone(d.segments)
	return d.rest.indexFirst()
}

// discard removes segments that are not open.
func (d *Tier) discard(numbers []uint64) (err error) {
	for _, number := range numbers {
		err = errors.Join(err, os.Remove(segmentPath(d.Dir, number)))
	}
	return err
}

// segmentNumbers returns the numbers of the segments in a folder, in order. It ignores other files.
func segmentNumbers(dir string) (numbers []uint64, err error) {
	files, err := os.ReadDir(dir)
	for _, f := range files {
		var number uint64
		if _, err := fmt.Sscanf(f.Name(), segmentPattern, &number); err == nil && segmentPath(dir, number) == filepath.Join(dir, f.Name()) {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}
