package raster

import (
	"math"

	"github.com/iconedge/iconedge/icon/geometry"
)

// A matrix maps user units to pixels, or those of one element to those of another.
type matrix = geometry.Matrix

func apply(m matrix, p point) point {
	x, y := m.Apply(p.x, p.y)
	return point{x, y}
}

// scaleOf returns the largest factor by which m stretches a length.
func scaleOf(m matrix) float64 { return max(math.Hypot(m[0], m[1]), math.Hypot(m[2], m[3])) }

// inverse is not ok if m flattens the plane.
func inverse(m matrix) (inv matrix, ok bool) {
	det := m[0]*m[3] - m[1]*m[2]
	if math.Abs(det) < 1e-12 || math.IsNaN(det) || math.IsInf(det, 0) {
		return geometry.Identity, false
	}
	return matrix{m[3] / det, -m[1] / det, -m[2] / det, m[0] / det, (m[2]*m[5] - m[3]*m[4]) / det, (m[1]*m[4] - m[0]*m[5]) / det}, true
}
