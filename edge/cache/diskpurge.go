package cache

import "time"

// recordPurge appends a purge or drop to the log, so that it applies after a restart. A durable one
// is on disk when recordPurge returns, also after a power failure; others are when the label is set
// next.
func (d *disk) record(p *Purge, mark Mark, now time.Time, lasting bool) {
	d.writing.Lock()
	defer d.writing.Unlock()
	if d.concernsNothing(p) {
		return
	}
	err := d.appendPurge(p, mark, now)
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

// affectsNothing reports whether a purge concerns no record that a restart could find. Entries that
// are still to be written are checked against the purge before that.
func (d *disk) concernsNothing(p *Purge) bool {
	if len(d.segments) == 0 {
		return true
	}
	if p.scans() {
		return false
	}
	mentioned := false
	inBatches(d.mu.RLocker(), values(p.Keys), func(key string) {
		mentioned = mentioned || d.index.mentions(d.seeds.labelOfURL(key))
	})
	return !mentioned
}

// appendPurge writes a purge. One of many surrogate keys takes several records.
func (d *disk) appendPurge(p *Purge, mark Mark, now time.Time) error {
	rest := *p
	for first := true; first || len(rest.Tags) > 0; first = false {
		part := rest
		part.Tags = rest.Tags[:min(len(rest.Tags), tagsInRecord)]
		head := encodePurge(&part, mark, now)
		if _, _, _, err := d.append(int64(recordStart+len(head)), kindPurge, head, nil); err != nil {
			return err
		}
		rest = Purge{Tags: rest.Tags[len(part.Tags):], Soft: p.Soft}
	}
	return nil
}

// purge applies a recorded purge to the records on disk. It returns how many of the affected
// entries are not in memory; inMemory are the locations of those that are.
func (d *disk) purge(p *Purge, s *purgeSpec, mark Mark, known []*place) (n int) {
	concerned := d.concerned(p, s)
	inBatches(&d.mu, values(known), func(p *place) { d.hit(p, s) })
	inBatches(&d.mu, values(concerned), func(p *place) {
		if p.asked < mark && d.hit(p, s) {
			n++
		}
	})
	if !s.soft {
		inBatches(&d.mu, values(s.labels), d.index.clear) // those of surrogate keys are at no place
	}
	return n
}

// purgeLocation makes a record unusable, or stale. It returns false if the record was so before.
func (d *disk) hit(p *place, s *purgeSpec) bool {
	switch {
	case !s.soft:
		return d.index.retire(p)
	case p.gone || p.softened != 0:
		return false
	}
	p.softened = s.when.UnixNano()
	return true
}

// matching returns the locations that a purge concerns. If it names prefixes, their keys are read
// from disk.
func (d *disk) concerned(p *Purge, s *purgeSpec) []*place {
	if !p.scans() {
		if places, all := d.under(s.labels); all {
			return places
		}
	}
	concerned, others := d.concernedByLabels(s)
	begins := s.begins()
	for _, p := range others {
		if n, ok := d.name(p); ok && begins(n.key) {
			concerned = append(concerned, p)
		}
	}
	return concerned
}

// under returns the locations of some keys. all is false if one of the keys has variants, which the
// index does not list here.
func (d *disk) under(labels []uint64) (places []*place, all bool) {
	all = true
	inBatches(d.mu.RLocker(), values(labels), func(l uint64) {
		if p := d.index.at[l].place; p != nil {
			all = all && !p.varies()
			places = append(places, p)
		}
	})
	return places, all
}

// locations returns the locations of each segment. Entries that are stored later are checked
// against every recorded purge.
func (d *disk) places() (lists [][]*place) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, s := range d.segments {
		lists = append(lists, s.places)
	}
	return lists
}

func (d *disk) concernedByLabels(s *purgeSpec) (concerned, others []*place) {
	about := s.aboutLabels()
	for _, list := range d.places() {
		inBatches(d.mu.RLocker(), values(list), func(p *place) {
			switch {
			case p.gone:
			case about(p.labels):
				concerned = append(concerned, p)
			case len(s.prefixes) > 0:
				others = append(others, p)
			}
		})
	}
	return concerned, others
}

// sweep makes the records of dropped entries unusable, if there was an invalidation since the last
// sweep.
func (d *disk) sweep() {
	now := d.marks.now()
	d.mu.RLock()
	swept := d.swept
	d.mu.RUnlock()
	if swept >= now {
		return
	}
	d.writing.Lock() // entries that were checked before this moment are in the index then
	lists := d.places()
	d.writing.Unlock()
	for _, list := range lists {
		inBatches(&d.mu, values(list), func(p *place) {
			if !p.gone && d.marks.dropped(p.labels, p.asked) {
				d.index.retire(p)
			}
		})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.swept = now
}
