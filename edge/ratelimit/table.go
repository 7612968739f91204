package ratelimit

import "math"

// A table holds windows in open addressing with linear probing. It counts as full at five eighths,
// so that most windows are found at the first probe and the others close by. A table is 32 KiB and
// has no pointers.
type table struct {
	windows [tableLen]window
	used    int
	depth   uint8  // the number of leading bits of the hash that all its windows have in common
	due     moment // no window can be removed earlier
	_       [13]uint64
}

const (
	tableLen = 255
	full     = tableLen * 5 / 8
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
		if w := &t.windows[i]; w.is(k) || w.kind == 0 {
			return w
		}
		i = nextSlot(i)
	}
}

// put copies a window that is not in t into it.
func (t *table) put(w *window) {
	*t.find(w.key(), w.hash) = *w
	t.used++
}

// remove empties slot i and moves up later windows that would otherwise no longer be found.
func (t *table) remove(i int) {
	for j := nextSlot(i); t.windows[j].kind != 0; j = nextSlot(j) {
		if distance(homeSlot(t.windows[j].hash), j) >= distance(i, j) {
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
func (t *table) split(other *table) {
	other.depth, other.due = t.depth+1, t.due
	bit := uint64(1) << (63 - t.depth)
	t.depth++
	for i := 0; i < tableLen; {
		w := &t.windows[i]
		if w.kind == 0 || w.hash&bit == 0 {
			i++
			continue
		}
		other.put(w)
		t.remove(i)
	}
}

// take moves all windows of other, a table that was split from t, back to t.
func (t *table) take(other *table) {
	t.depth--
	t.due = min(t.due, other.due)
	for i := range other.windows {
		if w := &other.windows[i]; w.kind != 0 {
			t.put(w)
		}
	}
}
