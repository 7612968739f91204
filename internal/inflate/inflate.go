// Package inflate decodes short deflate streams (RFC 1951) whose decoded length is known, from one
// piece of memory into another. It does not stream, so an icon of 700 bytes takes a third of the
// time that the decoders of compress/flate and its relatives need. For them most of it is the
// tables of a window of 32 KiB.
//
// It accepts exactly what compress/flate accepts.
package inflate

import (
	"encoding/binary"
	"errors"
	"sync"
)

// ErrCorrupt means that the data is not a deflate stream of the given lengths.
var ErrCorrupt = errors.New("malformed deflate data, or data of another length")

const (
	maxCodeLength = 15
	litSymbols    = 288
	distSymbols   = 32
	litBits       = 9 // of the index into a table; a longer code is found bit by bit
	distBits      = 6
	preBits       = 7 // the longest code of code lengths
	endOfBlock    = 256
)

// A tableEntry is what the next bits mean: the length of the code in the lowest four bits, then the
// kind, the number of extra bits, and the value. 0: a longer code, or none.
type tableEntry uint32

const (
	kindLiteral tableEntry = iota << 4
	kindCopy               // the value is the base of a length or of a distance
	kindEnd
	kindInvalid // a symbol that no stream has
	kindMask    = 0xf0

	extraShift = 8
	valueShift = 16
)

// A decoder has the tables of one block.
type decoder struct {
	lit  huffman
	dist huffman
	// tables of the codes up to the number of bits of their index
	litTable  [1 << litBits]tableEntry
	distTable [1 << distBits]tableEntry
	preTable  [1 << preBits]tableEntry
	lengths   [litSymbols + distSymbols]uint8
}

// A huffman is a canonical code, for those of its codes that are longer than the index of its
// table.
type huffman struct {
	count   [maxCodeLength + 1]uint16 // codes of each length
	symbols [litSymbols]uint16        // sorted by code
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// fixed has the codes of section 3.2.6.
var fixed = sync.OnceValue(func() *decoder {
	d := new(decoder)
	for i := range litSymbols {
		switch {
		case i < 144:
			d.lengths[i] = 8
		case i < 256:
			d.lengths[i] = 9
		case i < 280:
			d.lengths[i] = 7
		default:
			d.lengths[i] = 8
		}
	}
	for i := range distSymbols {
		d.lengths[litSymbols+i] = 5
	}
	d.lit.build(d.lengths[:litSymbols], d.litTable[:], litBits, litEntries[:])
	d.dist.build(d.lengths[litSymbols:], d.distTable[:], distBits, distEntries[:])
	return d
})

// The meaning of the symbols (section 3.2.5), without the lengths of their codes.
var (
	litEntries  = literals()
	distEntries = distances()
	preEntries  = numbers()
)

func literals() (all [litSymbols]tableEntry) {
	for i := range all {
		switch {
		case i < endOfBlock:
			all[i] = kindLiteral | tableEntry(i)<<valueShift
		case i == endOfBlock:
			all[i] = kindEnd
		default:
			all[i] = kindInvalid
		}
	}
	base := tableEntry(3)
	for i := range 28 {
		extra := tableEntry(max(0, i/4-1))
		all[endOfBlock+1+i] = kindCopy | extra<<extraShift | base<<valueShift
		base += 1 << extra
	}
	all[285] = kindCopy | 258<<valueShift
	return all
}

func distances() (all [distSymbols]tableEntry) {
	base := tableEntry(1)
	for i := range all {
		if i >= 30 {
			all[i] = kindInvalid
			continue
		}
		extra := tableEntry(max(0, i/2-1))
		all[i] = kindCopy | extra<<extraShift | base<<valueShift
		base += 1 << extra
	}
	return all
}

func numbers() (all [19]tableEntry) {
	for i := range all {
		all[i] = tableEntry(i) << valueShift
	}
	return all
}

// build makes the code with these lengths, and its table, which has 1<<bits places. It reports
// whether the code is complete; like compress/flate it also takes a single code of one bit, and no
// code at all.
func (h *huffman) build(lengths []uint8, table []tableEntry, bits uint, entries []tableEntry) bool {
	h.count = [maxCodeLength + 1]uint16{}
	for _, n := range lengths {
		h.count[n&maxCodeLength]++
	}
	h.count[0] = 0
	var offset, next [maxCodeLength + 2]uint16
	code, longest := 0, 0
	for n := 1; n <= maxCodeLength; n++ {
		code <<= 1
		next[n] = uint16(code)
		if h.count[n] > 0 {
			longest = n
		}
		code += int(h.count[n])
		if code > 1<<n {
			return false
		}
		offset[n+1] = offset[n] + h.count[n]
	}
	clear(table)
	if longest == 0 {
		return true
	}
	if code >>= maxCodeLength - longest; code != 1<<longest && !(code == 1 && longest == 1) {
		return false
	}
	for symbol, n := range lengths {
		if n == 0 {
			continue
		}
		h.symbols[offset[n]] = uint16(symbol)
		offset[n]++
		c := next[n]
		next[n]++
		if uint(n) > bits {
			continue
		}
		e := entries[symbol] | tableEntry(n)
		for at := int(reversed(c, n)); at < len(table); at += 1 << n {
			table[at] = e
		}
	}
	return true
}

// reversed returns the lowest n bits of a code in reverse order, in which the stream has them.
func reversed(code uint16, n uint8) uint16 {
	code = code&0x5555<<1 | code>>1&0x5555
	code = code&0x3333<<2 | code>>2&0x3333
	code = code&0x0f0f<<4 | code>>4&0x0f0f
	return (code<<8 | code>>8) >> (16 - n)
}

// long finds the code with which the bits begin, one bit after the other.
func (h *huffman) long(bits uint64, entries []tableEntry) tableEntry {
	code, first, index := 0, 0, 0
	for n := 1; n <= maxCodeLength; n++ {
		code |= int(bits & 1)
		bits >>= 1
		count := int(h.count[n])
		if code-count < first {
			return entries[h.symbols[index+code-first]] | tableEntry(n)
		}
		index += count
		first = (first + count) << 1
		code <<= 1
	}
	return kindInvalid
}

// A reader has the bits of a stream. Beyond its end it has bits that are 0, and left is negative.
type reader struct {
	from []byte
	at   int
	bits uint64
	left int // bits
}

// fill makes at least 56 bits available, or all that there are.
func (r *reader) fill() {
	if r.at+8 <= len(r.from) {
		r.bits |= binary.LittleEndian.Uint64(r.from[r.at:]) << (r.left & 63)
		n := (63 - r.left) >> 3
		r.at += n
		r.left += n * 8
		return
	}
	for r.left <= 56 && r.at < len(r.from) {
		r.bits |= uint64(r.from[r.at]) << (r.left & 63)
		r.at++
		r.left += 8
	}
}

// take returns the next n bits, of those that are available.
func (r *reader) take(n int) int {
	v := int(r.bits & (1<<n - 1))
	r.bits >>= n & 63
	r.left -= n
	return v
}

// Raw decodes all of deflated into all of to.
func Raw(to, deflated []byte) error {
	r := reader{from: deflated}
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	out := 0
	for last := false; !last; {
		r.fill()
		last = r.take(1) == 1
		kind := r.take(2)
		if r.left < 0 {
			return ErrCorrupt
		}
		var ok bool
		switch kind {
		case 0:
			out, ok = r.stored(to, out)
		case 1:
			out, ok = r.block(fixed(), to, out)
		case 2:
			if ok = r.codes(d); ok {
				out, ok = r.block(d, to, out)
			}
		}
		if !ok {
			return ErrCorrupt
		}
	}
	if out != len(to) || r.at-r.left/8 != len(deflated) {
		return ErrCorrupt
	}
	return nil
}

// stored copies a block without compression.
func (r *reader) stored(to []byte, out int) (int, bool) {
	r.at -= r.left / 8
	r.bits, r.left = 0, 0
	if r.at+4 > len(r.from) {
		return out, false
	}
	n := int(binary.LittleEndian.Uint16(r.from[r.at:]))
	if n != int(^binary.LittleEndian.Uint16(r.from[r.at+2:])) {
		return out, false
	}
	r.at += 4
	if r.at+n > len(r.from) || out+n > len(to) {
		return out, false
	}
	copy(to[out:], r.from[r.at:r.at+n])
	r.at += n
	return out + n, true
}

// preOrder is the order of the code lengths of code lengths (section 3.2.7).
var preOrder = [...]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// codes reads the codes of a block.
func (r *reader) codes(d *decoder) bool {
	r.fill()
	lits, dists, pres := r.take(5)+257, r.take(5)+1, r.take(4)+4
	if lits > 286 || dists > 30 {
		return false
	}
	var pre [len(preOrder)]uint8
	for i := range pres {
		if r.left < 3 {
			r.fill()
		}
		pre[preOrder[i]] = uint8(r.take(3))
	}
	if r.left < 0 || !d.lit.build(pre[:], d.preTable[:], preBits, preEntries[:]) {
		return false
	}
	lengths := d.lengths[:lits+dists]
	for i := 0; i < len(lengths); {
		if r.left < preBits+7 {
			r.fill()
		}
		e := d.preTable[r.bits&(1<<preBits-1)]
		if e == 0 {
			return false
		}
		r.take(int(e & maxCodeLength))
		v := int(e >> valueShift)
		if v < 16 {
			lengths[i] = uint8(v)
			i++
			continue
		}
		var repeat int
		var with uint8
		switch v {
		case 16:
			if i == 0 {
				return false
			}
			repeat, with = 3+r.take(2), lengths[i-1]
		case 17:
			repeat = 3 + r.take(3)
		default:
			repeat = 11 + r.take(7)
		}
		if i+repeat > len(lengths) {
			return false
		}
		for range repeat {
			lengths[i] = with
			i++
		}
	}
	return r.left >= 0 && d.lit.build(lengths[:lits], d.litTable[:], litBits, litEntries[:]) && d.dist.build(lengths[lits:], d.distTable[:], distBits, distEntries[:])
}

// block decodes a block up to its end, and returns the number of bytes in to.
func (r *reader) block(d *decoder, to []byte, out int) (int, bool) {
	for {
		if r.left < 48 { // a length, a distance, and the extra bits of both
			r.fill()
		}
		e := d.litTable[r.bits&(1<<litBits-1)]
		if e == 0 {
			e = d.lit.long(r.bits, litEntries[:])
		}
		n := int(e & maxCodeLength)
		r.bits >>= n
		if r.left -= n; r.left < 0 {
			return out, false
		}
		switch e & kindMask {
		case kindLiteral:
			if out >= len(to) {
				return out, false
			}
			to[out] = byte(e >> valueShift)
			out++
			continue
		case kindEnd:
			return out, true
		case kindInvalid:
			return out, false
		}
		length := int(e>>valueShift) + r.take(int(e>>extraShift&0xff))
		e = d.distTable[r.bits&(1<<distBits-1)]
		if e == 0 {
			e = d.dist.long(r.bits, distEntries[:])
		}
		r.take(int(e & maxCodeLength))
		if e&kindMask != kindCopy {
			return out, false
		}
		distance := int(e>>valueShift) + r.take(int(e>>extraShift&0xff))
		if r.left < 0 || distance > out || length > len(to)-out {
			return out, false
		}
		from := to[out-distance:]
		if distance >= length {
			copy(to[out:out+length], from)
		} else {
			for i := range length {
				to[out+i] = from[i]
			}
		}
		out += length
	}
}
