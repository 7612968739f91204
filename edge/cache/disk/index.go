package disk

import (
	"slices"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
)

// A location is the position of an entry on disk, and the part of the entry that is needed in
// memory, about a hundred bytes.
type location struct {
	segment *segment
	off     uint32
	size    uint32
	// The generation is that at which the entry's request began.
	generation invalidation.Generation
	// expiredAt is the time of the soft purge that made it stale, in nanoseconds. 0 means that none
	// did, 1 that it was stale when it was written.
	expiredAt int64
	labels    []uint64 // of its key and surrogate keys
	keys      []uint64 // of a variant: the hash of its own secondary key, then those of its aliases
	gone      bool     // purged, or replaced by a newer record
}

// An index finds locations. Under the label of a key it has the location that was written last,
// and under the hashes of variants their locations. The location of a variant under its key's label
// shows by which names the variants differ.
type index struct {
	at map[uint64]indexed
	// variants are the usable locations of variants by the label of their key, the least recently
	// used first.
	variants map[uint64][]*location
	live     int64 // number of usable locations
	slices   map[SliceID]sliceLocation
	// While older records are still to be indexed, memory's newer entries leave marks: hidden
	// values without a location, which these hashes have.
	marking bool
	marks   []uint64
}

// An indexed location is the value of an index under one hash.
type indexed struct {
	location *location
	hidden   bool // memory has newer entries of the key
}

func (p *location) varies() bool { return len(p.keys) > 0 }

// find returns the usable location for a hash, or nil.
func (x *index) find(hash uint64) *location {
	s := x.at[hash]
	if s.location == nil || s.hidden || s.location.gone {
		return nil
	}
	return s.location
}

// atKey returns the location under the label of a key, or nil. An unusable location of a variant is
// returned too, because its record has the names by which the others vary.
func (x *index) atKey(label uint64) *location {
	s := x.at[label]
	if s.location == nil || s.hidden || s.location.gone && !s.location.varies() {
		return nil
	}
	return s.location
}

// hasKey reports whether the index has a location of a key, usable or not.
func (x *index) hasKey(label uint64) bool { return x.at[label].location != nil }

// add makes a location the newest under its keys.
func (x *index) add(p *location) {
	x.live++
	x.replace(p)
	if p.varies() {
		x.addVariant(p)
	}
	x.at[p.labels[0]] = indexed{location: p}
	for _, k := range p.keys {
		x.at[k] = indexed{location: p}
	}
	p.segment.locations = append(p.segment.locations, p)
}

// addOlder adds a location that is older than all in the index, if it is usable beside them.
func (x *index) addOlder(p *location) {
	newest, found := x.at[p.labels[0]]
	switch {
	case !found:
		x.at[p.labels[0]] = indexed{location: p}
	case newest.location == nil || !p.varies() || !newest.location.varies() || x.has(p.keys[0]):
		return
	}
	for _, k := range p.keys {
		if !x.has(k) {
			x.at[k] = indexed{location: p}
		}
	}
	if p.varies() {
		if len(x.variants[p.labels[0]]) >= entry.MaxVariants {
			p.gone = true // newer variants take its place
			p.segment.locations = append(p.segment.locations, p)
			return
		}
		x.variants[p.labels[0]] = slices.Insert(x.variants[p.labels[0]], 0, p)
	}
	x.live++
	p.segment.locations = append(p.segment.locations, p)
}

// addVariant makes a variant the most recently used one of its key. If there are too many, the
// least recently used one is retired.
func (x *index) addVariant(p *location) {
	label := p.labels[0]
	if list := x.variants[label]; len(list) >= entry.MaxVariants {
		x.retire(list[0])
	}
	x.variants[label] = append(x.variants[label], p)
}

// use makes a variant the most recently used one, unless it is unusable.
func (x *index) use(p *location) {
	list := x.variants[p.labels[0]]
	if i := slices.Index(list, p); i >= 0 {
		copy(list[i:], list[i+1:])
		list[len(list)-1] = p
	}
}

// replace retires the location that has the same keys as p.
func (x *index) replace(p *location) {
	old := x.at[p.labels[0]].location
	if p.varies() {
		old = x.at[p.keys[0]].location
	}
	if old != nil && old.varies() == p.varies() && (!p.varies() || old.keys[0] == p.keys[0]) {
		x.retire(old)
	}
}

// hide makes the locations under an entry's keys unusable, because the entry is newer.
func (x *index) hide(e *entry.Entry) {
	if p := x.at[e.Labels[0]].location; p != nil && !p.varies() {
		x.retire(p)
	}
	x.clear(e.Labels[0])
	if s := x.at[e.Hash]; s.location != nil && s.location.varies() && s.location.keys[0] == e.Hash {
		x.retire(s.location)
	}
	if x.marking {
		x.mark(e.Labels[0])
		x.mark(e.Hash)
	}
}

// mark keeps older records from a hash.
func (x *index) mark(hash uint64) {
	if !x.has(hash) {
		x.at[hash] = indexed{hidden: true}
		x.marks = append(x.marks, hash)
	}
}

// unmark removes a mark.
func (x *index) unmark(hash uint64) {
	if x.at[hash].location == nil {
		delete(x.at, hash)
	}
}

// has reports whether a hash has a location or a mark.
func (x *index) has(hash uint64) bool {
	_, found := x.at[hash]
	return found
}

// clear makes the location of a key unusable.
func (x *index) clear(label uint64) {
	if s := x.at[label]; s.location != nil {
		s.hidden = true
		x.at[label] = s
	}
}

// retire makes a location unusable. It returns false if it was so before.
func (x *index) retire(p *location) bool {
	if p.gone {
		return false
	}
	p.gone = true
	x.live--
	if p.varies() {
		x.removeVariant(p)
	}
	return true
}

// removeVariant removes a variant from the list of its key.
func (x *index) removeVariant(p *location) {
	label := p.labels[0]
	list := slices.DeleteFunc(x.variants[label], func(o *location) bool { return o == p })
	if x.variants[label] = list; len(list) == 0 {
		delete(x.variants, label)
	}
}

// remove removes the locations of a segment.
func (x *index) remove(s *segment) {
	for _, p := range s.locations {
		x.retire(p)
		x.unlink(p.labels[0], p)
		for _, k := range p.keys {
			x.unlink(k, p)
		}
	}
	x.removeSlices(s)
}

func (x *index) unlink(hash uint64, p *location) {
	if x.at[hash].location == p {
		delete(x.at, hash)
	}
}
