package raster

import (
	"image/color"
	"math"

	"github.com/iconedge/iconedge/icon/geometry"
)

// A gradient maps the pixels to a table of colours.
type gradient struct {
	radial         bool
	inverse        matrix // from pixels to the gradient's own units
	from, to       point  // of a linear one; of a radial one, the focus and the centre
	fr, r          float64
	spread         byte     // r for repeat, m for reflect, or 0
	before         [4]uint8 // the colour before the first stop
	table          [1024][4]uint8
	dx, dy, length float64
}

// row writes the colours of a row of pixels.
func (g *gradient) row(out [][4]uint8, p point) {
	p = apply(g.inverse, p)
	step := point{g.inverse[0], g.inverse[1]}
	if !g.radial {
		t := ((p.x-g.from.x)*g.dx + (p.y-g.from.y)*g.dy) / g.length
		each := (step.x*g.dx + step.y*g.dy) / g.length
		for i := range out {
			out[i] = g.colour(t + float64(i)*each)
		}
		return
	}
	for i := range out {
		if g.from == g.to && g.fr == 0 {
			out[i] = g.colour(math.Sqrt((p.x-g.to.x)*(p.x-g.to.x)+(p.y-g.to.y)*(p.y-g.to.y)) / g.r)
		} else if t, ok := g.distance(p); ok {
			out[i] = g.colour(t)
		} else {
			out[i] = [4]uint8{}
		}
		p = p.add(step)
	}
}

func (g *gradient) cost() int {
	switch {
	case !g.radial:
		return 4
	case g.from == g.to && g.fr == 0:
		return 8
	}
	return 20
}

// colour returns the premultiplied colour at an offset.
func (g *gradient) colour(t float64) [4]uint8 {
	switch g.spread {
	case 'r':
		t -= math.Floor(t)
	case 'm':
		t = math.Abs(t - 2*math.Floor(t/2+0.5))
	}
	if !(t >= 0) { // also if it is not a number
		return g.before
	}
	return g.table[int(min(t, 1)*float64(len(g.table)-1)+0.5)]
}

// distance returns the largest t for which p lies on the circle between the focal one, t = 0, and
// the outer one, t = 1.
func (g *gradient) distance(p point) (t float64, ok bool) {
	d, v, dr := g.to.sub(g.from), p.sub(g.from), g.r-g.fr
	a := d.dot(d) - dr*dr
	b := v.dot(d) + g.fr*dr
	c := v.dot(v) - g.fr*g.fr
	switch {
	case d == point{} && dr == 0: // one circle, within which t is 0
		return math.Floor(v.length() / g.r), true
	case math.Abs(a) < 1e-12:
		t = c / (2 * b)
		return t, b != 0 && g.fr+t*dr >= 0
	}
	root := b*b - a*c
	if root < 0 {
		return 0, false
	}
	root = math.Sqrt(root)
	high, low := (b+root)/a, (b-root)/a
	if high < low {
		high, low = low, high
	}
	if g.fr+high*dr >= 0 {
		return high, true
	}
	return low, g.fr+low*dr >= 0
}

// gradientOf makes the paint of a gradient element with the style own.
func (d *drawer) gradientOf(n *node, own *style, opacity float64, area box, p place) (*paint, error) {
	attr := func(name string) string { return d.inherited(n, name) }
	toUser, base := geometry.Identity, size{1, 1}
	if attr("gradientUnits") == "userSpaceOnUse" {
		base = p.view
	} else {
		if area.w < flat || area.h < flat {
			return nil, nil // no box, no paint (SVG 2, section 13.6)
		}
		toUser = area.matrix()
	}
	t, err := own.serverTransform(attr("gradientTransform"), base)
	if err != nil {
		return nil, err
	}
	stops, err := d.stops(n, opacity, p)
	if err != nil || len(stops) == 0 {
		return &paint{}, err // transparent, without the fallback
	}
	last := &paint{solid: premultiplied(stops[len(stops)-1].color, 1)}
	g := &gradient{radial: n.name == "radialGradient", spread: map[string]byte{"repeat": 'r', "reflect": 'm'}[attr("spreadMethod")]}
	var ok bool
	if g.inverse, ok = inverse(p.m.Of(toUser).Of(t)); !ok {
		return nil, nil
	}
	length := func(name string, base, def float64) float64 { return own.length(attr(name), base, def) }
	if g.radial {
		g.to = point{length("cx", base.w, base.w/2), length("cy", base.h, base.h/2)}
		g.r, g.fr = length("r", base.side(), base.side()/2), length("fr", base.side(), 0)
		g.from = point{length("fx", base.w, g.to.x), length("fy", base.h, g.to.y)}
		if g.r <= 0 {
			return last, nil
		}
	} else {
		g.from = point{length("x1", base.w, 0), length("y1", base.h, 0)}
		g.to = point{length("x2", base.w, base.w), length("y2", base.h, 0)}
		g.dx, g.dy = g.to.x-g.from.x, g.to.y-g.from.y
		if g.length = g.dx*g.dx + g.dy*g.dy; g.length == 0 {
			return last, nil
		}
	}
	g.fill(stops)
	return &paint{shader: g}, d.pay(20 * len(g.table))
}

// serverTransform reads the transform of a paint server, around its transform-origin.
func (s *style) serverTransform(transform string, base size) (matrix, error) {
	t, ok := geometry.Transform(transform)
	if !ok || s.origin == "" {
		return t, nil // browsers ignore a malformed attribute
	}
	return s.around(t, box{0, 0, base.w, base.h})
}

// flat is a length that a curve without extent may have because of rounding.
const flat = 1e-9

// A stop is a colour of a gradient at an offset.
type stop struct {
	offset float64
	color  color.NRGBA
}

// stops returns the stops of a gradient, or of the first gradient by href that has any.
func (d *drawer) stops(n *node, opacity float64, p place) (list []stop, err error) {
	for source := range d.sources(n) {
		p.style, _ = d.ancestry(source, p)
		for _, c := range source.children {
			if c.name != "stop" {
				continue
			}
			if err := d.pay(1500); err != nil {
				return nil, err
			}
			own := d.styled(c, p)
			col := own.stopColor.color
			if own.stopColor.word == "currentColor" {
				col = own.color
			}
			col.A = uint8(float64(col.A)*own.stopOpacity*opacity + 0.5)
			at := clamp(fraction(c.attr("offset"), 0), 0, 1)
			if k := len(list); k > 0 {
				at = max(at, list[k-1].offset)
			}
			list = append(list, stop{at, col})
		}
		if len(list) > 0 {
			break
		}
	}
	return list, nil
}

// fill computes the table from the stops.
func (g *gradient) fill(stops []stop) {
	g.before = premultiplied(stops[0].color, 1)
	k := 0
	for i := range g.table {
		t := float64(i) / float64(len(g.table)-1)
		for k < len(stops) && stops[k].offset <= t {
			k++
		}
		switch k {
		case 0:
			g.table[i] = g.before
		case len(stops):
			g.table[i] = premultiplied(stops[k-1].color, 1)
		default:
			a, b := stops[k-1], stops[k]
			f := (t - a.offset) / (b.offset - a.offset)
			between := func(x, y uint8) uint8 { return uint8(float64(x) + (float64(y)-float64(x))*f + 0.5) }
			g.table[i] = premultiplied(color.NRGBA{between(a.color.R, b.color.R), between(a.color.G, b.color.G),
				between(a.color.B, b.color.B), between(a.color.A, b.color.A)}, 1)
		}
	}
}
