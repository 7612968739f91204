package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/iconedge/iconedge/edge/cache/codec"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/hashes"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
	"github.com/iconedge/iconedge/internal/files"
)

// Open opens the tier in a folder, which it creates if necessary, indexes its records and starts
// its writer.
// Generations continue after the newest one in the log: everything there was checked against
// earlier invalidations.
func Open(o Options, seeds *hashes.Seeds, m *invalidation.Table) (*Tier, error) {
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
	go d.write()
	return d, nil
}

// rebuild indexes the segments, the newest first, so that a purge is known before the entries that
// it purged, and the newest of several records with the same keys comes first. Records older than a
// damaged part are not used, because that part may have held a purge.
func (d *Tier) rebuild() error {
	numbers, err := segmentNumbers(d.Dir)
	if err != nil {
		return err
	}
	past := &invalidation.Table{}
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
			return d.discard(numbers[:i+1])
		}
		d.segments = slices.Insert(d.segments, 0, s)
		d.bytes += s.size
		if !d.indexSegment(s, past) {
			d.errors.Add(1)
			d.Log("damaged segment of the cache; older records are discarded", "path", segmentPath(d.Dir, number))
			return d.discard(numbers[:i])
		}
	}
	return nil
}

// indexSegment indexes the records of a segment, the last one first, and reports whether none was
// lost in the middle.
func (d *Tier) indexSegment(s *segment, past *invalidation.Table) (whole bool) {
	records, whole := s.walk()
	for _, r := range slices.Backward(records) {
		switch r.kind {
		case kindPurge:
			p, generation, now, err := decodePurge(r.head)
			if err != nil {
				return false
			}
			d.swept = max(d.swept, generation)
			past.ApplyAt(generation, invalidation.SpecOf(d.seeds, &p, now))
		case kindEntry:
			decoder := &codec.Decoder{Rest: r.head}
			if n := readName(decoder); !decoder.Bad {
				d.swept = max(d.swept, n.generation)
				d.indexEntry(s, r, &n, past)
			}
		case kindSlice:
			d.indexSlice(s, r)
		}
	}
	return whole
}

// indexEntry indexes an entry, unless it was dropped later or a newer one is indexed.
func (d *Tier) indexEntry(s *segment, r foundRecord, n *name, past *invalidation.Table) {
	p := d.locationOf(s, r.off, r.size, n)
	found := past.Newest(n.key, p.labels)
	if found.Hard > n.generation {
		return
	}
	if found.Soft > n.generation && p.expiredAt == 0 {
		p.expiredAt = found.When
	}
	d.index.addOlder(p)
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
