package raster

import "math"

// A command is one step of a path, with absolute coordinates. Lines use p only, curves the control
// points c1 and c2 too.
type command struct {
	kind      byte // M, L, C or Z
	c1, c2, p point
}

// A path is a list of commands.
type path []command

func (p *path) move(to point)          { *p = append(*p, command{kind: 'M', p: to}) }
func (p *path) line(to point)          { *p = append(*p, command{kind: 'L', p: to}) }
func (p *path) cubic(c1, c2, to point) { *p = append(*p, command{kind: 'C', c1: c1, c2: c2, p: to}) }
func (p *path) close()                 { *p = append(*p, command{kind: 'Z'}) }
func (p *path) quad(from, c, to point) { p.cubic(mix(from, c, 2.0/3), mix(to, c, 2.0/3), to) }

// parsePath reads path data. As browsers do, it keeps everything before the first error.
func parsePath(data string) path {
	r := pathReader{in: scanner{s: data}}
	for r.step() {
	}
	return r.path
}

type pathReader struct {
	in             scanner
	path           path
	last           byte  // the previous command
	at, start, ctl point // current point, start of the subpath, last control point
	open           bool  // a subpath is under way
}

// step reads one command with one set of arguments.
func (r *pathReader) step() bool {
	r.in.space()
	if r.in.pos >= len(r.in.s) {
		return false
	}
	cmd := r.in.s[r.in.pos]
	if 'a' <= cmd|0x20 && cmd|0x20 <= 'z' {
		r.in.pos++
	} else {
		switch cmd = r.last; cmd { // an omitted command repeats the last one
		case 'M':
			cmd = 'L'
		case 'm':
			cmd = 'l'
		case 0, 'Z', 'z':
			return false
		}
	}
	if len(r.path) == 0 && cmd|0x20 != 'm' {
		return false
	}
	relative := cmd >= 'a'
	ok := r.perform(cmd&^0x20, relative)
	r.last = cmd
	return ok
}

// point reads a pair of coordinates.
func (r *pathReader) point(relative bool) (p point, ok bool) {
	x, ok1 := r.in.number()
	y, ok2 := r.in.number()
	p = point{x, y}
	if relative {
		p = p.add(r.at)
	}
	return p, ok1 && ok2
}

// begin starts a subpath where the last one was closed.
func (r *pathReader) begin() {
	if !r.open {
		r.path.move(r.at)
		r.start, r.open = r.at, true
	}
}

func (r *pathReader) perform(cmd byte, relative bool) bool {
	before := r.last &^ 0x20
	switch cmd {
	case 'M':
		p, ok := r.point(relative)
		if !ok {
			return false
		}
		r.path.move(p)
		r.at, r.start, r.open = p, p, true
		return true
	case 'Z':
		r.path.close()
		r.at, r.open = r.start, false
		return true
	}
	r.begin()
	switch cmd {
	case 'L', 'T':
		p, ok := r.point(relative)
		if !ok {
			return false
		}
		if cmd == 'L' {
			r.path.line(p)
		} else {
			c := r.at
			if before == 'Q' || before == 'T' {
				c = r.at.times(2).sub(r.ctl)
			}
			r.path.quad(r.at, c, p)
			r.ctl = c
		}
		r.at = p
	case 'H', 'V':
		f, ok := r.in.number()
		if !ok {
			return false
		}
		p := r.at
		switch {
		case cmd == 'H' && relative:
			p.x += f
		case cmd == 'H':
			p.x = f
		case relative:
			p.y += f
		default:
			p.y = f
		}
		r.path.line(p)
		r.at = p
	case 'C', 'S':
		c1 := r.at
		if before == 'C' || before == 'S' {
			c1 = r.at.times(2).sub(r.ctl)
		}
		ok := true
		if cmd == 'C' {
			c1, ok = r.point(relative)
		}
		c2, ok2 := r.point(relative)
		p, ok3 := r.point(relative)
		if !ok || !ok2 || !ok3 {
			return false
		}
		r.path.cubic(c1, c2, p)
		r.ctl, r.at = c2, p
	case 'Q':
		c, ok := r.point(relative)
		p, ok2 := r.point(relative)
		if !ok || !ok2 {
			return false
		}
		r.path.quad(r.at, c, p)
		r.ctl, r.at = c, p
	case 'A':
		rx, ok1 := r.in.number()
		ry, ok2 := r.in.number()
		turn, ok3 := r.in.number()
		large, ok4 := r.in.flag()
		sweep, ok5 := r.in.flag()
		p, ok6 := r.point(relative)
		if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6) {
			return false
		}
		r.path.arc(r.at, p, math.Abs(rx), math.Abs(ry), turn, large, sweep)
		r.at = p
	default:
		return false
	}
	return true
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
		end := m.apply(point{c1, s1})
		if i == steps-1 {
			end = to
		}
		p.cubic(m.apply(point{c0 - k*s0, s0 + k*c0}), m.apply(point{c1 + k*s1, s1 - k*c1}), end)
	}
}

// ellipse appends a whole ellipse, from its rightmost point clockwise.
func (p *path) ellipse(cx, cy, rx, ry float64) {
	const k = 0.5522847498307936
	m := matrix{rx, 0, 0, ry, cx, cy}
	at := func(x, y float64) point { return m.apply(point{x, y}) }
	p.move(at(1, 0))
	p.cubic(at(1, k), at(k, 1), at(0, 1))
	p.cubic(at(-k, 1), at(-1, k), at(-1, 0))
	p.cubic(at(-1, -k), at(-k, -1), at(0, -1))
	p.cubic(at(k, -1), at(1, -k), at(1, 0))
	p.close()
}

// rect appends a rectangle with rounded corners.
func (p *path) rect(x, y, w, h, rx, ry float64) {
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
