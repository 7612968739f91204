package ratelimit

import "math"

// A table holds windows in open addressing with linear probing. It is full at five eighths: most are found at the first look, and those
// that are not lie next to it. A table is 32 KiB and has no pointers.
type table struct {
	windows [tableLen]window
	used    int
	depth   uint8  // how many of its windows' first bits of the hash are the same
	due     moment // there is nothing to forget before
	_       [13]uint64
}

const (
	tableLen = 255
	full     = tableLen * 5 / 8
	never    = moment(math.MaxInt64)
)

// home is where a window with this hash would best lie. The bits are not those that choose shard and table.
func home(hash uint64) int { return int(hash >> 8 & 0xffffff * tableLen >> 24) }

func after(i int) int {
	if i++; i < tableLen {
		return i
	}
	return 0
}

// find is the window of k, or the empty place where it belongs.
func (t *table) find(k key, hash uint64) *window {
	i := home(hash)
	for {
		if w := &t.windows[i]; w.is(k) || w.kind == 0 {
			return w
		}
		i = after(i)
	}
}

// put copies a window that is not there yet into t.
func (t *table) put(w *window) {
	*t.find(w.key(), w.hash) = *w
	t.used++
}

// remove empties place i. The windows behind it that belong before it move up, so that no gap hides them.
func (t *table) remove(i int) {
	for j := after(i); t.windows[j].kind != 0; j = after(j) {
		if way(home(t.windows[j].hash), j) >= way(i, j) {
			t.windows[i] = t.windows[j]
			i = j
		}
	}
	t.windows[i] = window{}
	t.used--
}

// way is how many places b is behind a.
func way(a, b int) int {
	if b < a {
		b += tableLen
	}
	return b - a
}

// split moves the windows whose next bit is set to a new table.
func (t *table) split() *table {
	other := &table{depth: t.depth + 1, due: t.due}
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
	return other
}

// take moves all windows of other, the table that t was split into, back to t.
func (t *table) take(other *table) {
	t.depth--
	t.due = min(t.due, other.due)
	for i := range other.windows {
		if w := &other.windows[i]; w.kind != 0 {
			t.put(w)
		}
	}
}
