package raster

import (
	"math"

	"github.com/iconedge/iconedge/icon/geometry"
)

// A command is one step of a path, with absolute coordinates. Lines use p only, curves the control
// points c1 and c2 too.
type command struct {
	kind      byte // M, L, C or Z
	c1, c2, p point
	inner     bool // the arc that it is a part of goes on
}

// A path is a list of commands.
type path []command

func (p *path) move(to point)          { *p = append(*p, command{kind: 'M', p: to}) }
func (p *path) line(to point)          { *p = append(*p, command{kind: 'L', p: to}) }
func (p *path) cubic(c1, c2, to point) { *p = append(*p, command{kind: 'C', c1: c1, c2: c2, p: to}) }
func (p *path) close()                 { *p = append(*p, command{kind: 'Z'}) }

// parsePath reads path data.
func parsePath(data string) (p path) {
	var at point
	geometry.Path(data, func(s geometry.Segment) bool {
		a := s.Args
		switch s.Kind {
		case 'M':
			at = point{a[0], a[1]}
			p.move(at)
		case 'L':
			at = point{a[0], a[1]}
			p.line(at)
		case 'C':
			at = point{a[4], a[5]}
			p.cubic(point{a[0], a[1]}, point{a[2], a[3]}, at)
		case 'A':
			to := point{a[5], a[6]}
			p.arc(at, to, math.Abs(a[0]), math.Abs(a[1]), a[2], a[3] == 1, a[4] == 1)
			at = to
		case 'Z':
			p.close()
		}
		return true
	})
	return p
}

// arc appends an elliptical arc as curves (SVG 2, section B.2.4).
func (p *path) arc(from, to point, rx, ry, turn float64, large, sweep bool) {
	if from == to {
		return
	}
	if rx == 0 || ry == 0 {
		p.line(to)
		return
	}
	sin, cos := math.Sincos(turn * math.Pi / 180)
	half := from.sub(to).times(0.5)
	x, y := cos*half.x+sin*half.y, -sin*half.x+cos*half.y
	if big := x*x/(rx*rx) + y*y/(ry*ry); big > 1 {
		s := math.Sqrt(big)
		rx, ry = rx*s, ry*s
	}
	f := (rx*rx*ry*ry - rx*rx*y*y - ry*ry*x*x) / (rx*rx*y*y + ry*ry*x*x)
	f = math.Sqrt(max(0, f))
	if large == sweep {
		f = -f
	}
	cx, cy := f*rx*y/ry, -f*ry*x/rx
	middle := mix(from, to, 0.5)
	centre := point{cos*cx - sin*cy + middle.x, sin*cx + cos*cy + middle.y}
	start := math.Atan2((y-cy)/ry, (x-cx)/rx)
	angle := math.Atan2((-y-cy)/ry, (-x-cx)/rx) - start
	switch {
	case sweep && angle < 0:
		angle += 2 * math.Pi
	case !sweep && angle > 0:
		angle -= 2 * math.Pi
	}
	if math.IsNaN(angle) {
		p.line(to)
		return
	}
	m := matrix{rx * cos, rx * sin, -ry * sin, ry * cos, centre.x, centre.y}
	steps := int(math.Ceil(math.Abs(angle)/(math.Pi/2) - 1e-9))
	step := angle / float64(max(steps, 1))
	k := 4.0 / 3 * math.Tan(step/4)
	for i := range steps {
		s0, c0 := math.Sincos(start + float64(i)*step)
		s1, c1 := math.Sincos(start + float64(i+1)*step)
		end := apply(m, point{c1, s1})
		if i == steps-1 {
			end = to
		}
		p.cubic(apply(m, point{c0 - k*s0, s0 + k*c0}), apply(m, point{c1 + k*s1, s1 - k*c1}), end)
		(*p)[len(*p)-1].inner = i < steps-1
	}
}

// ellipse appends a whole ellipse, from its rightmost point clockwise.
func (p *path) ellipse(cx, cy, rx, ry float64) {
	const k = 0.5522847498307936
	m := matrix{rx, 0, 0, ry, cx, cy}
	at := func(x, y float64) point { return apply(m, point{x, y}) }
	p.move(at(1, 0))
	p.cubic(at(1, k), at(k, 1), at(0, 1))
	p.cubic(at(-k, 1), at(-1, k), at(-1, 0))
	p.cubic(at(-1, -k), at(-k, -1), at(0, -1))
	p.cubic(at(k, -1), at(1, -k), at(1, 0))
	p.close()
}

// rect appends a rectangle with rounded corners.
func (p *path) rect(b box, rx, ry float64) {
	x, y, w, h := b.x, b.y, b.w, b.h
	if rx <= 0 || ry <= 0 {
		p.move(point{x, y})
		p.line(point{x + w, y})
		p.line(point{x + w, y + h})
		p.line(point{x, y + h})
		p.close()
		return
	}
	p.move(point{x + rx, y})
	at := point{x + w - rx, y}
	p.line(at)
	turn := func(line, to point) {
		p.line(line)
		p.arc(line, to, rx, ry, 0, false, true)
	}
	p.arc(at, point{x + w, y + ry}, rx, ry, 0, false, true)
	turn(point{x + w, y + h - ry}, point{x + w - rx, y + h})
	turn(point{x + rx, y + h}, point{x, y + h - ry})
	turn(point{x, y + ry}, point{x + rx, y})
	p.close()
}

// A polyline is a flattened subpath. corner marks the points at which a command ended; those
// between are on a curve.
type polyline struct {
	points []point
	corner []bool
	closed bool
}

func (l *polyline) add(p point, corner bool) {
	l.points, l.corner = append(l.points, p), append(l.corner, corner)
}

// maxPoints is the largest number of points of one flattened path.
const maxPoints = 400_000

// flatten returns the path as polylines whose distance from it is at most about tolerance.
func (p path) flatten(tolerance float64) (lines []polyline, err error) {
	var at point
	count := 0
	for _, c := range p {
		if !c.p.sane() || !c.c1.sane() || !c.c2.sane() || count > maxPoints {
			return nil, ErrTooComplex
		}
		if c.kind == 'M' {
			lines = append(lines, polyline{})
			lines[len(lines)-1].add(c.p, true)
			at = c.p
			continue
		}
		l := &lines[len(lines)-1]
		switch c.kind {
		case 'L':
			l.add(c.p, true)
		case 'C':
			bend := max(at.sub(c.c1.times(2)).add(c.c2).length(), c.c1.sub(c.c2.times(2)).add(c.p).length())
			n := int(clamp(math.Ceil(math.Sqrt(0.75*bend/tolerance)), 1, 256))
			count += n
			for i := 1; i < n; i++ {
				t := float64(i) / float64(n)
				u := 1 - t
				q := at.times(u * u * u).add(c.c1.times(3 * u * u * t)).add(c.c2.times(3 * u * t * t)).add(c.p.times(t * t * t))
				l.add(q, false)
			}
			l.add(c.p, true)
		case 'Z':
			l.closed = true
			at = l.points[0]
			continue
		}
		at = c.p
		count++
	}
	return lines, nil
}

// bounds returns the smallest box around the points.
func bounds(lines []polyline) box {
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, l := range lines {
		for _, p := range l.points {
			low, high = point{min(low.x, p.x), min(low.y, p.y)}, point{max(high.x, p.x), max(high.y, p.y)}
		}
	}
	if low.x > high.x {
		return box{}
	}
	return box{low.x, low.y, high.x - low.x, high.y - low.y}
}
