package raster

import (
	"bytes"
	"cmp"
	"image"
	"math"
	"slices"
)

// A coverage says how much of each pixel of an area a shape covers, from 0 to 255.
type coverage struct {
	image.Rectangle
	alpha []uint8
}

func newCoverage(area image.Rectangle) *coverage {
	return &coverage{area, make([]uint8, area.Dx()*area.Dy())}
}

func (c *coverage) row(y int) []uint8 {
	w := c.Dx()
	return c.alpha[(y-c.Min.Y)*w : (y-c.Min.Y+1)*w]
}

// full reports whether the shape covers the whole area.
func (c *coverage) full() bool { return bytes.Count(c.alpha, []byte{255}) == len(c.alpha) }

// cover returns the coverage of the polygons within an area.
func (d *drawer) cover(lines []polyline, evenOdd bool, within image.Rectangle) (*coverage, error) {
	area := areaOf(lines, within)
	if err := d.pay(area.Dx() * area.Dy()); err != nil {
		return nil, err
	}
	c := newCoverage(area)
	return c, d.scan(lines, evenOdd, area, func(x, y int, alpha []uint8) { copy(c.row(y)[x-area.Min.X:], alpha) })
}

// areaOf returns the pixels that the polygons touch.
func areaOf(lines []polyline, within image.Rectangle) image.Rectangle {
	b := bounds(lines)
	return within.Intersect(image.Rect(
		int(math.Floor(clamp(b.x, -1, MaxSide+1))), int(math.Floor(clamp(b.y, -1, MaxSide+1))),
		int(math.Ceil(clamp(b.x+b.w, -1, MaxSide+1))), int(math.Ceil(clamp(b.y+b.h, -1, MaxSide+1)))))
}

// An edge is a line of a polygon, of which x is the place at its top.
type edge struct {
	top, bottom float64
	x, slope    float64
	at          float64 // on the current sample
	winding     int
}

// scan passes the coverage of the polygons within an area, which areaOf has found, row by row, from
// the first pixel of the row that they touch to the last. Every polyline counts as closed. It takes
// samples of each row, a line each, on which it knows exactly where the inside begins and ends. (To
// add up the areas beside the edges is faster, but counts twice where the pieces of a stroke
// overlap.)
func (d *drawer) scan(lines []polyline, evenOdd bool, area image.Rectangle, each func(x, y int, alpha []uint8)) error {
	if area.Empty() {
		return nil
	}
	edges := d.sortedEdges(lines, area)
	if err := d.pay(20 * len(edges)); err != nil {
		return err
	}
	samples := min(16, max(6, 4096/area.Dy()))
	r := row{cells: make([]float32, area.Dx()+2), share: 1 / float32(samples), evenOdd: evenOdd}
	alpha := make([]uint8, area.Dx())
	for y := range area.Dy() {
		r.low, r.high = area.Dx(), -1
		for k := range samples {
			edges = r.sample(float64(y)+(float64(k)+0.5)/float64(samples), edges)
			if err := d.pay(8 * len(r.active)); err != nil {
				return err
			}
		}
		from, to := r.low, min(r.high+1, area.Dx())
		if from >= to {
			clear(r.cells[min(from, area.Dx()):])
			continue
		}
		if err := d.pay(2 * (to - from)); err != nil {
			return err
		}
		sum(alpha[:to-from], r.cells[from:])
		clear(r.cells[from : r.high+1])
		each(area.Min.X+from, area.Min.Y+y, alpha[:to-from])
	}
	return nil
}

// sortedEdges returns the edges of the polygons that a sample can meet, the uppermost first.
func (d *drawer) sortedEdges(lines []polyline, area image.Rectangle) []edge {
	edges := d.edges[:0]
	origin, height := point{float64(area.Min.X), float64(area.Min.Y)}, float64(area.Dy())
	for _, l := range lines {
		if len(l.points) < 2 {
			continue
		}
		before := l.points[len(l.points)-1].sub(origin)
		for _, p := range l.points {
			p = p.sub(origin)
			a, b, winding := before, p, 1
			if before = p; a.y > b.y {
				a, b, winding = b, a, -1
			}
			if a.y < b.y && b.y > 0 && a.y < height {
				edges = append(edges, edge{top: a.y, bottom: b.y, x: a.x, slope: (b.x - a.x) / (b.y - a.y), winding: winding})
			}
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.top, b.top) })
	d.edges = edges
	return edges
}

// A row adds up the samples of a row of pixels.
type row struct {
	cells     []float32 // the change of coverage from the pixel on the left
	low, high int       // the cells that are not zero
	active    []edge    // which the last sample met, from left to right
	share     float32   // of a sample in the coverage
	evenOdd   bool
}

// sample adds the line at y. It returns the edges that are further down.
func (r *row) sample(y float64, edges []edge) []edge {
	kept := r.active[:0]
	for _, e := range r.active {
		if e.bottom > y {
			kept = append(kept, e)
		}
	}
	for len(edges) > 0 && edges[0].top <= y {
		if edges[0].bottom > y {
			kept = append(kept, edges[0])
		}
		edges = edges[1:]
	}
	r.active = kept
	for i := range kept {
		kept[i].at = kept[i].x + (y-kept[i].top)*kept[i].slope
	}
	arrange(kept)
	winding := 0
	for i := range kept {
		outside := winding == 0
		if r.evenOdd {
			winding ^= 1
		} else {
			winding += kept[i].winding
		}
		if outside {
			r.change(kept[i].at, r.share)
		} else if winding == 0 {
			r.change(kept[i].at, -r.share)
		}
	}
	return edges
}

// arrange sorts edges from left to right. They mostly are in that order already.
func arrange(edges []edge) {
	moves := 0
	for i := 1; i < len(edges); i++ {
		e := edges[i]
		k := i
		for ; k > 0 && edges[k-1].at > e.at; k-- {
			edges[k] = edges[k-1]
			moves++
		}
		edges[k] = e
		if moves > 20*len(edges) {
			slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
			return
		}
	}
}

// change changes the coverage by a share on the right of x.
func (r *row) change(x float64, share float32) {
	x = clamp(x, 0, float64(len(r.cells)-2))
	i := int(x)
	part := share * float32(x-float64(i))
	r.cells[i] += share - part
	r.cells[i+1] += part
	r.low, r.high = min(r.low, i), max(r.high, i+1)
}

// sum adds up the cells of a row.
func sum(alpha []uint8, cells []float32) {
	covered := float32(0.5 / 255)
	for x := range alpha {
		covered += cells[x]
		alpha[x] = uint8(min(max(covered, 0), 1) * 255)
	}
}
