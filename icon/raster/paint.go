package raster

import (
	"image/color"
	"math"
	"strings"
)

// A paint gives the colour of each pixel of a shape.
type paint struct {
	solid    [4]uint8 // premultiplied
	gradient *gradient
}

// A gradient maps the pixels to a table of colours.
type gradient struct {
	radial         bool
	inverse        matrix // from pixels to the gradient's own units
	from, to       point  // of a linear one; of a radial one, the focus and the centre
	fr, r          float64
	spread         string
	table          [256][4]uint8
	dx, dy, length float64
}

// at returns the colour of the pixel whose middle is p. It is premultiplied.
func (g *gradient) at(p point) [4]uint8 {
	p = g.inverse.apply(p)
	var t float64
	if g.radial {
		var ok bool
		if t, ok = g.distance(p); !ok {
			return [4]uint8{}
		}
	} else {
		t = ((p.x-g.from.x)*g.dx + (p.y-g.from.y)*g.dy) / g.length
	}
	switch {
	case g.spread == "repeat":
		t -= math.Floor(t)
	case g.spread == "reflect":
		t = math.Abs(t - 2*math.Floor(t/2+0.5))
	}
	if !(t > 0) { // also if it is not a number
		return g.table[0]
	}
	return g.table[int(min(t, 1)*255+0.5)]
}

// distance returns the largest t for which p lies on the circle between the focal one, t = 0, and
// the outer one, t = 1.
func (g *gradient) distance(p point) (t float64, ok bool) {
	d, v, dr := g.to.sub(g.from), p.sub(g.from), g.r-g.fr
	a := d.dot(d) - dr*dr
	b := v.dot(d) + g.fr*dr
	c := v.dot(v) - g.fr*g.fr
	if math.Abs(a) < 1e-12 {
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

// paintOf returns the paint that a fill or stroke property names. A nil paint is none. area is the
// bounding box of the shape, and m leads from user units to pixels.
func (d *drawer) paintOf(value string, s *style, opacity float64, area box, m matrix) (*paint, error) {
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, "url(") {
		end := strings.IndexByte(value, ')')
		fallback := strings.TrimSpace(value[end+1:])
		if n := d.doc.ids[reference(value[:end+1])]; n != nil && (n.name == "linearGradient" || n.name == "radialGradient") {
			return d.gradientOf(n, s, opacity, area, m)
		} else if n != nil && n.name == "pattern" {
			return nil, unsupported("pattern")
		}
		value = fallback
	}
	c, ok := parseColor(value, s.color)
	if !ok || c.A == 0 || opacity == 0 {
		return nil, nil
	}
	return &paint{solid: premultiplied(c, opacity)}, nil
}

// gradientOf makes the paint of a gradient element.
func (d *drawer) gradientOf(n *node, s *style, opacity float64, area box, m matrix) (*paint, error) {
	attr := func(name string) string { return d.inherited(n, name) }
	toUser, w, h := identity, 1.0, 1.0
	if attr("gradientUnits") == "userSpaceOnUse" {
		if view, ok := d.doc.root.viewBox(); ok {
			w, h = view.w, view.h
		}
	} else {
		if area.w <= 0 || area.h <= 0 {
			return nil, nil // no box, no paint (SVG 2, section 13.6)
		}
		toUser = area.matrix()
	}
	if t, ok := parseTransform(attr("gradientTransform")); ok {
		toUser = toUser.of(t)
	}
	g := &gradient{radial: n.name == "radialGradient", spread: attr("spreadMethod")}
	stops := d.stops(n, s, opacity)
	if err := d.pay((1 + len(stops)) * (100 + 50*len(d.doc.rules))); err != nil {
		return nil, err
	}
	if len(stops) == 0 {
		return nil, nil
	}
	last := &paint{solid: premultiplied(stops[len(stops)-1].color, 1)}
	var ok bool
	if g.inverse, ok = m.of(toUser).inverse(); !ok {
		return last, nil
	}
	if g.radial {
		g.to = point{length(attr("cx"), w, w/2), length(attr("cy"), h, h/2)}
		side := math.Sqrt((w*w + h*h) / 2)
		g.r, g.fr = length(attr("r"), side, side/2), length(attr("fr"), side, 0)
		g.from = point{length(attr("fx"), w, g.to.x), length(attr("fy"), h, g.to.y)}
		if g.r <= 0 {
			return last, nil
		}
	} else {
		g.from = point{length(attr("x1"), w, 0), length(attr("y1"), h, 0)}
		g.to = point{length(attr("x2"), w, w), length(attr("y2"), h, 0)}
		g.dx, g.dy = g.to.x-g.from.x, g.to.y-g.from.y
		if g.length = g.dx*g.dx + g.dy*g.dy; g.length == 0 {
			return last, nil
		}
	}
	g.fill(stops)
	return &paint{gradient: g}, nil
}

// inherited returns an attribute of a gradient, or of the gradients that its href names.
func (d *drawer) inherited(n *node, name string) string {
	for range 8 {
		if v := n.attr(name); v != "" {
			return v
		}
		next := d.doc.ids[strings.TrimPrefix(n.attr("href"), "#")]
		if next == nil || next.name != "linearGradient" && next.name != "radialGradient" {
			break
		}
		n = next
	}
	return ""
}

// A stop is a colour of a gradient at an offset.
type stop struct {
	offset float64
	color  color.NRGBA
}

// stops returns the stops of a gradient, or of the first gradient by href that has any.
func (d *drawer) stops(n *node, s *style, opacity float64) (list []stop) {
	for range 8 {
		for _, c := range n.children {
			if c.name != "stop" || len(list) > 1000 {
				continue
			}
			own := d.styled(c, s, 0)
			col, ok := parseColor(own.stopColor, own.color)
			if !ok {
				col = color.NRGBA{A: 255}
			}
			col.A = uint8(float64(col.A)*own.stopOpacity*opacity + 0.5)
			at := clamp(fraction(c.attr("offset"), 0), 0, 1)
			if k := len(list); k > 0 {
				at = max(at, list[k-1].offset)
			}
			list = append(list, stop{at, col})
		}
		next := d.doc.ids[strings.TrimPrefix(n.attr("href"), "#")]
		if len(list) > 0 || next == nil {
			return list
		}
		n = next
	}
	return list
}

// fill computes the table from the stops.
func (g *gradient) fill(stops []stop) {
	k := 0
	for i := range g.table {
		t := float64(i) / 255
		for k < len(stops) && stops[k].offset <= t {
			k++
		}
		switch k {
		case 0:
			g.table[i] = premultiplied(stops[0].color, 1)
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
