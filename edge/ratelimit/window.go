package ratelimit

// A window holds the moments of one client's calls that count, in one cache line, so that a call
// waits for memory once. The newest moment is whole. The others are the lower halves of theirs,
// which suffice, because each is less than a window's length older than the newest.
//
// If there are more moments than fit, those in the middle are in a list of blocks, which are
// written and read whole, so that most calls do not touch them.
type window struct {
	bits   uint64 // bits and the kind in counts are the key
	newest moment
	older  [mostOlder]uint32 // newest first
	counts counts
}

// With blocks, the last two elements of older name the first block and the spare one, which is
// after all others and empty, so that adding a block writes to one block only.
const (
	mostOlder  = 11
	firstBlock = mostOlder - 2
	spareBlock = mostOlder - 1
)

// counts packs the kind of a window and its numbers: of all moments, of those in older, and, with
// blocks, of the tail, which is the part of older that is newer than the blocks. The front, the
// rest of older, is older than they are and not empty.
type counts uint32

const (
	oneCall  counts = 1
	oneKind  counts = 1 << 20
	oneOlder counts = 1 << 24
	oneTail  counts = 1 << 28
)

func (c counts) calls() int      { return int(c % oneKind) }
func (c counts) kind() kind      { return kind(c / oneKind % 16) }
func (c counts) older() int      { return int(c / oneOlder % 16) }
func (c counts) tail() int       { return int(c / oneTail) }
func (c counts) hasBlocks() bool { return c.calls() > 1+c.older() }

func (c counts) with(older, tail int) counts {
	return c%oneOlder + counts(older)*oneOlder + counts(tail)*oneTail
}

func (w *window) key() key { return key{w.bits, w.counts.kind()} }

// take counts a call at now in w, or refuses it, if the limit is n calls in a window of length. It
// returns the number of calls left, and when the next place frees.
func (w *window) take(b *blocks, n int, length, now moment) (ok bool, left int, frees moment) {
	for w.counts.calls() > 0 && w.oldest()+length <= now {
		w.pop(b) // a full window ago, so its place is free
	}
	if ok = w.counts.calls() < n; ok {
		w.push(b, now)
	}
	return ok, n - w.counts.calls(), w.oldest() + length
}

// oldest returns the oldest moment of w, which must not be empty.
func (w *window) oldest() moment {
	n := w.counts.older()
	if n == 0 {
		return w.newest
	}
	return w.newest - moment(uint32(w.newest)-w.older[n-1])
}

// push adds a moment.
func (w *window) push(b *blocks, at moment) {
	was, c := uint32(w.newest), w.counts
	w.newest, w.counts = at, c+oneCall
	if c.calls() == 0 {
		return
	}
	n, room, added := c.older(), mostOlder, oneOlder
	if c.hasBlocks() {
		room, added = firstBlock, oneOlder+oneTail
	}
	if n == room {
		w.pushFull(b, was, c)
		return
	}
	copy(w.older[1:n+1], w.older[:n])
	w.older[0] = was
	w.counts += added
}

// pushFull adds a moment to older, which is full and had these counts.
func (w *window) pushFull(b *blocks, was uint32, c counts) {
	var all [mostOlder + 1]uint32
	all[0] = was
	n := 1 + copy(all[1:], w.older[:c.older()])
	tail := 1 + c.tail()
	if !c.hasBlocks() {
		tail = n - blockLen
		spare := b.take()
		w.older[firstBlock], w.older[spareBlock] = spare, spare
	}
	w.spill(b, all[:n], tail)
}

// spill stores moments, of which the tail is newer than the blocks and at least as long as a block,
// in older, except for the oldest of the tail, which become a block.
func (w *window) spill(b *blocks, all []uint32, tail int) {
	left := tail - blockLen
	copy(w.older[:], all[:left])
	copy(w.older[left:], all[tail:])
	w.counts = w.counts.with(len(all)-blockLen, left)
	to := b.at(w.older[spareBlock])
	w.older[spareBlock] = b.take()
	to.at, to.next = [blockLen]uint32(all[left:]), w.older[spareBlock]
}

// pop removes the oldest moment.
func (w *window) pop(b *blocks) {
	w.counts -= oneCall
	n := w.counts.older()
	if n == 0 {
		return
	}
	w.counts -= oneOlder
	if n-1 == w.counts.tail() && w.counts.hasBlocks() {
		w.fill(b)
	}
}

// fill makes the first block's moments the front.
func (w *window) fill(b *blocks) {
	if tail := w.counts.tail(); tail > firstBlock-blockLen {
		all := w.older
		w.spill(b, all[:tail], tail)
	}
	tail, n := w.counts.tail(), w.older[firstBlock]
	first := *b.at(n)
	b.free(n)
	copy(w.older[tail:firstBlock], first.at[:])
	if w.older[firstBlock] = first.next; first.next == w.older[spareBlock] {
		b.free(first.next)
		w.counts = w.counts.with(tail+blockLen, 0)
		return
	}
	w.counts = w.counts.with(tail+blockLen, tail)
}

// drop frees the blocks of w, whose moments no longer count.
func (w *window) drop(b *blocks) {
	if !w.counts.hasBlocks() {
		return
	}
	n := w.older[firstBlock]
	for n != w.older[spareBlock] {
		next := b.at(n).next
		b.free(n)
		n = next
	}
	b.free(n)
}
