package cache

import "slices"

// A location is the position of an entry on disk, and the part of the entry that is needed in
// memory, about a hundred bytes.
type place struct {
	segment  *segment
	off      uint32
	size     uint32
	// at which its request began
	asked    Mark
	// When a soft purge made it stale, in nanoseconds. 0: none did; 1: it was stale when it was
	// written.
	softened int64
	labels   []uint64 // of its key and surrogate keys
	keys     []uint64 // of a variant: the hash of its own secondary key, then those of its aliases
	gone     bool // purged, or replaced by a newer record
}

// A diskIndex finds locations. Under the label of a key it has the location that was written last,
// and under the hashes of variants their locations. The location of a variant under its key's label
// shows by which names the variants differ.
type index struct {
	at       map[uint64]spot
	variants map[uint64][]*place // usable locations of variants by the label of their key, the least recently used first
	there    int64 // number of usable locations
}

type spot struct {
	place  *place
	hidden bool // memory has newer entries of the key
}

func (p *place) varies() bool { return len(p.keys) > 0 }

// find returns the usable location for a hash, or nil.
func (x *index) find(hash uint64) *place {
	s := x.at[hash]
	if s.place == nil || s.hidden || s.place.gone {
		return nil
	}
	return s.place
}

// atKey returns the location under the label of a key, or nil. An unusable location of a variant is
// returned too, because its record has the names by which the others vary.
func (x *index) record(label uint64) *place {
	s := x.at[label]
	if s.place == nil || s.hidden || s.place.gone && !s.place.varies() {
		return nil
	}
	return s.place
}

// hasKey reports whether the index has a location of a key, usable or not.
func (x *index) mentions(label uint64) bool { return x.at[label].place != nil }

// add makes a location the newest under its keys.
func (x *index) add(p *place) {
	x.there++
	x.replace(p)
	if p.varies() {
		x.enter(p)
	}
	x.at[p.labels[0]] = spot{place: p}
	for _, k := range p.keys {
		x.at[k] = spot{place: p}
	}
	p.segment.places = append(p.segment.places, p)
}

// addOlder adds a location that is older than all in the index, if it is usable beside them.
func (x *index) addOlder(p *place) {
	newest := x.at[p.labels[0]].place
	switch {
	case newest == nil:
		x.at[p.labels[0]] = spot{place: p}
	case !p.varies() || !newest.varies() || x.at[p.keys[0]].place != nil:
		return
	}
	for _, k := range p.keys {
		if x.at[k].place == nil {
			x.at[k] = spot{place: p}
		}
	}
	if p.varies() {
		if len(x.variants[p.labels[0]]) >= maxVariants {
			p.gone = true // newer variants take its place
			p.segment.places = append(p.segment.places, p)
			return
		}
		x.variants[p.labels[0]] = slices.Insert(x.variants[p.labels[0]], 0, p)
	}
	x.there++
	p.segment.places = append(p.segment.places, p)
}

// addVariant makes a variant the most recently used one of its key. If there are too many, the
// least recently used one is retired.
func (x *index) enter(p *place) {
	label := p.labels[0]
	if list := x.variants[label]; len(list) >= maxVariants {
		x.retire(list[0])
	}
	x.variants[label] = append(x.variants[label], p)
}

// use makes a variant the most recently used one, unless it is unusable.
func (x *index) use(p *place) {
	list := x.variants[p.labels[0]]
	if i := slices.Index(list, p); i >= 0 {
		copy(list[i:], list[i+1:])
		list[len(list)-1] = p
	}
}

// replace retires the location that has the same keys as p.
func (x *index) replace(p *place) {
	old := x.at[p.labels[0]].place
	if p.varies() {
		old = x.at[p.keys[0]].place
	}
	if old != nil && old.varies() == p.varies() && (!p.varies() || old.keys[0] == p.keys[0]) {
		x.retire(old)
	}
}

// hide makes the locations under an entry's keys unusable, because the entry is newer.
func (x *index) hide(e *Entry) {
	if p := x.at[e.labels[0]].place; p != nil && !p.varies() {
		x.retire(p)
	}
	x.clear(e.labels[0])
	if s := x.at[e.hash]; s.place != nil && s.place.varies() && s.place.keys[0] == e.hash {
		x.retire(s.place)
	}
}

// clear makes the location of a key unusable.
func (x *index) clear(label uint64) {
	if s := x.at[label]; s.place != nil {
		s.hidden = true
		x.at[label] = s
	}
}

// retire makes a location unusable. It returns false if it was so before.
func (x *index) retire(p *place) bool {
	if p.gone {
		return false
	}
	p.gone = true
	x.there--
	if p.varies() {
		x.withdraw(p)
	}
	return true
}

// removeVariant removes a variant from the list of its key.
func (x *index) withdraw(p *place) {
	label := p.labels[0]
	list := slices.DeleteFunc(x.variants[label], func(o *place) bool { return o == p })
	if x.variants[label] = list; len(list) == 0 {
		delete(x.variants, label)
	}
}

// remove removes the locations of a segment.
func (x *index) remove(s *segment) {
	for _, p := range s.places {
		x.retire(p)
		x.leave(p.labels[0], p)
		for _, k := range p.keys {
			x.leave(k, p)
		}
	}
}

func (x *index) leave(hash uint64, p *place) {
	if x.at[hash].place == p {
		delete(x.at, hash)
	}
}
