package cache

import (
	"cmp"
	"slices"
	"unsafe"
)

// evacuate selects the slabs to empty, those with the fewest slots in use first, and returns which
// they are, by number, or nil if there are none. They get no new slots.
func (a *arena) evacuate() (evacuating []bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for class, holes := range a.holes {
		if holes == 0 || holes < a.slabSize/classSize(class) {
			continue
		}
		var sparse []*slab
		for s := a.open[class]; s != nil; s = s.next {
			sparse = append(sparse, s)
		}
		slices.SortFunc(sparse, func(s, o *slab) int { return cmp.Compare(s.live, o.live) })
		for _, s := range sparse[:min(len(sparse), holes/sparse[0].room)] {
			if evacuating == nil {
				evacuating = make([]bool, len(a.slabs))
			}
			a.unlist(s)
			s.evacuating, evacuating[s.number] = true, true
		}
	}
	return evacuating
}

// move copies a slot to another slab, and frees it. Without memory the slot stays.
func (a *arena) move(r ref) ref {
	size := a.size(r)
	to, ok := a.alloc(size)
	if !ok {
		return r
	}
	copy(unsafe.Slice((*byte)(a.at(to)), size), unsafe.Slice((*byte)(a.at(r)), size))
	a.free(r)
	return to
}

// endEvacuation returns slabs that could not be emptied to use.
func (a *arena) endEvacuation() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.slabs {
		if s != nil && s.evacuating {
			s.evacuating = false
			a.list(s)
		}
	}
}
