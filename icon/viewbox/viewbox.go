// Package viewbox has the geometry of icons as @iconify/utils computes it: view boxes, turns, and
// sides that follow from others. Numbers are written as in JavaScript, so that results have the
// bytes of Iconify's.
package viewbox

import (
	"bytes"
	"math"
	"strconv"

	"github.com/iconedge/iconedge/icon"
)

// A Box is the part of the plane that an SVG shows, in the units of the SVG: its viewBox.
type Box struct{ Left, Top, Width, Height float64 }

// String returns the value of the viewBox attribute.
func (b Box) String() string {
	return Number(b.Left) + " " + Number(b.Top) + " " + Number(b.Width) + " " + Number(b.Height)
}

// Number formats f as JavaScript's Number.prototype.toString does (ECMA-262, section 6.1.6.1.20).
func Number(f float64) string { return string(AppendNumber(nil, f)) }

// AppendNumber appends what Number returns.
func AppendNumber(dst []byte, f float64) []byte {
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

// Scaled is calculateSize of @iconify/utils with its precision of 100: a hundredth of a pixel,
// rounded up. A box without area, of which the library has one, has no ratio; it counts as square.
func Scaled(size, ratio float64) float64 {
	if ratio == 1 || math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return size
	}
	return math.Ceil(size*ratio*100) / 100
}

// Follow returns the other side of a side that is a number, with or without a unit, as
// calculateSize of @iconify/utils does. Any other value stays as it is.
func Follow(side string, ratio float64) string {
	digits, unit := icon.SplitLength(side)
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || ratio == 1 || math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return side
	}
	return Number(Scaled(f, ratio)) + unit
}
