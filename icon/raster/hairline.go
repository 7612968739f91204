package raster

import "math"

// hairlines returns polygons for a stroke that is at most a pixel wide, along lines in pixels. As
// in Chromium, such a stroke is a pixel high, or a pixel wide where it is steep, and fainter in
// place of thinner.
func (p pen) hairlines(lines []polyline) (pieces []polyline) {
	for _, l := range lines {
		points := l.distinct().points
		if l.closed && len(points) > 1 {
			points = append(points, points[0])
		} else {
			points = p.lengthened(points)
		}
		for i := 1; i < len(points); i++ {
			a, b := points[i-1], points[i]
			side := point{0, 0.5}
			if v := b.sub(a); math.Abs(v.y) > math.Abs(v.x) {
				side = point{0.5, 0}
			}
			s := stroker{}
			s.piece(a.add(side), b.add(side), b.sub(side), a.sub(side))
			pieces = append(pieces, s.pieces...)
		}
	}
	return pieces
}

// lengthened returns the points of an open hairline with its caps.
func (p pen) lengthened(points []point) []point {
	out, known := map[string]float64{"square": 0.5, "round": math.Pi / 8}[p.cap]
	if !known || len(points) == 0 {
		return points
	}
	if len(points) == 1 {
		return []point{points[0].sub(point{out, 0}), points[0].add(point{out, 0})}
	}
	points = append([]point{}, points...)
	last := len(points) - 1
	first, end := points[0].sub(points[1]), points[last].sub(points[last-1])
	points[0] = points[0].add(first.times(out / first.length()))
	points[last] = points[last].add(end.times(out / end.length()))
	return points
}
