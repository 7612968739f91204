package cache

import (
	"slices"
	"time"
)

// record notes a purge or drop, so that it is known after a restart. A lasting one is known whenever that comes, also after a
// power failure; others when the label is next set.
func (d *disk) record(p *Purge, mark Mark, now time.Time, lasting bool) {
	d.writing.Lock()
	defer d.writing.Unlock()
	if d.concernsNothing(p) {
		return
	}
	err := d.appendSentence(p, mark, now)
	if err == nil && lasting {
		err = d.sync()
	}
	if err != nil {
		d.fail(err)
	}
	if d.failed {
		d.wipe()
	}
}

// concernsNothing reports whether nothing that was ever written, and may be found after a restart, can be meant. What is still
// to be written is judged by the purge before.
func (d *disk) concernsNothing(p *Purge) bool {
	if len(d.segments) == 0 {
		return true
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return !p.scans() && !slices.ContainsFunc(p.Keys, func(key string) bool { return d.index.mentions(d.seeds.labelOfURL(key)) })
}

// appendSentence writes a purge, one of many surrogate keys in parts.
func (d *disk) appendSentence(p *Purge, mark Mark, now time.Time) error {
	rest := *p
	for first := true; first || len(rest.Tags) > 0; first = false {
		part := rest
		part.Tags = rest.Tags[:min(len(rest.Tags), tagsInRecord)]
		head := encodeSentence(&part, mark, now)
		if _, _, _, err := d.append(int64(recordStart+len(head)), kindSentence, head, nil); err != nil {
			return err
		}
		rest = Purge{Tags: rest.Tags[len(part.Tags):], Soft: p.Soft}
	}
	return nil
}

// purge applies to what lies on disk a sentence that is recorded, and returns how many entries that are nowhere else it hit.
// The others are those whose places are known from memory.
func (d *disk) purge(p *Purge, s *sentence, mark Mark, known []*place) (n int) {
	concerned := d.concerned(p, s)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range known {
		d.hit(p, s)
	}
	for _, p := range concerned {
		if p.asked < mark && d.hit(p, s) {
			n++
		}
	}
	if !s.soft {
		for _, l := range s.labels { // those of surrogate keys are at no place
			d.index.clear(l)
		}
	}
	return n
}

// hit makes a place of no use, or stale; it is false where it was that already.
func (d *disk) hit(p *place, s *sentence) bool {
	switch {
	case !s.soft:
		return d.index.retire(p)
	case p.gone || p.softened != 0:
		return false
	}
	p.softened = s.when.UnixNano()
	return true
}

// concerned are the places that a sentence is about. Their keys are read where prefixes are named.
func (d *disk) concerned(p *Purge, s *sentence) []*place {
	if !p.scans() {
		if places, all := d.under(s.labels); all {
			return places
		}
	}
	concerned, others := d.concernedByLabels(s)
	for _, p := range others {
		if n, ok := d.name(p); ok && s.begins(n.key) {
			concerned = append(concerned, p)
		}
	}
	return concerned
}

// under are the places of some addresses; they are not all where one varies.
func (d *disk) under(labels []uint64) (places []*place, all bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, l := range labels {
		p := d.index.at[l].place
		if p == nil {
			continue
		}
		if p.varies() {
			return nil, false
		}
		places = append(places, p)
	}
	return places, true
}

func (d *disk) concernedByLabels(s *sentence) (concerned, others []*place) {
	about := s.aboutLabels()
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, segment := range d.segments {
		for _, p := range segment.places {
			switch {
			case p.gone:
			case about(p.labels):
				concerned = append(concerned, p)
			case len(s.prefixes) > 0:
				others = append(others, p)
			}
		}
	}
	return concerned, others
}

// sweep makes places of no use whose entries were dropped, if anything was since it last did.
func (d *disk) sweep() {
	now := d.marks.now()
	d.mu.RLock()
	segments, swept := d.segments, d.swept
	d.mu.RUnlock()
	if swept >= now {
		return
	}
	for _, s := range segments {
		d.sweepSegment(s)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.swept = now
}

func (d *disk) sweepSegment(s *segment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range s.places {
		if !p.gone && d.marks.dropped(p.labels, p.asked) {
			d.index.retire(p)
		}
	}
}
