package search

import (
	"encoding/binary"
	"math/bits"

	"github.com/RoaringBitmap/roaring/v2"
)

// Constants of roaring's serialised form (https://github.com/RoaringBitmap/RoaringFormatSpec). A
// bitmap has a container for each range of 65,536 docs that it meets. It has runs if the low half
// of its first number is postingRuns.
const (
	postingRuns    = 12347
	postingNoRuns  = 12346
	postingOffsets = 4    // with runs, containers have offsets from this number of containers
	postingArray   = 4096 // the largest container that is a list of docs
	postingBitmap  = 8192 // bytes of a container that is a bitmap
)

// appendPosting appends the docs in a span of a serialised bitmap, as far as there are at most
// that many. It reads the bytes in place, without the memory that a roaring.Bitmap needs: a query
// reads hundreds of bitmaps, most of a few docs.
func appendPosting(to []uint32, data []byte, only span, most int) []uint32 {
	first := binary.LittleEndian.Uint32(data)
	size, runs := int(first>>16)+1, []byte(nil)
	if first&0xffff == postingRuns {
		runs = data[4:][:(size+7)/8]
		data = data[4+len(runs):]
	} else {
		size = int(binary.LittleEndian.Uint32(data[4:]))
		data = data[8:]
	}
	keys := data[:4*size]
	data = data[4*size:]
	if runs == nil || size >= postingOffsets {
		data = data[4*size:]
	}
	for i := range size {
		base := uint32(binary.LittleEndian.Uint16(keys[4*i:])) << 16
		count := int(binary.LittleEndian.Uint16(keys[4*i+2:])) + 1
		c := container{base: base}
		switch {
		case runs != nil && runs[i/8]&(1<<(i%8)) != 0:
			n := int(binary.LittleEndian.Uint16(data))
			c.runs, data = data[2:][:4*n], data[2+4*n:]
		case count <= postingArray:
			c.array, data = data[:2*count], data[2*count:]
		default:
			c.bitmap, data = data[:postingBitmap], data[postingBitmap:]
		}
		if base > only.to || base|0xffff < only.from {
			continue
		}
		if to = c.append(to, only, most); len(to) >= most {
			return to[:most]
		}
	}
	return to
}

// A container is one of the three kinds.
type container struct {
	base                uint32
	runs, array, bitmap []byte
}

func (c container) append(to []uint32, only span, most int) []uint32 {
	for at := 0; at < len(c.array); at += 2 {
		if doc := c.base | uint32(binary.LittleEndian.Uint16(c.array[at:])); doc >= only.from && doc < only.to {
			to = append(to, doc)
		}
	}
	for at := 0; at < len(c.runs) && len(to) < most; at += 4 {
		from := c.base | uint32(binary.LittleEndian.Uint16(c.runs[at:]))
		last := from + uint32(binary.LittleEndian.Uint16(c.runs[at+2:]))
		for doc := max(from, only.from); doc <= last && doc < only.to; doc++ {
			to = append(to, doc)
		}
	}
	for at := 0; at < len(c.bitmap) && len(to) < most; at += 8 {
		for word := binary.LittleEndian.Uint64(c.bitmap[at:]); word != 0; word &= word - 1 {
			if doc := c.base | uint32(8*at+bits.TrailingZeros64(word)); doc >= only.from && doc < only.to {
				to = append(to, doc)
			}
		}
	}
	return to
}

// appendDocs is appendPosting for a bitmap in memory.
func appendDocs(to []uint32, docs *roaring.Bitmap, only span, most int) []uint32 {
	it := docs.Iterator()
	it.AdvanceIfNeeded(only.from)
	for it.HasNext() && len(to) < most {
		doc := it.Next()
		if doc >= only.to {
			break
		}
		to = append(to, doc)
	}
	return to
}
