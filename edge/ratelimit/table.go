package ratelimit

import (
	"hash/maphash"
	"math"
)

// A table holds windows in open addressing with linear probing. It counts as full when every other
// slot is in use, so that most windows are found at the first probe and the others close by. A
// table is 32 KiB and has no pointers.
type table struct {
	windows [tableLen]window
	used    int
	due     moment // no window can be removed earlier
	depth   uint8  // the number of leading bits of the hash that all its windows have in common
	_       [5]uint64
}

const (
	tableLen = 511
	full     = tableLen / 2
	never    = moment(math.MaxInt64)
)

// homeSlot returns the slot where the search for a hash begins. It uses other bits than those that
// select shard and table.
func homeSlot(hash uint64) int { return int(hash >> 8 & 0xffffff * tableLen >> 24) }

func nextSlot(i int) int {
	if i++; i < tableLen {
		return i
	}
	return 0
}

// find returns the window of k, or the empty slot for it.
func (t *table) find(k key, hash uint64) *window {
	i := homeSlot(hash)
	for {
		if w := &t.windows[i]; w.bits == k.bits && w.counts.kind() == k.kind || w.counts.kind() == noWindow {
			return w
		}
		i = nextSlot(i)
	}
}

// put copies a window that is not in t into it. hash is that of its key.
func (t *table) put(w *window, hash uint64) {
	*t.find(w.key(), hash) = *w
	t.used++
}

// remove empties slot i and moves up later windows that would otherwise no longer be found.
func (t *table) remove(i int, seed maphash.Seed) {
	for j := nextSlot(i); t.windows[j].counts.kind() != noWindow; j = nextSlot(j) {
		if distance(homeSlot(t.windows[j].key().hash(seed)), j) >= distance(i, j) {
			t.windows[i] = t.windows[j]
			i = j
		}
	}
	t.windows[i] = window{}
	t.used--
}

// distance returns how many slots b is after a.
func distance(a, b int) int {
	if b < a {
		b += tableLen
	}
	return b - a
}

// split moves the windows whose next bit of the hash is set to other, which is empty.
func (t *table) split(other *table, seed maphash.Seed) {
	other.depth, other.due = t.depth+1, t.due
	bit := uint64(1) << (63 - t.depth)
	t.depth++
	for i := 0; i < tableLen; {
		w := &t.windows[i]
		if w.counts.kind() == noWindow {
			i++
			continue
		}
		hash := w.key().hash(seed)
		if hash&bit == 0 {
			i++
			continue
		}
		other.put(w, hash)
		t.remove(i, seed)
	}
}

// take moves all windows of other, a table that was split from t, back to t.
func (t *table) take(other *table, seed maphash.Seed) {
	t.depth--
	t.due = min(t.due, other.due)
	for i := range other.windows {
		if w := &other.windows[i]; w.counts.kind() != noWindow {
			t.put(w, w.key().hash(seed))
		}
	}
}
