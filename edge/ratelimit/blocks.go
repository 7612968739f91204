package ratelimit

import "math/bits"

// A block holds the lower halves of moments for which their window has no room, and the number of
// the next block. It is half a cache line.
type block struct {
	at   [blockLen]uint32
	next uint32
	_    [2]uint32
}

const blockLen = 5

// blocks hands out blocks by number, from 1. They lie in chunks, and are taken from the first
// chunks with a free one. No block stays in use longer than its moments count, so the last chunks
// become empty soon after a flood and are released.
type blocks struct {
	chunks []chunk
	first  int // no earlier chunk has a free block
	// empty is the number, from 1, of an empty chunk that is kept, so that taking and freeing a
	// block in turn does not take chunks.
	empty int
	pool  *pool[chunkBlocks]
}

type chunk struct {
	blocks *chunkBlocks // nil: released
	free   uint64       // a bit for each block
}

type chunkBlocks [chunkLen]block

const (
	chunkLen = 64
	allFree  = ^uint64(0)
)

// at returns the block with number n. The pointer is valid until the block is freed.
func (b *blocks) at(n uint32) *block { return &b.chunks[(n-1)/chunkLen].blocks[(n-1)%chunkLen] }

// take hands out a block, whose content is that of an earlier use.
func (b *blocks) take() uint32 {
	for b.first < len(b.chunks) && b.chunks[b.first].free == 0 {
		b.first++
	}
	if b.first == len(b.chunks) {
		b.chunks = append(b.chunks, chunk{free: allFree})
	}
	c := &b.chunks[b.first]
	if c.blocks == nil {
		c.blocks = b.pool.take()
	}
	if b.empty == b.first+1 {
		b.empty = 0
	}
	i := bits.TrailingZeros64(c.free)
	c.free &^= 1 << i
	return uint32(b.first*chunkLen+i) + 1
}

// free takes back block n.
func (b *blocks) free(n uint32) {
	i := int(n-1) / chunkLen
	b.first = min(b.first, i)
	c := &b.chunks[i]
	if c.free |= 1 << ((n - 1) % chunkLen); c.free == allFree {
		b.release(i)
	}
}

// release keeps the empty chunk i or the empty chunk that is already kept, whichever comes first,
// and releases the other.
func (b *blocks) release(i int) {
	was := b.empty - 1
	if was < 0 {
		b.empty = i + 1
		return
	}
	b.empty = min(was, i) + 1
	c := &b.chunks[max(was, i)]
	b.pool.put(c.blocks)
	c.blocks = nil
}
