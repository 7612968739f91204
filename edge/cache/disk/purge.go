package disk

import (
	"slices"
	"time"

	"github.com/iconedge/iconedge/edge/cache/batches"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// Indexing reports whether records are still to be indexed. Invalidations must be kept until then.
func (d *Tier) Indexing() bool { return d.rest.left.Load() }

// RecordPurge appends a purge or drop to the log, so that it applies after a restart. A durable one
// is on disk when RecordPurge returns, also after a power failure; others are when the label is set
// next.
func (d *Tier) RecordPurge(p *invalidation.Purge, generation invalidation.Generation, now time.Time, durable bool) {
	d.writing.Lock()
	defer d.writing.Unlock()
	if d.affectsNothing(p) {
		return
	}
	err := d.appendPurge(p, generation, now)
	if err == nil && durable {
		err = d.sync()
	}
	if err != nil {
		d.fail(err)
	}
	if d.failed {
		d.wipe()
	}
}

// affectsNothing reports whether a purge concerns no record that a restart could find. Entries that
// are still to be written are checked against the purge before that.
func (d *Tier) affectsNothing(p *invalidation.Purge) bool {
	if len(d.segments) == 0 {
		return true
	}
	if p.Scans() || d.Indexing() {
		return false
	}
	mentioned := false
	batches.Each(d.mu.RLocker(), slices.Values(p.Keys), func(key string) {
		mentioned = mentioned || d.index.hasKey(d.seeds.LabelOfKey(key))
	})
	return !mentioned
}

// appendPurge writes a purge. One of many surrogate keys takes several records.
func (d *Tier) appendPurge(p *invalidation.Purge, generation invalidation.Generation, now time.Time) error {
	rest := *p
	for first := true; first || len(rest.Tags) > 0; first = false {
		part := rest
		part.Tags = rest.Tags[:min(len(rest.Tags), tagsInRecord)]
		head := encodePurge(&part, generation, now)
		if _, _, _, err := d.append(int64(recordStart+len(head)), kindPurge, head, nil); err != nil {
			return err
		}
		rest = invalidation.Purge{Tags: rest.Tags[len(part.Tags):], Soft: p.Soft}
	}
	return nil
}

// Purge applies a recorded purge to the records on disk. It returns how many of the affected
// entries are not in memory; inMemory are the locations of those that are.
func (d *Tier) Purge(p *invalidation.Purge, s *invalidation.Spec, generation invalidation.Generation, inMemory []entry.Origin) (n int) {
	matching := d.matching(p, s)
	batches.Each(&d.mu, slices.Values(inMemory), func(o entry.Origin) { d.purgeLocation(o.(*location), s) })
	batches.Each(&d.mu, slices.Values(matching), func(p *location) {
		if p.generation < generation && d.purgeLocation(p, s) {
			n++
		}
	})
	if !s.Soft {
		// the index has no labels of surrogate keys
		batches.Each(&d.mu, slices.Values(s.Labels), d.index.clear)
	}
	return n
}

// purgeLocation makes a record unusable, or stale. It returns false if the record was so before.
func (d *Tier) purgeLocation(p *location, s *invalidation.Spec) bool {
	switch {
	case !s.Soft:
		return d.index.retire(p)
	case p.gone || p.expiredAt != 0:
		return false
	}
	p.expiredAt = s.When.UnixNano()
	return true
}

// matching returns the locations that a purge concerns. If it names prefixes, their keys are read
// from disk.
func (d *Tier) matching(p *invalidation.Purge, s *invalidation.Spec) []*location {
	if !p.Scans() {
		if locations, all := d.under(s.Labels); all {
			return locations
		}
	}
	matching, others := d.matchingByLabels(s)
	keyMatches := s.MatchesPrefixes()
	for _, p := range others {
		if n, ok := d.name(p); ok && keyMatches(n.key) {
			matching = append(matching, p)
		}
	}
	return matching
}

// under returns the locations of some keys. all is false if one of the keys has variants, which the
// index does not list here.
func (d *Tier) under(labels []uint64) (locations []*location, all bool) {
	all = true
	batches.Each(d.mu.RLocker(), slices.Values(labels), func(l uint64) {
		if p := d.index.at[l].location; p != nil {
			all = all && !p.varies()
			locations = append(locations, p)
		}
	})
	return locations, all
}

// locations returns the locations of each segment. Entries that are stored later are checked
// against every recorded purge.
func (d *Tier) locations() (lists [][]*location) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, s := range d.segments {
		lists = append(lists, s.locations)
	}
	return lists
}

func (d *Tier) matchingByLabels(s *invalidation.Spec) (matching, others []*location) {
	labelsMatch := s.MatchesLabels()
	for _, list := range d.locations() {
		batches.Each(d.mu.RLocker(), slices.Values(list), func(p *location) {
			switch {
			case p.gone:
			case labelsMatch(p.labels):
				matching = append(matching, p)
			case len(s.Prefixes) > 0:
				others = append(others, p)
			}
		})
	}
	return matching, others
}

// Sweep makes the records of dropped entries unusable, if there was an invalidation since the last
// sweep.
func (d *Tier) Sweep() {
	now := d.invalidations.Current()
	d.mu.RLock()
	swept := d.swept
	d.mu.RUnlock()
	if swept >= now {
		return
	}
	d.writing.Lock() // entries that were checked before this moment are in the index then
	lists := d.locations()
	d.writing.Unlock()
	for _, list := range lists {
		batches.Each(&d.mu, slices.Values(list), func(p *location) {
			if !p.gone && d.invalidations.Dropped(p.labels, p.generation) {
				d.index.retire(p)
			}
		})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.swept = now
}
