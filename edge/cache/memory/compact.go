package memory

import (
	"cmp"
	"slices"
	"unsafe"
)

// Evacuate selects the slabs to empty, those with the fewest slots in use first, and returns which
// they are, by number, or nil if there are none. They get no new slots.
func (a *Arena) Evacuate() (evacuating []bool) {
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

// Move copies a slot to another slab, and frees it. Without memory the slot stays.
func (a *Arena) Move(r Ref) Ref {
	size := a.Size(r)
	to, ok := a.Alloc(size)
	if !ok {
		return r
	}
	copy(unsafe.Slice((*byte)(a.at(to)), size), unsafe.Slice((*byte)(a.at(r)), size))
	a.Free(r)
	return to
}

// EndEvacuation returns slabs that could not be emptied to use.
func (a *Arena) EndEvacuation() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.slabs {
		if s != nil && s.evacuating {
			s.evacuating = false
			a.list(s)
		}
	}
}
