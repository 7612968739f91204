package ratelimit

import "time"

// A moment is a time on a limiter's clock, in nanoseconds.
type moment = time.Duration

// A window holds the moments of one client's calls that count. The oldest and the newest are in its
// ring. If there are more, those in the middle are in blocks, which are written and read whole, so
// that most calls do not touch them. A window is two cache lines. The key is in both, so that a
// processor fetches both at once: a client of ten calls costs one wait for memory.
type window struct {
	hash   uint64 // of the key
	bits   uint64 // bits, rest and kind are the key
	rest   uint64
	ring   [ringLen]moment
	blocks [2]uint32 // first and last block; 0: none
	calls  uint32    // the number of moments, in ring and blocks
	kind   uint8
	head   uint8 // index in the ring of the oldest moment
	front  uint8 // number of ring moments older than those in blocks; all if there are no blocks
	tail   uint8 // number of newer moments, which follow the older ones in the ring
}

const ringLen = 11

func (w *window) key() key { return key{w.bits, w.rest, kind(w.kind)} }

// is reports whether w is the window of k.
func (w *window) is(k key) bool {
	return w.bits == k.bits && w.rest == k.rest && w.kind == uint8(k.kind)
}

// take counts a call at now in w, or refuses it.
func (w *window) take(b *blocks, limit Limit, now moment) Decision {
	for w.calls > 0 && w.oldest()+limit.Window <= now {
		w.pop(b) // a full window ago, so its place is free
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

// oldest and newest return the oldest and the newest moment of w, which must not be empty.
func (w *window) oldest() moment { return w.ring[w.head] }
func (w *window) newest() moment { return *w.place(w.front + w.tail - 1) }

// place returns the ith moment in the ring, counted from the oldest.
func (w *window) place(i uint8) *moment {
	if i += w.head; i >= ringLen {
		i -= ringLen // costs less than a remainder
	}
	return &w.ring[i]
}

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

// spill moves the oldest moments of the tail to a new block after the others. The tail must fill a
// block.
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

// pop removes the oldest moment.
func (w *window) pop(b *blocks) {
	w.calls--
	w.front--
	if w.head++; w.head == ringLen {
		w.head = 0
	}
	if w.front == 0 && w.blocks[0] != 0 {
		w.fill(b)
	}
}

// fill moves the first block's moments into the ring before the tail, and spills part of the tail
// if there is no room.
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

// drop frees the blocks of w, whose moments no longer count.
func (w *window) drop(b *blocks) {
	for n := w.blocks[0]; n != 0; {
		n = b.free(n)
	}
}
