// Package huffman decodes the Huffman code of HPACK (RFC 7541, section 5.2) in a third of the time
// of x/net, from which it takes the code.
package huffman

import (
	"encoding/binary"
	"slices"
	"strings"

	"golang.org/x/net/http2/hpack"
)

// A string is decoded up to two symbols at a time, because most symbols of addresses and field
// values have five to seven bits. A string with a longer code than a step, or with an error, is
// left to x/net.
const step = 12 // bits

// An entry says how the next step bits begin: with one symbol or with two, from the lowest bits on;
// their number is in bits 16 and 17, their length in bits 20 to 23, and the length of the first one
// in bits 24 to 27. The zero value stands for a longer code.
type entry uint32

func (e entry) symbols() int { return int(e >> 16 & 3) }
func (e entry) bits() uint   { return uint(e >> 20 & 15) }
func (e entry) first() uint  { return uint(e >> 24 & 15) }

var steps = makeSteps()

func makeSteps() *[1 << step]entry {
	t := new([1 << step]entry)
	for c := range 256 {
		code, bits := codeOf(byte(c))
		if bits > step {
			continue
		}
		left := step - bits
		for i := range uint(1) << left {
			t[code<<left|i] = entry(uint(c) | 1<<16 | bits<<20 | bits<<24)
		}
	}
	single := *t
	for i := range t {
		e := single[i]
		next := single[i<<e.first()&(len(t)-1)]
		if sum := e.bits() + next.bits(); e != 0 && next != 0 && sum <= step {
			t[i] = e&0xff | next&0xff<<8 | 2<<16 | entry(sum<<20) | entry(e.first()<<24)
		}
	}
	return t
}

// codeOf returns the code of a symbol and its length in bits.
func codeOf(c byte) (code, bits uint) {
	// Eight symbols have as many bytes as one has bits.
	bits = uint(hpack.HuffmanEncodeLength(strings.Repeat(string([]byte{c}), 8)))
	b := hpack.AppendHuffmanString(nil, string([]byte{c}))
	for _, x := range b {
		code = code<<8 | uint(x)
	}
	return code >> (uint(len(b))*8 - bits), bits
}

// Append appends the decoded form of the Huffman string s to dst. The error is x/net's.
func Append(dst, s []byte) ([]byte, error) {
	if out, ok := appendShortCodes(dst, s); ok {
		return out, nil
	}
	return appendAny(dst, s)
}

// appendAny is Append by x/net. It is a function of its own, because its dst is allocated.
func appendAny(dst, s []byte) ([]byte, error) {
	_, err := hpack.HuffmanDecode((*appender)(&dst), s)
	return dst, err
}

// appendShortCodes is Append for strings whose codes are all in the table. Otherwise it is
// not ok.
func appendShortCodes(dst, s []byte) (out []byte, ok bool) {
	n := len(dst)
	dst = slices.Grow(dst, len(s)*8/minBits+2)
	dst = dst[:cap(dst)]
	var next uint64 // the next bits, from the highest one on
	var bits uint   // the number of them that count
	for {
		if len(s) >= 8 {
			next |= binary.BigEndian.Uint64(s) >> bits
			whole := (63 - bits) / 8
			s, bits = s[whole:], bits+whole*8
		} else {
			for len(s) > 0 && bits <= 56 {
				next |= uint64(s[0]) << (56 - bits)
				s, bits = s[1:], bits+8
			}
		}
		for bits >= step {
			e := steps[next>>(64-step)]
			if e == 0 {
				return nil, false
			}
			binary.LittleEndian.PutUint16(dst[n:], uint16(e))
			n += e.symbols()
			next, bits = next<<e.bits(), bits-e.bits()
		}
		if len(s) == 0 {
			break
		}
	}
	for bits > 0 {
		e := steps[next>>(64-step)]
		if e == 0 || e.first() > bits {
			break
		}
		dst[n] = byte(e)
		n++
		next, bits = next<<e.first(), bits-e.first()
	}
	// At most seven bits are left, which are ones.
	return dst[:n], bits < 8 && ^next>>(64-bits) == 0
}

const minBits = 5

// An appender appends writes to a slice.
type appender []byte

func (a *appender) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}
