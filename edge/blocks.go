package edge

import (
	"sync/atomic"
	"unsafe"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/h2"
)

// blocks are the fields that heads have in common with those of other entries, encoded ahead, by where their lines lie. A library has a
// few for each of its packs, hundreds together. To make a block costs as much as the answer that it is for, so that there are several times as many
// places, and several to choose from for each.
type blocks [1 << blockBits][blockPlaces]atomic.Pointer[block]

const (
	blockBits   = 10
	blockPlaces = 4 // they lie in one line of the processor's cache
)

type block struct {
	lines                  cache.Head
	kind, always, withBody []*h2.Shared
}

// of is the block of a head whose lines are never changed. That they are known keeps them where they are: no others can have their place.
func (b *blocks) of(head *cache.Head) *block {
	places := b.places(head)
	for i := range places {
		if known := places[i].Load(); known != nil && known.is(head) {
			return known
		}
	}
	for i := blockPlaces - 1; i > 0; i-- { // whose head is gone leaves in the end; two at once lose a block at most
		places[i].Store(places[i-1].Load())
	}
	made := newBlock(head)
	places[0].Store(made)
	return made
}

// places are those of a head. Its address is a multiple of some power of two, hence the product: all bits of the address count in the upper ones
// (Knuth, The Art of Computer Programming, volume 3, section 6.4).
func (b *blocks) places(head *cache.Head) *[blockPlaces]atomic.Pointer[block] {
	at := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(head.Always))))
	return &b[at*0x9e3779b97f4a7c15>>(64-blockBits)]
}

func newBlock(head *cache.Head) *block {
	lines := cache.Head{Type: head.Type, Always: head.Always, WithBody: head.WithBody} // what is an entry's own lies where others will
	return &block{lines, share(lines.Type), share(lines.Always), share(lines.WithBody)}
}

func share(lines []byte) (fields []*h2.Shared) {
	for name, value := range fieldsIn(lines) {
		fields = append(fields, h2.Share(name, value))
	}
	return fields
}

func (b *block) is(head *cache.Head) bool {
	return sameLines(b.lines.Always, head.Always) && sameLines(b.lines.Type, head.Type) && sameLines(b.lines.WithBody, head.WithBody)
}

// sameLines reports whether two slices are one.
func sameLines(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

func appendShared(dst []byte, fields []*h2.Shared, known *h2.Memory) []byte {
	for _, f := range fields {
		dst = known.Append(dst, f)
	}
	return dst
}
