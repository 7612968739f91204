package search

import (
	"cmp"
	"math/bits"
	"slices"
)

// A tally counts keys. It is a hash table that keeps its memory, because a map for each query costs
// more than the rest of ordering.
type tally struct {
	slots []tallied
	shift int
}

type tallied struct {
	key   uint64 // plus 1
	count uint32
}

// reset forgets all keys, and makes room for n.
func (t *tally) reset(n int) {
	size := 1 << bits.Len(uint(2*n+15))
	if cap(t.slots) < size {
		t.slots = make([]tallied, size)
	}
	t.slots = t.slots[:size]
	clear(t.slots)
	t.shift = 64 - bits.Len(uint(size-1))
}

// next returns how often it was called with this key before.
func (t *tally) next(key uint64) int {
	at := (key + 1) * 0x9e3779b97f4a7c15 >> t.shift
	for t.slots[at].key != key+1 {
		if t.slots[at].key == 0 {
			t.slots[at].key = key + 1
			break
		}
		at = (at + 1) & uint64(len(t.slots)-1)
	}
	t.slots[at].count++
	return int(t.slots[at].count - 1)
}

// sortedByRadix is the number of ranks from which sorting by radix is faster.
const sortedByRadix = 192

// sort sorts ranks in ascending order.
func (s *scratch) sort(list []rank) {
	if len(list) < sortedByRadix {
		slices.Sort(list)
		return
	}
	s.radix(list, 0)
}

// sortUpper sorts ranks by their upper bits, from one of them. Ranks with the same upper bits keep
// their order.
func (s *scratch) sortUpper(list []rank, from int) {
	if len(list) < sortedByRadix {
		slices.SortStableFunc(list, func(a, b rank) int { return cmp.Compare(a>>from, b>>from) })
		return
	}
	s.radix(list, from)
}

// radix sorts ranks by their upper bits, byte by byte, because there are up to thousands of them,
// and most have the same upper bytes.
func (s *scratch) radix(list []rank, from int) {
	var counts [8][256]uint32
	same, all := ^rank(0), rank(0)
	for _, r := range list {
		same, all = same&r, all|r
	}
	varied := (same ^ all) >> from << from // the bits that differ
	for _, r := range list {
		r = r >> from << from
		for b := from / 8; b < len(counts); b++ {
			counts[b][byte(r>>(8*b))]++
		}
	}
	s.sorting = slices.Grow(s.sorting[:0], len(list))[:len(list)]
	source, to := list, s.sorting
	for b := from / 8; b < len(counts); b++ {
		if byte(varied>>(8*b)) == 0 {
			continue
		}
		at := uint32(0)
		for i, n := range counts[b] {
			counts[b][i] = at
			at += n
		}
		for _, r := range source {
			i := byte(r >> from << from >> (8 * b))
			to[counts[b][i]] = r
			counts[b][i]++
		}
		source, to = to, source
	}
	if &source[0] != &list[0] {
		copy(list, source)
	}
}
