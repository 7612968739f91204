package ratelimit

import "time"

// A moment is a time on a limiter's clock, to the nanosecond.
type moment = time.Duration

// A window holds the moments of the calls of one client that count. The oldest and the newest lie in a ring here; where there are too
// many, those in the middle lie in blocks, which are written and read whole, so that most calls have no business there. A window is two
// cache lines, which a check reads at once: a client of ten calls, wherever it lies, costs one wait for memory.
type window struct {
	hash   uint64 // of the key
	bits   uint64 // these and kind are the key
	rest   uint64
	calls  uint32 // how many moments there are in all
	kind   uint8
	head   uint8 // of the ring the oldest moment
	front  uint8 // how many in the ring are older than those in blocks; all, where there are no blocks
	tail   uint8 // how many are newer: they follow the others in the ring
	ring   [ringLen]moment
	blocks [2]uint32 // the first and the last; 0: none
}

const ringLen = 11

func (w *window) key() key { return key{w.bits, w.rest, kind(w.kind)} }

// is reports whether w is the window of k.
func (w *window) is(k key) bool {
	return w.bits == k.bits && w.rest == k.rest && w.kind == uint8(k.kind)
}

// take lets a call at now into w, or refuses it.
func (w *window) take(b *blocks, limit Limit, now moment) Decision {
	for w.calls > 0 && w.oldest()+limit.Window <= now {
		w.pop(b) // a full window ago: its place is free
	}
	d := Decision{OK: int(w.calls) < limit.N}
	if d.OK {
		w.push(b, now)
	}
	d.Remaining = limit.N - int(w.calls)
	d.Reset = w.oldest() + limit.Window - now
	if !d.OK {
		d.RetryAfter = ceilSeconds(d.Reset)
	}
	return d
}

// oldest and newest are those of all moments of w, which has some.
func (w *window) oldest() moment { return w.ring[w.head] }
func (w *window) newest() moment { return *w.place(w.front + w.tail - 1) }

// place is the ith in the ring, from its oldest.
func (w *window) place(i uint8) *moment { return &w.ring[(w.head+i)%ringLen] }

// push adds a moment.
func (w *window) push(b *blocks, at moment) {
	if w.front+w.tail == ringLen {
		w.spill(b)
	}
	*w.place(w.front + w.tail) = at
	w.calls++
	if w.blocks[0] == 0 {
		w.front++
	} else {
		w.tail++
	}
}

// spill writes the oldest moments of the tail to a block behind the others. At least as many as fill it are there.
func (w *window) spill(b *blocks) {
	n := b.take()
	if w.blocks[0] == 0 {
		w.front, w.tail = ringLen-blockLen, blockLen
		w.blocks[0] = n
	} else {
		b.at(w.blocks[1]).next = n
	}
	w.blocks[1] = n
	for i := range b.at(n).at {
		b.at(n).at[i] = *w.place(w.front + uint8(i))
	}
	w.tail -= blockLen
	for i := w.front; i < w.front+w.tail; i++ {
		*w.place(i) = *w.place(i + blockLen)
	}
}

// pop takes the oldest moment away.
func (w *window) pop(b *blocks) {
	w.calls--
	w.front--
	w.head = (w.head + 1) % ringLen
	if w.front == 0 && w.blocks[0] != 0 {
		w.fill(b)
	}
}

// fill puts the first block's moments before the tail, which is made short enough for that.
func (w *window) fill(b *blocks) {
	if w.tail > ringLen-blockLen {
		w.spill(b)
	}
	w.head, w.front = (w.head+ringLen-blockLen)%ringLen, blockLen
	for i, at := range b.at(w.blocks[0]).at {
		*w.place(uint8(i)) = at
	}
	if w.blocks[0] = b.free(w.blocks[0]); w.blocks[0] == 0 {
		w.blocks[1] = 0
		w.front, w.tail = w.front+w.tail, 0
	}
}

// drop frees the blocks of w, whose moments do not count any more.
func (w *window) drop(b *blocks) {
	for n := w.blocks[0]; n != 0; {
		n = b.free(n)
	}
}
