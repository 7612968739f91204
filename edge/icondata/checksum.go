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
func (c *checksum) after(before uint32) uint32 { return product(before, c.shift) ^ c.crc }

// product returns the product of two polynomials, modulo the polynomial of CRC-32.
func product(a, b uint32) uint32 {
	p := carryless(a, b) << 1
	high := uint32(p) // the terms x^32 to x^63
	return uint32(p>>32) ^ zeros[3][high&0xff] ^ zeros[2][high>>8&0xff] ^ zeros[1][high>>16&0xff] ^ zeros[0][high>>24]
}

// carryless returns the product of two polynomials of which bit n is the coefficient of x^n. It
// multiplies integers in which at most every fourth bit is set: up to eight products add up at each
// of these bits, so that their carries stay within the three bits above (as ghash_ctmul of BearSSL
// does).
func carryless(a, b uint32) uint64 {
	const e0, e1, e2, e3 = 0x1111111111111111, 0x2222222222222222, 0x4444444444444444, 0x8888888888888888
	x, y := uint64(a), uint64(b)
	x0, x1, x2, x3 := x&e0, x&e1, x&e2, x&e3
	y0, y1, y2, y3 := y&e0, y&e1, y&e2, y&e3
	return (x0*y0^x1*y3^x2*y2^x3*y1)&e0 |
		(x0*y1^x1*y0^x2*y3^x3*y2)&e1 |
		(x0*y2^x1*y1^x2*y0^x3*y3)&e2 |
		(x0*y3^x1*y2^x2*y1^x3*y0)&e3
}

// zeros have the checksum of each byte followed by so many bytes of zeros.
var zeros = func() (t [4][256]uint32) {
	t[0] = *crc32.IEEETable
	for n := 1; n < len(t); n++ {
		for b, sum := range t[n-1] {
			t[n][b] = sum>>8 ^ t[0][sum&0xff]
		}
	}
	return t
}()
