package shape

import (
	"cmp"
	"math"
	"slices"
)

const (
	cells = 20 // of a grid, in each direction
	rows  = 40 // lines on which the coverage of cells is sampled
)

// A grid has the ink of each cell, 0 to 1.
type grid [cells * cells]float32

// A crossing is where an edge crosses a line of samples.
type crossing struct {
	x  float32
	up int8 // 1 or -1: the direction of the edge
}

// A filler finds the cells inside of lines.
type filler struct {
	rows  [rows][]crossing
	cover grid
}

// edge adds the crossings of an edge.
func (f *filler) edge(a, b point) {
	up := int8(1)
	if a.y > b.y {
		a, b, up = b, a, -1
	}
	const perCell = rows / cells
	// A line is in the middle of its part of a cell. Comparisons that NaN makes false skip it.
	from, to := math.Ceil(a.y*perCell-.5), math.Ceil(b.y*perCell-.5)
	if !(from < rows && to > 0 && from < to) {
		return
	}
	slope := (b.x - a.x) / (b.y - a.y)
	for row := max(0, int(max(from, -1))); row < int(min(to, rows)); row++ {
		x := a.x + ((float64(row)+.5)/perCell-a.y)*slope
		f.rows[row] = append(f.rows[row], crossing{float32(min(max(x, 0), cells)), up})
	}
}

// stroke adds the edges of a line's outline: a rectangle for each side, longer than it by nearly
// half the width at both ends, so that the rectangles of a corner meet. All of them turn the same
// way, so that none cancels another out.
func (f *filler) stroke(l line, width float64) {
	n := len(l.points)
	if !l.closed {
		n--
	}
	for i := range n {
		a, b := l.points[i], l.points[(i+1)%len(l.points)]
		dx, dy := b.x-a.x, b.y-a.y
		length := math.Hypot(dx, dy)
		if !(length > 0) {
			continue
		}
		k := width / 2 / length
		dx, dy = dx*k, dy*k
		const longer = .5 // between a butt cap and a square one
		a, b = point{a.x - dx*longer, a.y - dy*longer}, point{b.x + dx*longer, b.y + dy*longer}
		corners := [4]point{{a.x - dy, a.y + dx}, {b.x - dy, b.y + dx}, {b.x + dy, b.y - dx}, {a.x + dy, a.y - dx}}
		for i, c := range corners {
			f.edge(c, corners[(i+1)%4])
		}
	}
}

// fill returns the covered share of each cell, and forgets the edges. If evenOdd is not set, a
// point is inside if the edges around it do not cancel out.
func (f *filler) fill(evenOdd bool) *grid {
	clear(f.cover[:])
	for row := range f.rows {
		crossings := f.rows[row]
		if len(crossings) < 2 {
			f.rows[row] = crossings[:0]
			continue
		}
		sortCrossings(crossings)
		winding, cover := 0, f.cover[row*cells/rows*cells:][:cells]
		for i, c := range crossings[:len(crossings)-1] {
			if winding += int(c.up); winding != 0 && (!evenOdd || i%2 == 0) {
				span(cover, c.x, crossings[i+1].x)
			}
		}
		f.rows[row] = crossings[:0]
	}
	return &f.cover
}

// fewCrossings is the number up to which sorting by insertion is faster.
const fewCrossings = 16

func sortCrossings(list []crossing) {
	if len(list) > fewCrossings {
		slices.SortFunc(list, func(a, b crossing) int { return cmp.Compare(a.x, b.x) })
		return
	}
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && list[j].x < list[j-1].x; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
}

// span covers a row of cells from one place to another, on one line of samples.
func span(row []float32, from, to float32) {
	const share = float32(cells) / rows
	first, last := int(from), int(to)
	if first == last {
		if first < cells {
			row[first] += (to - from) * share
		}
		return
	}
	row[first] += (float32(first+1) - from) * share
	for i := first + 1; i < last; i++ {
		row[i] += share
	}
	if last < cells {
		row[last] += (to - float32(last)) * share
	}
}

// blend paints ink over a grid, where the cover is.
func (g *grid) blend(cover *grid, ink, opacity float32) {
	for i, c := range cover {
		if c > 0 {
			c *= opacity
			g[i] += (ink - g[i]) * min(c, 1)
		}
	}
}
