package raster

import (
	"math"
	"strings"
)

// A matrix is an affine transform: x' = a·x + c·y + e, y' = b·x + d·y + f.
type matrix struct{ a, b, c, d, e, f float64 }

var identity = matrix{a: 1, d: 1}

// of returns the transform that applies n first, then m.
func (m matrix) of(n matrix) matrix {
	return matrix{
		m.a*n.a + m.c*n.b, m.b*n.a + m.d*n.b,
		m.a*n.c + m.c*n.d, m.b*n.c + m.d*n.d,
		m.a*n.e + m.c*n.f + m.e, m.b*n.e + m.d*n.f + m.f,
	}
}

func (m matrix) apply(p point) point {
	return point{m.a*p.x + m.c*p.y + m.e, m.b*p.x + m.d*p.y + m.f}
}

// scale returns the largest factor by which m stretches a length.
func (m matrix) scale() float64 {
	return max(math.Hypot(m.a, m.b), math.Hypot(m.c, m.d))
}

// inverse is not ok if m flattens the plane.
func (m matrix) inverse() (inv matrix, ok bool) {
	det := m.a*m.d - m.b*m.c
	if math.Abs(det) < 1e-12 || math.IsNaN(det) || math.IsInf(det, 0) {
		return identity, false
	}
	return matrix{m.d / det, -m.b / det, -m.c / det, m.a / det, (m.c*m.f - m.d*m.e) / det, (m.b*m.e - m.a*m.f) / det}, true
}

func translate(x, y float64) matrix { return matrix{1, 0, 0, 1, x, y} }

func rotate(degrees, x, y float64) matrix {
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	return translate(x, y).of(matrix{cos, sin, -sin, cos, 0, 0}).of(translate(-x, -y))
}

// A box is a rectangle in user units.
type box struct{ x, y, w, h float64 }

func (b box) matrix() matrix { return matrix{b.w, 0, 0, b.h, b.x, b.y} }

// fit returns the transform from a viewBox to the rectangle x, y, w, h, by the value of
// preserveAspectRatio.
func fit(view box, x, y, w, h float64, ratio string) matrix {
	sx, sy := w/view.w, h/view.h
	align, slice, _ := strings.Cut(strings.TrimSpace(ratio), " ")
	if align != "none" {
		s := min(sx, sy)
		if slice == "slice" {
			s = max(sx, sy)
		}
		sx, sy = s, s
	}
	place := func(low, high string, free float64) float64 {
		switch {
		case strings.Contains(align, low):
			return 0
		case strings.Contains(align, high):
			return free
		}
		return free / 2
	}
	dx := place("xMin", "xMax", w-view.w*sx)
	dy := place("YMin", "YMax", h-view.h*sy)
	return matrix{sx, 0, 0, sy, x + dx - view.x*sx, y + dy - view.y*sy}
}

// parseTransform reads a transform attribute, or the CSS property with numbers in px and deg. It is
// not ok if the value is malformed.
func parseTransform(s string) (m matrix, ok bool) {
	m = identity
	s = strings.TrimSpace(s)
	if s == "none" {
		return m, true
	}
	for s != "" {
		name, rest, found := strings.Cut(s, "(")
		inside, after, closed := strings.Cut(rest, ")")
		if !found || !closed {
			return identity, false
		}
		step, ok := operation(strings.TrimSpace(name), inside)
		if !ok {
			return identity, false
		}
		m, s = m.of(step), strings.TrimLeft(after, " \t\r\n,")
	}
	return m, true
}

func operation(name, inside string) (m matrix, ok bool) {
	for _, unit := range [...]string{"deg", "px"} {
		inside = strings.ReplaceAll(inside, unit, "")
	}
	n, ok := numbers(inside)
	if !ok || len(n) == 0 {
		return identity, false
	}
	one := len(n) == 1
	switch {
	case name == "translate" && one, name == "translateX" && one:
		return translate(n[0], 0), true
	case name == "translateY" && one:
		return translate(0, n[0]), true
	case name == "translate" && len(n) == 2:
		return translate(n[0], n[1]), true
	case name == "scale" && one:
		return matrix{n[0], 0, 0, n[0], 0, 0}, true
	case name == "scale" && len(n) == 2:
		return matrix{n[0], 0, 0, n[1], 0, 0}, true
	case name == "scaleX" && one:
		return matrix{n[0], 0, 0, 1, 0, 0}, true
	case name == "scaleY" && one:
		return matrix{1, 0, 0, n[0], 0, 0}, true
	case name == "rotate" && one:
		return rotate(n[0], 0, 0), true
	case name == "rotate" && len(n) == 3:
		return rotate(n[0], n[1], n[2]), true
	case name == "skewX" && one:
		return matrix{1, 0, math.Tan(n[0] * math.Pi / 180), 1, 0, 0}, true
	case name == "skewY" && one:
		return matrix{1, math.Tan(n[0] * math.Pi / 180), 0, 1, 0, 0}, true
	case name == "matrix" && len(n) == 6:
		return matrix{n[0], n[1], n[2], n[3], n[4], n[5]}, true
	}
	return identity, false
}
