package icondata

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
)

// Join appends the response that consists of the pieces of a: aliases and icons in their order. The
// caller passes each name once, in sorted order.
func (a *Answer) Join(dst []byte) []byte {
	for part := range a.parts {
		dst = append(dst, part...)
	}
	return dst
}

// Len returns the length of the response, in bytes.
func (a *Answer) Len() (n int) {
	for part := range a.parts {
		n += len(part)
	}
	return n
}

// JoinGzip appends the same response in the coding gzip (RFC 1952). It concatenates the deflated
// pieces, and computes the checksum alone.
func (a *Answer) JoinGzip(dst []byte) []byte {
	dst = append(dst, 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff) // no name, no time, unknown system
	var sum, length uint32
	for part, deflated := range a.parts {
		sum = crc32.Update(sum, crc32.IEEETable, part)
		length += uint32(len(part))
		if deflated == nil {
			dst = appendStored(dst, part)
		} else {
			dst = append(dst, deflated...)
		}
	}
	dst = append(dst, 0x03, 0x00) // a last block without content (RFC 1951, section 3.2.3)
	dst = binary.LittleEndian.AppendUint32(dst, sum)
	return binary.LittleEndian.AppendUint32(dst, length)
}

// appendStored appends blocks of deflate without compression (RFC 1951, section 3.2.4).
func appendStored(dst, content []byte) []byte {
	for len(content) > 0 {
		n := min(len(content), 1<<16-1)
		dst = append(dst, 0, byte(n), byte(n>>8), ^byte(n), ^byte(n>>8))
		dst, content = append(dst, content[:n]...), content[n:]
	}
	return dst
}

var (
	partOpen     = []byte(`{`)
	partAliases  = []byte(`,"aliases":{`)
	partIcons    = []byte(`},"icons":{`)
	partComma    = []byte(`,`)
	partClose    = []byte(`}}`)
	partNotFound = []byte(`},"not_found":`)
	partEnd      = []byte(`}`)
)

// parts yields the parts of the response in order, each as it is and deflated; nil: it is not
// deflated. It alone decides the form of a response.
func (a *Answer) parts(yield func(part, deflated []byte) bool) {
	ok := yield(partOpen, nil) && yield(a.Head, nil) && yield(partAliases, nil) && a.members(yield, true) &&
		yield(partIcons, nil) && a.members(yield, false)
	if !ok {
		return
	}
	if len(a.NotFound) == 0 {
		yield(partClose, nil)
		return
	}
	names, err := json.Marshal(a.NotFound)
	if err != nil {
		panic(err) // strings have a JSON form
	}
	_ = yield(partNotFound, nil) && yield(names, nil) && yield(partEnd, nil)
}

// members yields the members of `aliases`, or those of `icons`, and the commas between them.
func (a *Answer) members(yield func(part, deflated []byte) bool, aliases bool) bool {
	first := true
	for i := range a.Pieces {
		p := &a.Pieces[i]
		if (p.Parent != "") != aliases {
			continue
		}
		if !first && !yield(partComma, nil) || !yield(p.Member, p.Deflated) {
			return false
		}
		first = false
	}
	return true
}
