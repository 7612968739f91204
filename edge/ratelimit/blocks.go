package ratelimit

import "math/bits"

// A block holds moments that have no room in their window itself, and the number of the next.
type block struct {
	at   [blockLen]moment
	next uint32 // 0: none
}

const blockLen = 5

// blocks hands out blocks by number, from 1. They lie in chunks without pointers, so that the garbage collector has nothing to walk, and are
// taken from the first chunks that have some: as no block is in use for longer than its moments count, the last chunks
// fall empty soon after a flood, and go back.
type blocks struct {
	chunks []chunk
	first  int // no chunk before it has a free block
	empty  int // the number of a chunk that is kept though it is empty, from 1, so that a block taken and freed in turn costs nothing
}

type chunk struct {
	blocks *[chunkLen]block // nil: given back
	free   uint64           // a bit for each
}

const (
	chunkLen = 64
	allFree  = ^uint64(0)
)

// at is the block with number n. The pointer stays good until the block is freed.
func (b *blocks) at(n uint32) *block { return &b.chunks[(n-1)/chunkLen].blocks[(n-1)%chunkLen] }

// take hands out a block. Its next is none; its moments are whatever was there.
func (b *blocks) take() uint32 {
	for b.first < len(b.chunks) && b.chunks[b.first].free == 0 {
		b.first++
	}
	if b.first == len(b.chunks) {
		b.chunks = append(b.chunks, chunk{free: allFree})
	}
	c := &b.chunks[b.first]
	if c.blocks == nil {
		c.blocks = new([chunkLen]block)
	}
	if b.empty == b.first+1 {
		b.empty = 0
	}
	i := bits.TrailingZeros64(c.free)
	c.free &^= 1 << i
	c.blocks[i].next = 0
	return uint32(b.first*chunkLen+i) + 1
}

// free takes block n back, and says which is next.
func (b *blocks) free(n uint32) (next uint32) {
	next = b.at(n).next
	i := int(n-1) / chunkLen
	b.first = min(b.first, i)
	c := &b.chunks[i]
	if c.free |= 1 << ((n - 1) % chunkLen); c.free == allFree {
		b.giveBack(i)
	}
	return next
}

// giveBack lets go of chunk i, which is empty, or of the one that was kept, if that is the later one.
func (b *blocks) giveBack(i int) {
	was := b.empty - 1
	if was < 0 {
		b.empty = i + 1
		return
	}
	b.empty = min(was, i) + 1
	b.chunks[max(was, i)].blocks = nil
}
