package proxy

import (
	"sync/atomic"
	"unsafe"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
)

// blocks caches the encoded HTTP/2 fields that many entries have in common, by the address of their
// interned lines. A library has a few such sets for each of its packs, hundreds in total. Encoding
// a block costs as much as the response that needs it. Therefore the table has several times as
// many places as that, and several places for each hash.
type blocks [1 << blockBits][blockPlaces]atomic.Pointer[block]

const (
	blockBits   = 10
	blockPlaces = 4 // those of one hash lie in one line of the processor's cache
)

type block struct {
	lines                  cache.Head
	kind, always, withBody []*h2.SharedField
}

// of returns the block of a head, whose lines never change. The block refers to the lines, so the
// garbage collector cannot give their address to other lines.
func (b *blocks) of(head *cache.Head) *block {
	places := b.places(head)
	for i := range places {
		if known := places[i].Load(); known != nil && known.is(head) {
			return known
		}
	}
	// Blocks of discarded heads move to the end and drop out. Two goroutines that insert at once
	// lose at most a block.
	for i := blockPlaces - 1; i > 0; i-- {
		places[i].Store(places[i-1].Load())
	}
	made := newBlock(head)
	places[0].Store(made)
	return made
}

// places returns the places for a head. The address of its lines is a multiple of some power of
// two. The multiplication carries all bits of the address into the upper ones (Knuth, The Art of
// Computer Programming, volume 3, section 6.4).
func (b *blocks) places(head *cache.Head) *[blockPlaces]atomic.Pointer[block] {
	at := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(head.Always))))
	return &b[at*0x9e3779b97f4a7c15>>(64-blockBits)]
}

func newBlock(head *cache.Head) *block {
	// The block leaves out the fields that belong to one entry alone.
	lines := cache.Head{Type: head.Type, Always: head.Always, WithBody: head.WithBody}
	return &block{lines, share(lines.Type), share(lines.Always), share(lines.WithBody)}
}

func share(lines []byte) (fields []*h2.SharedField) {
	for name, value := range exchange.FieldsIn(lines) {
		fields = append(fields, h2.NewSharedField(name, value))
	}
	return fields
}

func (b *block) is(head *cache.Head) bool {
	return sameLines(b.lines.Always, head.Always) && sameLines(b.lines.Type, head.Type) && sameLines(b.lines.WithBody, head.WithBody)
}

// sameLines reports whether two slices are the same memory.
func sameLines(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// append appends a group of the fields of the head whose block b is. Lines are the group as lines.
func (b *block) append(dst []byte, p storedPart, lines []byte, table *h2.ClientTable) []byte {
	switch p {
	case partType:
		return appendShared(dst, b.kind, table)
	case partAlways:
		return appendShared(dst, b.always, table)
	case partWithBody:
		return appendShared(dst, b.withBody, table)
	}
	return appendBlock(dst, lines)
}

func appendShared(dst []byte, fields []*h2.SharedField, known *h2.ClientTable) []byte {
	for _, f := range fields {
		dst = known.Append(dst, f)
	}
	return dst
}
