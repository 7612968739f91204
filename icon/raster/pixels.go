package raster

import "math"

// pixels are an image, premultiplied, that is drawn larger, smaller or turned.
type pixels struct {
	pix     []uint8
	w, h    int
	nearest bool // image-rendering: pixelated
}

// A beyond maps an index outside of a row of n pixels to one within, because sample looks past the
// edges.
type beyond func(i, n int) int

func wrapped(i, n int) int {
	if i %= n; i < 0 {
		i += n
	}
	return i
}

func clamped(i, n int) int { return min(max(i, 0), n-1) }

// sample returns the colour at a place, between the four pixels around it.
func (s *pixels) sample(p point, edge beyond) [4]uint8 {
	if !p.sane() {
		return [4]uint8{}
	}
	if s.nearest {
		return s.pixel(edge(int(math.Floor(p.x)), s.w), edge(int(math.Floor(p.y)), s.h))
	}
	x, y := math.Floor(p.x-0.5), math.Floor(p.y-0.5)
	fx, fy := uint32((p.x-0.5-x)*256), uint32((p.y-0.5-y)*256)
	x0, x1 := edge(int(x), s.w), edge(int(x)+1, s.w)
	y0, y1 := edge(int(y), s.h), edge(int(y)+1, s.h)
	a, b, c, e := s.pixel(x0, y0), s.pixel(x1, y0), s.pixel(x0, y1), s.pixel(x1, y1)
	var out [4]uint8
	for k := range out {
		top := uint32(a[k])*(256-fx) + uint32(b[k])*fx
		bottom := uint32(c[k])*(256-fx) + uint32(e[k])*fx
		out[k] = uint8((top*(256-fy) + bottom*fy + 1<<15) >> 16)
	}
	return out
}

func (s *pixels) pixel(x, y int) [4]uint8 {
	i := 4 * (y*s.w + x)
	return [4]uint8(s.pix[i : i+4])
}

// half returns the pixels at half the size, each as the mean of up to four.
func (s *pixels) half() pixels {
	w, h := (s.w+1)/2, (s.h+1)/2
	out := pixels{make([]uint8, 4*w*h), w, h, s.nearest}
	for y := range h {
		for x := range w {
			x1, y1 := min(2*x+1, s.w-1), min(2*y+1, s.h-1)
			a, b, c, e := s.pixel(2*x, 2*y), s.pixel(x1, 2*y), s.pixel(2*x, y1), s.pixel(x1, y1)
			for k := range 4 {
				out.pix[4*(y*w+x)+k] = uint8((uint32(a[k]) + uint32(b[k]) + uint32(c[k]) + uint32(e[k]) + 2) / 4)
			}
		}
	}
	return out
}

// faded returns a premultiplied colour with an opacity in 255ths.
func faded(c [4]uint8, opacity uint32) [4]uint8 {
	if opacity == 255 {
		return c
	}
	for k := range c {
		c[k] = uint8((uint32(c[k])*opacity + 127) / 255)
	}
	return c
}
