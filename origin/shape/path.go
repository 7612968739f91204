package shape

import "math"

// A point is in the coordinates of the grid, once its transform has been applied.
type point struct{ x, y float64 }

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
	last  point     // the last control point, for S and T
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
	t.lines, t.by, t.scale, t.full, t.n = t.lines[:0], by, by.scale(), false, 0
	t.at, t.start, t.last = point{}, point{}, point{}
}

func (t *tracer) move(p point) {
	var points []point
	if n := len(t.free); n > 0 {
		points, t.free = t.free[n-1], t.free[:n-1]
	}
	t.at, t.start, t.last = p, p, p
	t.lines = append(t.lines, line{points: append(points, t.by.apply(p))})
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
	l.points = append(l.points, t.by.apply(p))
	t.at, t.last = p, p
}

func (t *tracer) close() {
	if n := len(t.lines); n > 0 {
		t.lines[n-1].closed = true
		t.at, t.last = t.start, t.start
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
	t.last = b
}

func (t *tracer) quadratic(a, to point) {
	from := t.at
	third := func(p point) point { return point{p.x + (a.x-p.x)*2/3, p.y + (a.y-p.y)*2/3} }
	t.cubic(third(from), third(to), to)
	t.last = a
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

// path follows path data up to its first error, as browsers do.
func (t *tracer) path(data []byte) {
	n := numbers{data}
	command := byte(0)
	for !t.full {
		rest := n.skipSpace()
		if len(rest) == 0 {
			return
		}
		if c := rest[0]; c|0x20 >= 'a' && c|0x20 <= 'z' {
			command = c
			n.rest = rest[1:]
		} else if command|0x20 == 'z' || command == 0 {
			return
		}
		if !t.segment(command, &n) {
			return
		}
		switch command { // further pairs of numbers are lines
		case 'M':
			command = 'L'
		case 'm':
			command = 'l'
		}
	}
}

// arguments is the number of numbers of each command except those of arcs.
var arguments = map[byte]int{'m': 2, 'l': 2, 'h': 1, 'v': 1, 'c': 6, 's': 4, 'q': 4, 't': 2, 'z': 0}

// segment follows one command.
func (t *tracer) segment(command byte, n *numbers) bool {
	lower := command | 0x20
	base := point{}
	if command == lower {
		base = t.at
	}
	if lower == 'a' {
		return t.arcSegment(base, n)
	}
	count, known := arguments[lower]
	var a [6]float64
	for i := range count {
		f, ok := n.next()
		if !ok {
			return false
		}
		a[i] = f
	}
	p := func(i int) point { return point{base.x + a[i], base.y + a[i+1]} }
	mirrored := point{2*t.at.x - t.last.x, 2*t.at.y - t.last.y}
	switch lower {
	case 'm':
		t.move(p(0))
	case 'l':
		t.line(p(0))
	case 'h':
		t.line(point{base.x + a[0], t.at.y})
	case 'v':
		t.line(point{t.at.x, base.y + a[0]})
	case 'c':
		t.cubic(p(0), p(2), p(4))
	case 's':
		t.cubic(mirrored, p(0), p(2))
	case 'q':
		t.quadratic(p(0), p(2))
	case 't':
		t.quadratic(mirrored, p(0))
	case 'z':
		t.close()
	}
	return known
}

func (t *tracer) arcSegment(base point, n *numbers) bool {
	var f [3]float64
	for i := range f {
		v, ok := n.next()
		if !ok {
			return false
		}
		f[i] = v
	}
	large, ok1 := n.flag()
	sweep, ok2 := n.flag()
	x, ok3 := n.next()
	y, ok4 := n.next()
	if ok1 && ok2 && ok3 && ok4 {
		t.arc(f[0], f[1], f[2], large, sweep, point{base.x + x, base.y + y})
	}
	return ok1 && ok2 && ok3 && ok4
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
func (t *tracer) polygon(points []byte, closed bool) {
	n := numbers{points}
	for first := true; !t.full; first = false {
		x, ok1 := n.next()
		y, ok2 := n.next()
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
