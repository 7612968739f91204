package icondata

import "hash/crc32"

// A checksum is the CRC-32 of some bytes, with the effect of their length on the CRC-32 of bytes
// before them. With it, the checksum of a join follows from those of its parts, whose bytes need
// not be read again (crc32_combine of zlib does the same).
type checksum struct {
	crc   uint32
	shift uint32 // x^(8·length)
}

// A polynomial over GF(2) is a uint32 whose highest bit is the coefficient of 1, as in
// hash/crc32.
const one = 1 << 31

func newChecksum(b []byte) checksum {
	c := checksum{crc: crc32.ChecksumIEEE(b)}
	power, square := uint32(one), uint32(one>>8) // x^0, x^8
	for n := len(b); n > 0; n >>= 1 {
		if n&1 == 1 {
			power = product(power, square)
		}
		square = product(square, square)
	}
	c.shift = power
	return c
}

// after returns the checksum of bytes with the checksum before, followed by those of c.
func (c *checksum) after(before uint32) uint32 {
	shifts := multiples(c.shift)
	var p uint32
	for range 8 { // the terms of highest degree first
		p = p>>4 ^ reduced[p&15] ^ shifts[before&15]
		before >>= 4
	}
	return p ^ c.crc
}

// reduced has the product of x^4 and a polynomial of the four highest degrees.
var reduced = func() (r [16]uint32) {
	for i := range r {
		r[i] = uint32(i)
		for range 4 {
			r[i] = timesX(r[i])
		}
	}
	return r
}()

// multiples returns the products of p and each polynomial of degree 3 and below, in four bits, of
// which the highest is the coefficient of 1.
func multiples(p uint32) (m [16]uint32) {
	for n := 8; n > 0; n >>= 1 {
		m[n] = p
		p = timesX(p)
	}
	for n := 3; n < 16; n++ {
		m[n] = m[n&(n-1)] ^ m[n&-n]
	}
	return m
}

func product(a, b uint32) (p uint32) {
	for bit := uint32(one); bit > 0; bit >>= 1 {
		if a&bit != 0 {
			p ^= b
		}
		b = timesX(b)
	}
	return p
}

// timesX returns the product of x and p, modulo the polynomial of CRC-32.
func timesX(p uint32) uint32 { return p>>1 ^ crc32.IEEE&-(p&1) }
