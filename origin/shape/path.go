package shape

import (
	"math"

	"github.com/iconedge/iconedge/icon/geometry"
)

// A point is in the coordinates of the grid, once its transform has been applied.
type point struct{ x, y float64 }

// A matrix maps the units of the SVG to cells of the grid.
type matrix = geometry.Matrix

func apply(m matrix, p point) point {
	x, y := m.Apply(p.x, p.y)
	return point{x, y}
}

// scaleOf returns the factor of lengths, on average over all directions.
func scaleOf(m matrix) float64 { return math.Sqrt(math.Abs(m[0]*m[3] - m[1]*m[2])) }

// A line is a polyline: one subpath.
type line struct {
	points []point
	closed bool
}

// A tracer turns shapes into lines.
type tracer struct {
	lines []line
	free  [][]point // memory of earlier lines
	at    point     // the current point, in the units of the SVG
	start point     // of the subpath
	by    matrix
	scale float64 // of by
	full  bool    // too much has been traced
	n     int     // number of points so far
}

const (
	maxPoints = 20_000 // of one element
	maxSides  = 8      // of a Bézier curve
	side      = 1.5    // least length of a side of a curve, in cells
	arcSide   = .4     // least angle of a side of an arc, in radians
)

func (t *tracer) reset(by matrix) {
	for _, l := range t.lines {
		t.free = append(t.free, l.points[:0])
	}
	t.lines, t.by, t.scale, t.full, t.n = t.lines[:0], by, scaleOf(by), false, 0
	t.at, t.start = point{}, point{}
}

func (t *tracer) move(p point) {
	var points []point
	if n := len(t.free); n > 0 {
		points, t.free = t.free[n-1], t.free[:n-1]
	}
	t.at, t.start = p, p
	t.lines = append(t.lines, line{points: append(points, apply(t.by, p))})
}

func (t *tracer) line(p point) {
	if len(t.lines) == 0 || t.lines[len(t.lines)-1].closed {
		t.move(t.at)
	}
	if t.n++; t.n > maxPoints {
		t.full = true
		return
	}
	l := &t.lines[len(t.lines)-1]
	l.points = append(l.points, apply(t.by, p))
	t.at = p
}

func (t *tracer) close() {
	if n := len(t.lines); n > 0 {
		t.lines[n-1].closed = true
		t.at = t.start
	}
}

func (t *tracer) cubic(a, b, to point) {
	from := t.at
	length := math.Hypot(a.x-from.x, a.y-from.y) + math.Hypot(b.x-a.x, b.y-a.y) + math.Hypot(to.x-b.x, to.y-b.y)
	sides := int(min(length*t.scale/side, maxSides-1)) + 1
	for i := 1; i < sides; i++ {
		u := float64(i) / float64(sides)
		v := 1 - u
		k0, k1, k2, k3 := v*v*v, 3*v*v*u, 3*v*u*u, u*u*u
		t.line(point{k0*from.x + k1*a.x + k2*b.x + k3*to.x, k0*from.y + k1*a.y + k2*b.y + k3*to.y})
	}
	t.line(to)
}

// arc follows an elliptical arc (SVG 2, appendix B.2.4).
func (t *tracer) arc(rx, ry, degrees float64, large, sweep bool, to point) {
	from := t.at
	rx, ry = math.Abs(rx), math.Abs(ry)
	if rx == 0 || ry == 0 || from == to {
		t.line(to)
		return
	}
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	dx, dy := (from.x-to.x)/2, (from.y-to.y)/2
	x, y := cos*dx+sin*dy, cos*dy-sin*dx
	if excess := x*x/(rx*rx) + y*y/(ry*ry); excess > 1 {
		rx, ry = rx*math.Sqrt(excess), ry*math.Sqrt(excess)
	}
	k := math.Sqrt(max(0, (rx*rx*ry*ry-rx*rx*y*y-ry*ry*x*x)/(rx*rx*y*y+ry*ry*x*x)))
	if large == sweep {
		k = -k
	}
	cx, cy := k*rx*y/ry, -k*ry*x/rx
	first, last := math.Atan2((y-cy)/ry, (x-cx)/rx), math.Atan2((-y-cy)/ry, (-x-cx)/rx)
	switch {
	case sweep && last < first:
		last += 2 * math.Pi
	case !sweep && last > first:
		last -= 2 * math.Pi
	}
	angle := math.Abs(last - first)
	sides := int(min(angle/arcSide, angle*max(rx, ry)*t.scale/side)) + 1
	middle := point{cos*cx - sin*cy + (from.x+to.x)/2, sin*cx + cos*cy + (from.y+to.y)/2}
	for i := 1; i < sides; i++ {
		s, c := math.Sincos(first + (last-first)*float64(i)/float64(sides))
		t.line(point{middle.x + cos*rx*c - sin*ry*s, middle.y + sin*rx*c + cos*ry*s})
	}
	t.line(to)
}

// path follows path data.
func (t *tracer) path(data string) {
	geometry.Path(data, func(s geometry.Segment) bool {
		a := s.Args
		switch s.Kind {
		case 'M':
			t.move(point{a[0], a[1]})
		case 'L':
			t.line(point{a[0], a[1]})
		case 'C':
			t.cubic(point{a[0], a[1]}, point{a[2], a[3]}, point{a[4], a[5]})
		case 'A':
			t.arc(a[0], a[1], a[2], a[3] == 1, a[4] == 1, point{a[5], a[6]})
		case 'Z':
			t.close()
		}
		return !t.full
	})
}

// ellipse follows a whole ellipse.
func (t *tracer) ellipse(center point, rx, ry float64) {
	t.move(point{center.x - rx, center.y})
	t.arc(rx, ry, 0, false, true, point{center.x + rx, center.y})
	t.arc(rx, ry, 0, false, true, point{center.x - rx, center.y})
	t.close()
}

// rectangle follows a rectangle with rounded corners.
func (t *tracer) rectangle(x, y, width, height, radius float64) {
	r := min(radius, width/2, height/2)
	if r <= 0 {
		t.move(point{x, y})
		for _, p := range []point{{x + width, y}, {x + width, y + height}, {x, y + height}} {
			t.line(p)
		}
		t.close()
		return
	}
	t.move(point{x + r, y})
	t.line(point{x + width - r, y})
	t.arc(r, r, 0, false, true, point{x + width, y + r})
	t.line(point{x + width, y + height - r})
	t.arc(r, r, 0, false, true, point{x + width - r, y + height})
	t.line(point{x + r, y + height})
	t.arc(r, r, 0, false, true, point{x, y + height - r})
	t.line(point{x, y + r})
	t.arc(r, r, 0, false, true, point{x + r, y})
	t.close()
}

// polygon follows a list of points.
func (t *tracer) polygon(points string, closed bool) {
	n := geometry.Numbers{Rest: points}
	for first := true; !t.full; first = false {
		x, ok1 := n.Next()
		y, ok2 := n.Next()
		if !ok1 || !ok2 {
			break
		}
		if first {
			t.move(point{x, y})
		} else {
			t.line(point{x, y})
		}
	}
	if closed {
		t.close()
	}
}
