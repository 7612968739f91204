// Package geometry reads the geometry of SVG as browsers do: numbers, transforms and the data of
// paths. Package raster draws it, and package shape recognises it.
package geometry

import (
	"math"
	"strings"
)

// A Matrix is an affine transform, with its numbers in the order of SVG: it maps x to
// m[0]·x + m[2]·y + m[4], and y to m[1]·x + m[3]·y + m[5].
type Matrix [6]float64

// Identity changes nothing.
var Identity = Matrix{1, 0, 0, 1, 0, 0}

// Of returns the transform that applies n first, then m.
func (m Matrix) Of(n Matrix) Matrix {
	return Matrix{
		m[0]*n[0] + m[2]*n[1], m[1]*n[0] + m[3]*n[1],
		m[0]*n[2] + m[2]*n[3], m[1]*n[2] + m[3]*n[3],
		m[0]*n[4] + m[2]*n[5] + m[4], m[1]*n[4] + m[3]*n[5] + m[5],
	}
}

// Apply maps a point.
func (m Matrix) Apply(x, y float64) (float64, float64) {
	return m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]
}

// Translate returns the transform that moves by x and y.
func Translate(x, y float64) Matrix { return Matrix{1, 0, 0, 1, x, y} }

// rotate returns the rotation around a point.
func rotate(degrees, x, y float64) Matrix {
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	return Translate(x, y).Of(Matrix{cos, sin, -sin, cos, 0, 0}).Of(Translate(-x, -y))
}

// Transform reads a transform attribute, or the CSS property with numbers in px and deg. It is not
// ok if the value is malformed.
func Transform(s string) (m Matrix, ok bool) {
	m = Identity
	s = strings.TrimSpace(s)
	if s == "none" {
		return m, true
	}
	for s != "" {
		name, rest, found := strings.Cut(s, "(")
		inside, after, closed := strings.Cut(rest, ")")
		if !found || !closed {
			return Identity, false
		}
		step, ok := operation(strings.TrimSpace(name), inside)
		if !ok {
			return Identity, false
		}
		m, s = m.Of(step), strings.TrimLeft(after, " \t\r\n,")
	}
	return m, true
}

func operation(name, inside string) (m Matrix, ok bool) {
	for _, unit := range [...]string{"deg", "px"} {
		inside = strings.ReplaceAll(inside, unit, "")
	}
	n, ok := List(inside)
	if !ok || len(n) == 0 {
		return Identity, false
	}
	one := len(n) == 1
	switch {
	case name == "translate" && one, name == "translateX" && one:
		return Translate(n[0], 0), true
	case name == "translateY" && one:
		return Translate(0, n[0]), true
	case name == "translate" && len(n) == 2:
		return Translate(n[0], n[1]), true
	case name == "scale" && one:
		return Matrix{n[0], 0, 0, n[0], 0, 0}, true
	case name == "scale" && len(n) == 2:
		return Matrix{n[0], 0, 0, n[1], 0, 0}, true
	case name == "scaleX" && one:
		return Matrix{n[0], 0, 0, 1, 0, 0}, true
	case name == "scaleY" && one:
		return Matrix{1, 0, 0, n[0], 0, 0}, true
	case name == "rotate" && one:
		return rotate(n[0], 0, 0), true
	case name == "rotate" && len(n) == 3:
		return rotate(n[0], n[1], n[2]), true
	case name == "skewX" && one:
		return Matrix{1, 0, math.Tan(n[0] * math.Pi / 180), 1, 0, 0}, true
	case name == "skewY" && one:
		return Matrix{1, math.Tan(n[0] * math.Pi / 180), 0, 1, 0, 0}, true
	case name == "matrix" && len(n) == 6:
		return Matrix(n), true
	}
	return Identity, false
}
