// Package shape describes what an icon looks like by a small perceptual hash, so that a search can
// find icons of the same shape. Publishing makes the hash of each icon.
//
// Of paints the icon in black and white on a grid of 20 by 20 cells, cuts off the empty margin, and
// stores for 8 by 8 fields how much of each is covered. Paths, basic shapes, strokes, masks, use
// elements, opacity and presentation attributes count. Gradients count as grey. Style sheets, clip
// paths, filters, text and images do not count, because icons rarely need them to be recognised.
//
// The input is the output of package svg.
package shape

import (
	"math"
	"math/bits"
)

// A Hash describes a shape: two bits for each of 64 fields. The first is set if something covers
// the field, the second if it is covered more than the covered fields are on average.
// The zero Hash stands for no shape: nothing is painted.
type Hash [16]byte

// Bits is the largest distance of two hashes.
const Bits = 8 * len(Hash{})

// Distance returns the number of bits that differ.
func (h Hash) Distance(other Hash) (n int) {
	for i := range h {
		n += bits.OnesCount8(h[i] ^ other[i])
	}
	return n
}

const (
	fields = 8 // fields of a hash, in each direction
	// light is the covered share from which the first bit of a field is set.
	light = .12
	// dark is the part of the average share of covered fields from which the second bit is set. It
	// is less than 1, because fields that are covered alike would have different bits.
	dark = .8
	// visible is the ink from which a cell is a part of the icon.
	visible = .1
	// full is the ink from which a cell counts as covered. One in areaShare of the visible cells is
	// inside an area of a solid icon.
	full      = .9
	areaShare = 12
)

// Of returns the hash of a clean SVG.
func Of(svg []byte) Hash {
	h, _ := Describe(svg)
	return h
}

// Describe returns the hash of a clean SVG, and whether the icon is solid: it has areas, and not
// lines alone.
func Describe(svg []byte) (h Hash, solid bool) {
	p := painters.Get().(*painter)
	defer painters.Put(p)
	g := p.paint(svg, false)
	area, ok := g.bounds()
	if !ok { // white on nothing, for instance
		g = p.paint(svg, true)
		if area, ok = g.bounds(); !ok {
			return Hash{}, false
		}
	}
	shares := g.shares(area)
	sum, n := float32(0), float32(0)
	for _, share := range shares {
		if share >= light {
			sum, n = sum+share, n+1
		}
	}
	for i, share := range shares {
		if share >= light {
			h[i/4] |= 1 << (i % 4 * 2)
		}
		if share >= light && share >= dark*sum/n {
			h[i/4] |= 2 << (i % 4 * 2)
		}
	}
	return h, g.solid()
}

// solid reports whether a part of the visible cells is inside an area: it and the cells beside it
// are covered. A line, which is less than two cells wide, has no such cells.
func (g *grid) solid() bool {
	seen, inside := 0, 0
	for y := 1; y < cells-1; y++ {
		for x := 1; x < cells-1; x++ {
			at := y*cells + x
			if g[at] >= visible {
				seen++
			}
			if min(g[at], g[at-1], g[at+1], g[at-cells], g[at+cells]) >= full {
				inside++
			}
		}
	}
	return inside*areaShare >= seen
}

// A square is a part of a grid.
type square struct{ left, top, side float64 }

// bounds returns the smallest square, centred on the icon, that has all of its visible cells.
func (g *grid) bounds() (s square, ok bool) {
	var columns, rows [cells]float32 // the most ink of a cell in each
	for y := range cells {
		for x, ink := range g[y*cells:][:cells] {
			columns[x], rows[y] = max(columns[x], ink), max(rows[y], ink)
		}
	}
	left, right := extent(columns)
	top, bottom := extent(rows)
	if right <= left || bottom <= top {
		return s, false
	}
	s.side = max(right-left, bottom-top)
	s.left = (left + right - s.side) / 2
	s.top = (top + bottom - s.side) / 2
	return s, true
}

// extent returns where ink begins and ends. In the first and the last cell, it takes the ink for
// the share of the cell that is covered.
func extent(ink [cells]float32) (from, to float64) {
	first, last := 0, cells-1
	for first < cells && ink[first] < visible {
		first++
	}
	for last > first && ink[last] < visible {
		last--
	}
	if first == cells {
		return 0, 0
	}
	if first == last {
		return float64(first), float64(last + 1)
	}
	return float64(first+1) - float64(min(1, ink[first])), float64(last) + float64(min(1, ink[last]))
}

// shares returns the covered share of each field of a square.
func (g *grid) shares(s square) (shares [fields * fields]float32) {
	columns, rows := parts(s.left, s.side), parts(s.top, s.side)
	for row, high := range rows {
		for column, wide := range columns {
			sum := float32(0)
			for y, h := range high.weights {
				if y += high.first; y < 0 || y >= cells || h == 0 {
					continue
				}
				for x, w := range wide.weights {
					if x += wide.first; x >= 0 && x < cells {
						sum += h * w * g[y*cells+x]
					}
				}
			}
			shares[row*fields+column] = sum
		}
	}
	return shares
}

// A part is the cells of a field in one direction: the first one, and the share of the field that
// each cell covers.
type part struct {
	first   int
	weights [cells/fields + 2]float32
}

func parts(from, side float64) (list [fields]part) {
	size := side / fields
	for i := range list {
		low := from + float64(i)*size
		p := part{first: int(math.Floor(low))}
		for k := range p.weights {
			cell := float64(p.first + k)
			p.weights[k] = float32(max(0, min(cell+1, low+size)-max(cell, low)) / size)
		}
		list[i] = p
	}
	return list
}
