package cache

import "slices"

// A place is where an entry lies on disk, and what has to be known of it in memory: some hundred bytes.
type place struct {
	segment  *segment
	off      uint32
	size     uint32
	asked    Mark
	softened int64    // when a soft purge made it stale, in nanoseconds; 0: none did; 1: what is written is stale already
	labels   []uint64 // of its address and surrogate keys
	keys     []uint64 // of a variant: the hash of its own key, then those of its aliases
	gone     bool     // purged, or replaced by a newer one
}

// An index finds places. Under the label of an address stands the one that was written last, under the hashes of variants
// theirs: so one for a variant tells, at the address, by which names it varies.
type index struct {
	at       map[uint64]spot
	variants map[uint64][]*place // those of an address that are not gone, the least recently used first
	there    int64               // places that are not gone
}

type spot struct {
	place  *place
	hidden bool // what is in memory says more of the address
}

func (p *place) varies() bool { return len(p.keys) > 0 }

// find returns the place for a hash, if it is of use.
func (x *index) find(hash uint64) *place {
	s := x.at[hash]
	if s.place == nil || s.hidden || s.place.gone {
		return nil
	}
	return s.place
}

// record finds the place that tells what is at an address. Of variants any will do, also one that is gone: it tells by which
// names the others vary.
func (x *index) record(label uint64) *place {
	s := x.at[label]
	if s.place == nil || s.hidden || s.place.gone && !s.place.varies() {
		return nil
	}
	return s.place
}

// mentions reports whether anything of an address lies on disk, of use or not.
func (x *index) mentions(label uint64) bool { return x.at[label].place != nil }

// add makes a place the newest with its keys.
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

// addOlder adds a place that is older than all that are there, if it is of use beside them.
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
			p.gone = true // newer ones have its place
			p.segment.places = append(p.segment.places, p)
			return
		}
		x.variants[p.labels[0]] = slices.Insert(x.variants[p.labels[0]], 0, p)
	}
	x.there++
	p.segment.places = append(p.segment.places, p)
}

// enter makes a variant the last used one of its address; where there are too many, the first goes.
func (x *index) enter(p *place) {
	label := p.labels[0]
	if list := x.variants[label]; len(list) >= maxVariants {
		x.retire(list[0])
	}
	x.variants[label] = append(x.variants[label], p)
}

// use makes a variant the last used one, if it is not gone.
func (x *index) use(p *place) {
	list := x.variants[p.labels[0]]
	if i := slices.Index(list, p); i >= 0 {
		copy(list[i:], list[i+1:])
		list[len(list)-1] = p
	}
}

// replace retires the place that has the same keys as another.
func (x *index) replace(p *place) {
	old := x.at[p.labels[0]].place
	if p.varies() {
		old = x.at[p.keys[0]].place
	}
	if old != nil && old.varies() == p.varies() && (!p.varies() || old.keys[0] == p.keys[0]) {
		x.retire(old)
	}
}

// hide makes what is on disk under an entry's keys of no use: the entry is newer.
func (x *index) hide(e *Entry) {
	if p := x.at[e.labels[0]].place; p != nil && !p.varies() {
		x.retire(p)
	}
	x.clear(e.labels[0])
	if s := x.at[e.hash]; s.place != nil && s.place.varies() && s.place.keys[0] == e.hash {
		x.retire(s.place)
	}
}

// clear makes an address one of which nothing is known.
func (x *index) clear(label uint64) {
	if s := x.at[label]; s.place != nil {
		s.hidden = true
		x.at[label] = s
	}
}

// retire makes a place of no use; it is false where it was that already.
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

// withdraw strikes a variant from those of its address.
func (x *index) withdraw(p *place) {
	label := p.labels[0]
	list := slices.DeleteFunc(x.variants[label], func(o *place) bool { return o == p })
	if x.variants[label] = list; len(list) == 0 {
		delete(x.variants, label)
	}
}

// remove forgets what lies in a segment.
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
