package raster

import "math"

// A pen says how a stroke looks, in user units.
type pen struct {
	width      float64
	cap, join  string
	miter      float64
	dash       []float64
	dashOffset float64
	tolerance  float64
}

// A stroker collects the pieces of the outline of a stroke. All pieces wind in the same direction,
// so that their union is the stroke by the non-zero rule.
type stroker struct {
	pen
	r      float64 // half the width
	pieces []polyline
}

// maxDashes is the largest number of dashes of one stroke.
const maxDashes = 5_000

// outline returns polygons that together cover the stroke.
func (p pen) outline(lines []polyline) []polyline {
	s := stroker{pen: p, r: p.width / 2}
	for _, l := range lines {
		if l = l.distinct(); len(l.points) == 1 {
			s.dot(l.points[0])
		} else {
			s.line(l)
		}
	}
	return s.pieces
}

// dashed returns the dashes of the pen along the lines; without dashes, the lines.
func (p pen) dashed(lines []polyline) ([]polyline, error) {
	if len(p.dash) == 0 {
		return lines, nil
	}
	var all []polyline
	for _, l := range lines {
		if l = l.distinct(); len(l.points) == 1 {
			all = append(all, l)
			continue
		}
		parts, err := l.dashes(p.dash, p.dashOffset)
		if err != nil {
			return nil, err
		}
		all = append(all, parts...)
	}
	return all, nil
}

// distinct returns the polyline without points that repeat the one before.
func (l polyline) distinct() polyline {
	out := polyline{closed: l.closed}
	for i, p := range l.points {
		if n := len(out.points); n == 0 || p.sub(out.points[n-1]).length() > 1e-9 {
			out.add(p, l.corner[i])
		} else if l.corner[i] {
			out.corner[n-1] = true
		}
	}
	if n := len(out.points); l.closed && n > 1 && out.points[0].sub(out.points[n-1]).length() <= 1e-9 {
		out.points, out.corner = out.points[:n-1], out.corner[:n-1]
	}
	return out
}

// dashes cuts a polyline into the dashes of a pattern.
func (l polyline) dashes(pattern []float64, offset float64) (parts []polyline, err error) {
	total := 0.0
	for _, f := range pattern {
		total += f
	}
	points, corner := l.points, l.corner
	if l.closed {
		points, corner = append(points[:len(points):len(points)], points[0]), append(corner[:len(corner):len(corner)], true)
	}
	whole := 0.0
	for i := 1; i < len(points); i++ {
		whole += points[i].sub(points[i-1]).length()
	}
	if whole/total*float64(len(pattern)) > maxDashes {
		return nil, ErrTooComplex
	}
	if offset = math.Mod(offset, total); offset < 0 {
		offset += total
	}
	i := 0
	for offset >= pattern[i] && offset > 0 {
		offset -= pattern[i]
		i = (i + 1) % len(pattern)
	}
	left := pattern[i] - offset // of the current dash or gap
	var current polyline
	if i%2 == 0 {
		current.add(points[0], true)
	}
	for n := 1; n < len(points); n++ {
		from, to := points[n-1], points[n]
		segment, done := to.sub(from).length(), 0.0
		for segment-done > left {
			done += left
			p := mix(from, to, done/segment)
			if i%2 == 0 {
				current.add(p, true)
				parts = append(parts, current)
				current = polyline{}
			} else {
				current = polyline{}
				current.add(p, true)
			}
			i = (i + 1) % len(pattern)
			left = pattern[i]
			if len(parts) > maxDashes {
				return nil, ErrTooComplex
			}
		}
		left -= segment - done
		if i%2 == 0 {
			current.add(to, corner[n])
		}
	}
	if i%2 == 0 && len(current.points) > 1 {
		parts = append(parts, current)
	}
	return parts, nil
}

// piece adds a polygon, turned so that it winds like all others.
func (s *stroker) piece(points ...point) {
	area := 0.0
	for i, p := range points {
		area += p.cross(points[(i+1)%len(points)])
	}
	if area < 0 {
		for i, j := 0, len(points)-1; i < j; i, j = i+1, j-1 {
			points[i], points[j] = points[j], points[i]
		}
	}
	s.pieces = append(s.pieces, polyline{points: points})
}

// dot draws a subpath without length, which only round and square caps show.
func (s *stroker) dot(p point) {
	switch s.cap {
	case "round":
		s.fan(p, 0, 2*math.Pi)
	case "square":
		s.piece(p.add(point{-s.r, -s.r}), p.add(point{s.r, -s.r}), p.add(point{s.r, s.r}), p.add(point{-s.r, s.r}))
	}
}

// fan draws a sector of a disc.
func (s *stroker) fan(centre point, from, angle float64) {
	step := 2 * math.Acos(clamp(1-s.tolerance/max(s.r, s.tolerance), -1, 1))
	n := int(clamp(math.Ceil(math.Abs(angle)/max(step, 0.02)), 1, 400))
	points := make([]point, 0, n+2)
	if math.Abs(angle) < 2*math.Pi {
		points = append(points, centre)
	}
	for i := range n + 1 {
		sin, cos := math.Sincos(from + angle*float64(i)/float64(n))
		points = append(points, point{centre.x + s.r*cos, centre.y + s.r*sin})
	}
	s.piece(points...)
}

// line draws a polyline: strips along its smooth parts, joins between them, caps at its ends.
func (s *stroker) line(l polyline) {
	points, n := l.points, len(l.points)
	segments := n - 1
	if l.closed {
		segments = n
	}
	normal := make([]point, segments) // of each segment, as long as half the width
	length := make([]float64, segments)
	for i := range segments {
		v := points[(i+1)%n].sub(points[i])
		length[i] = v.length()
		normal[i] = point{-v.y, v.x}.times(s.r / length[i])
	}
	// smooth returns the common normal at the start of segment i, if the turn there is so slight
	// that both segments can end on one line.
	smooth := func(i int) (m point, ok bool) {
		if i == 0 && !l.closed || i >= segments && !l.closed {
			return m, false
		}
		i %= segments
		before := (i + segments - 1) % segments
		sum := normal[i].add(normal[before])
		cos := normal[i].dot(normal[before]) / (s.r * s.r)
		turn := math.Abs(normal[i].cross(normal[before])) / (s.r * s.r)
		if cos < 0.9 || turn*s.r > min(length[i], length[before]) {
			return m, false
		}
		return sum.times(1 / (1 + cos)), true
	}
	first := 0
	if l.closed {
		for first < segments {
			if _, ok := smooth(first); !ok {
				break
			}
			first++
		}
		if first == segments {
			s.ring(points, smooth)
			return
		}
	}
	for k := 0; k < segments; {
		begin := (first + k) % segments
		var left, right []point
		left, right = append(left, points[begin].add(normal[begin])), append(right, points[begin].sub(normal[begin]))
		for {
			i := (first + k) % segments
			k++
			end := points[(i+1)%n]
			m, ok := smooth(i + 1)
			if !ok || k == segments {
				left, right = append(left, end.add(normal[i])), append(right, end.sub(normal[i]))
				if l.closed || k < segments {
					s.corner(end, normal[i], normal[(i+1)%segments], l.corner[(i+1)%n])
				}
				break
			}
			left, right = append(left, end.add(m)), append(right, end.sub(m))
		}
		for i := len(right) - 1; i >= 0; i-- {
			left = append(left, right[i])
		}
		s.piece(left...)
	}
	if !l.closed {
		s.end(points[0], normal[0])
		s.end(points[n-1], normal[segments-1].times(-1))
	}
}

// ring draws a closed polyline without corners: the outer side and, the other way round, the inner.
func (s *stroker) ring(points []point, smooth func(int) (point, bool)) {
	var left, right []point
	for i, p := range points {
		m, _ := smooth(i)
		left, right = append(left, p.add(m)), append(right, p.sub(m))
	}
	all := append(append([]point{}, left...), left[0])
	all = append(all, right[0])
	for i := len(right) - 1; i >= 0; i-- {
		all = append(all, right[i])
	}
	s.piece(all...)
}

// end draws the cap at an end. The normal points to the left of the line into the end.
func (s *stroker) end(p, normal point) {
	switch s.cap {
	case "round":
		s.fan(p, math.Atan2(normal.y, normal.x), math.Pi)
	case "square":
		out := point{-normal.y, normal.x}
		s.piece(p.add(normal), p.add(normal).add(out), p.sub(normal).add(out), p.sub(normal))
	}
}

// corner draws the join of two segments with these normals. A point within a curve gets a round
// one.
func (s *stroker) corner(p, before, after point, join bool) {
	turn := before.cross(after)
	cos := before.dot(after) / (s.r * s.r)
	angle := -math.Acos(clamp(cos, -1, 1))
	if turn > 0 { // the outer side is the other one
		before, after, angle = before.times(-1), after.times(-1), -angle
	}
	kind := s.join
	if !join {
		kind = "round"
	}
	switch {
	case kind == "round":
		s.fan(p, math.Atan2(before.y, before.x), angle)
		return
	case kind != "bevel" && cos > -0.9999 && 2 <= s.miter*s.miter*(1+cos):
		tip := p.add(before.add(after).times(1 / (1 + cos)))
		s.piece(p, p.add(before), tip, p.add(after))
		return
	}
	s.piece(p, p.add(before), p.add(after))
}
