package raster

import (
	"image"
	"math"
)

// A coverage says how much of each pixel of an area a shape covers, from 0 to 255.
type coverage struct {
	image.Rectangle
	alpha []uint8
}

func (c *coverage) row(y int) []uint8 {
	w := c.Dx()
	return c.alpha[(y-c.Min.Y)*w : (y-c.Min.Y+1)*w]
}

// cover returns the coverage of the polygons, in pixels. Every polyline counts as closed. It adds
// up the signed area to the right of each line, pixel by pixel, and then sums each row, as
// golang.org/x/image/vector does; that package knows no even-odd rule.
func (d *drawer) cover(lines []polyline, evenOdd bool) (coverage, error) {
	b := bounds(lines)
	area := image.Rect(0, 0, d.width, d.height).Intersect(image.Rect(
		int(math.Floor(clamp(b.x, -1, MaxSide+1))), int(math.Floor(clamp(b.y, -1, MaxSide+1))),
		int(math.Ceil(clamp(b.x+b.w, -1, MaxSide+1))), int(math.Ceil(clamp(b.y+b.h, -1, MaxSide+1)))))
	c := coverage{Rectangle: area}
	if area.Empty() {
		return c, nil
	}
	w, h := area.Dx(), area.Dy()
	if err := d.pay(2 * w * h); err != nil {
		return c, err
	}
	a := accumulator{stride: w + 2, w: float64(w), h: float64(h)}
	if size := a.stride * h; cap(d.acc) >= size {
		a.cells = d.acc[:size]
		clear(a.cells)
	} else {
		a.cells = make([]float32, size)
		d.acc = a.cells
	}
	origin := point{float64(area.Min.X), float64(area.Min.Y)}
	for _, l := range lines {
		if len(l.points) < 2 {
			continue
		}
		before := l.points[len(l.points)-1].sub(origin)
		for _, p := range l.points {
			p = p.sub(origin)
			a.line(before, p)
			before = p
			if a.work > d.budget {
				return c, ErrTooComplex
			}
		}
	}
	if err := d.pay(a.work); err != nil {
		return c, err
	}
	c.alpha = make([]uint8, w*h)
	for y := range h {
		sum, out := float32(0), c.alpha[y*w:(y+1)*w]
		for x, cell := range a.cells[y*a.stride : y*a.stride+w] {
			sum += cell
			v := sum
			if v < 0 {
				v = -v
			}
			if evenOdd {
				v -= 2 * float32(math.Floor(float64(v)/2))
				if v > 1 {
					v = 2 - v
				}
			} else if v > 1 {
				v = 1
			}
			out[x] = uint8(v*255 + 0.5)
		}
	}
	return c, nil
}

// An accumulator collects, for each pixel, the change of the covered area from the pixel on its
// left.
type accumulator struct {
	cells  []float32
	stride int
	w, h   float64
	work   int
}

// line adds the line from p to q. A part on the left of the area counts as on its left edge, and a
// part on the right counts nothing.
func (a *accumulator) line(p, q point) {
	if p.y == q.y {
		return
	}
	sign := float32(1)
	if p.y > q.y {
		p, q, sign = q, p, -1
	}
	if q.y <= 0 || p.y >= a.h {
		return
	}
	slope := (q.x - p.x) / (q.y - p.y)
	if p.y < 0 {
		p = point{p.x - p.y*slope, 0}
	}
	if q.y > a.h {
		q = point{q.x - (q.y-a.h)*slope, a.h}
	}
	x, last := p.x, int(math.Ceil(q.y))
	a.work += last - int(p.y)
	for row := int(p.y); row < last; row++ {
		top, bottom := max(p.y, float64(row)), min(q.y, float64(row+1))
		next := x + (bottom-top)*slope
		a.span(row, min(x, next), max(x, next), float32(bottom-top)*sign)
		x = next
	}
}

// span adds a part of a line within one row, of which dy is the height.
func (a *accumulator) span(row int, x0, x1 float64, dy float32) {
	cells := a.cells[row*a.stride : (row+1)*a.stride]
	if x1 <= 0 {
		cells[0] += dy
		return
	}
	if x0 >= a.w {
		return
	}
	if x0 < 0 || x1 > a.w { // cut at the edges
		full := x1 - x0
		if x0 < 0 {
			part := float32(-x0 / full)
			cells[0] += dy * part
		}
		inside0, inside1 := max(x0, 0), min(x1, a.w)
		dy *= float32((inside1 - inside0) / full)
		x0, x1 = inside0, inside1
	}
	first, last := int(x0), int(math.Ceil(x1))
	if last <= first+1 { // within one pixel
		part := dy * float32(1-((x0+x1)/2-float64(first)))
		cells[first] += part
		cells[first+1] += dy - part
		return
	}
	a.work += last - first
	perX := dy / float32(x1-x0) // height for each pixel of width
	done := float32(0)          // of the covered area so far, as a sum of the cells
	for col := first; col < last; col++ {
		left, right := max(x0, float64(col)), min(x1, float64(col+1))
		// The part of the line on the left of this pixel covers the pixel fully. Of the part within,
		// the area on the right of the line counts.
		before := perX * float32(left-x0)
		here := perX * float32(right-left)
		covered := before + here*float32(float64(col+1)-(left+right)/2)
		cells[col] += covered - done
		done = covered
	}
	cells[last] += dy - done
}
