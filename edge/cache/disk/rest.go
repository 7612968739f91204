package disk

import (
	"errors"
	"iter"
	"slices"

	"github.com/iconedge/iconedge/edge/cache/batches"
	"github.com/iconedge/iconedge/edge/cache/codec"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// A tier of 100 GB may have a hundred million records. Open indexes the newest ones, so that the
// edge soon answers, and has the entries that it stored last. A goroutine indexes the rest. Until
// then a request for one of them is a miss.
//
// The newest records come first, so that a purge is known before the entries that it purged, and
// the newest of several records with the same keys comes first. Purges of this run are known by the
// table of invalidations, and newer entries of this run by the index.

// defaultAtOnce is the default of Options.AtOnce.
const defaultAtOnce = 4 * maxSegment

// indexFirst indexes the newest segments: those that Options tell, and as many as it takes to know
// the newest generation.
func (r *unindexed) indexFirst() error {
	most, bytes := r.tier.AtOnce, int64(0)
	if most == 0 {
		most = defaultAtOnce
	}
	for bounded := false; len(r.segments) > 0 && (bytes < most || !bounded); {
		bytes += r.segments[len(r.segments)-1].size
		marked, err := r.indexNext()
		if err != nil {
			return err
		}
		bounded = bounded || marked
	}
	r.tier.index.marking = len(r.segments) > 0
	r.left.Store(r.tier.index.marking)
	return nil
}

// indexAll indexes all other segments, unless the tier is closed meanwhile.
func (r *unindexed) indexAll() {
	defer close(r.ended)
	d := r.tier
	for len(r.segments) > 0 && !r.stop.Load() {
		if _, err := r.indexNext(); err != nil {
			d.errors.Add(1)
			d.Log("damaged segments of the cache not removed", "error", err)
		}
	}
	d.mu.Lock()
	marks := d.index.marks
	d.index.marking, d.index.marks = false, nil
	d.mu.Unlock()
	batches.Each(&d.mu, slices.Values(marks), d.index.unmark)
	r.left.Store(len(r.segments) > 0)
	r.past = nil
}

// indexNext indexes the newest segment of the rest. marked says whether the segment has a mark.
// Records older than a damaged part are not used, because that part may have held a purge.
func (r *unindexed) indexNext() (marked bool, err error) {
	last := len(r.segments) - 1
	s := r.segments[last]
	r.segments = r.segments[:last]
	records, whole := s.walk()
	if intact := r.indexRecords(s, records); intact && whole {
		return isMarked(records), nil
	}
	d := r.tier
	d.mu.RLock()
	removed := s.removed
	d.mu.RUnlock()
	if removed {
		return false, nil
	}
	d.errors.Add(1)
	d.Log("damaged segment of the cache; older records are discarded", "path", segmentPath(d.Dir, s.number))
	return false, r.discard()
}

// discard removes the segments that are not indexed.
func (r *unindexed) discard() (err error) {
	d := r.tier
	d.writing.Lock()
	defer d.writing.Unlock()
	d.mu.Lock()
	unusable := slices.DeleteFunc(r.segments, func(s *segment) bool { return s.removed })
	for _, s := range unusable {
		s.removed = true
		d.bytes -= s.size
	}
	d.segments = slices.DeleteFunc(d.segments, func(s *segment) bool { return s.removed })
	d.mu.Unlock()
	r.segments = nil
	for _, s := range unusable {
		err = errors.Join(err, s.remove(d.Dir))
	}
	return err
}

// indexRecords indexes the records of a segment, the last one first. It returns false at a damaged
// one.
func (r *unindexed) indexRecords(s *segment, records []foundRecord) (intact bool) {
	for len(records) > 0 {
		last := len(records) - 1
		for last >= 0 && records[last].kind != kindPurge {
			last--
		}
		batches.Each(&r.tier.mu, backward(records[last+1:]), func(found foundRecord) {
			if !s.removed {
				r.indexRecord(s, found)
			}
		})
		// Without the lock, because it may have many names.
		if last >= 0 && !r.indexPurge(records[last]) {
			return false
		}
		records = records[:max(last, 0)]
	}
	return true
}

func backward(records []foundRecord) iter.Seq[foundRecord] {
	return func(yield func(foundRecord) bool) {
		for _, found := range slices.Backward(records) {
			if !yield(found) {
				return
			}
		}
	}
}

// indexRecord indexes an entry or a slice. The caller holds the lock of the index.
func (r *unindexed) indexRecord(s *segment, found foundRecord) {
	switch found.kind {
	case kindEntry:
		decoder := &codec.Decoder{Rest: found.head}
		if n := readName(decoder); !decoder.Bad {
			r.tier.swept = max(r.tier.swept, n.generation)
			r.indexEntry(s, found, &n)
		}
	case kindSlice:
		r.tier.indexSlice(s, found)
	}
}

func (r *unindexed) indexPurge(found foundRecord) (intact bool) {
	p, generation, now, err := decodePurge(found.head)
	if err != nil {
		return false
	}
	d := r.tier
	r.past.ApplyAt(generation, invalidation.SpecOf(d.seeds, &p, now))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.swept = max(d.swept, generation)
	return true
}

// indexEntry indexes an entry, unless it was dropped later or a newer one is indexed.
func (r *unindexed) indexEntry(s *segment, found foundRecord, n *name) {
	d := r.tier
	p := d.locationOf(s, found.off, found.size, n)
	v := r.past.Newest(n.key, p.labels).Merge(d.invalidations.NewestOf(n.key, p.labels))
	if v.Hard > n.generation {
		return
	}
	if v.Soft > n.generation && p.expiredAt == 0 {
		p.expiredAt = v.When
	}
	d.index.addOlder(p)
}

// isMarked reports whether the first record of a segment is a mark.
func isMarked(records []foundRecord) bool {
	if len(records) == 0 || records[0].kind != kindPurge {
		return false
	}
	p, _, _, err := decodePurge(records[0].head)
	return err == nil && !p.Scans() && len(p.Keys) == 0
}
