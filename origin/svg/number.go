package svg

import (
	"bytes"
	"math"
	"strconv"
)

// number formats f as JavaScript's Number.prototype.toString does (ECMA-262, section 6.1.6.1.20).
func number(f float64) string { return string(appendNumber(nil, f)) }

func appendNumber(dst []byte, f float64) []byte {
	if f == 0 { // also minus zero
		return append(dst, '0')
	}
	if a := math.Abs(f); a >= 1e-6 && a < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// Go writes two digits of exponent at least, JavaScript one.
	if e := start + bytes.IndexByte(dst[start:], 'e'); dst[e+2] == '0' {
		dst = append(dst[:e+2], dst[e+3:]...)
	}
	return dst
}

// scaledSide is calculateSize of @iconify/utils with its precision of 100: a hundredth of a pixel,
// rounded up. A box without area, of which the library has one, has no ratio; it counts as square.
func scaledSide(size, ratio float64) float64 {
	if ratio == 1 || math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return size
	}
	return math.Ceil(size*ratio*100) / 100
}
