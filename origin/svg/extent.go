package svg

import (
	"math"

	"github.com/iconedge/iconedge/icon/geometry"
)

// A corner is a point.
type corner struct{ x, y float64 }

// extent returns the right and lower end of everything that a root draws, with its strokes. A file
// without a size shows that much, as in usvg.
func (p *parser) extent(root int32) corner {
	e := extents{p: p}
	e.children(root, geometry.Identity, strokes{width: 1}.of(&p.nodes[root]), 0)
	return corner{math.Ceil(e.end.x*100) / 100, math.Ceil(e.end.y*100) / 100}
}

type extents struct {
	p     *parser
	end   corner
	steps int
}

// strokes holds the inherited properties of strokes.
type strokes struct {
	painted bool
	width   float64
}

// of returns the strokes of an element whose parent has s.
func (s strokes) of(n *node) strokes {
	if v := n.declared("stroke"); v != "" {
		s.painted = v != "none"
	}
	if f := number(n.declared("stroke-width")); f >= 0 {
		s.width = f
	}
	return s
}

func (e *extents) children(i int32, m geometry.Matrix, s strokes, depth int) {
	for c := e.p.nodes[i].first; c != none; c = e.p.nodes[c].next {
		e.node(c, m, s, depth+1)
	}
}

func (e *extents) node(i int32, m geometry.Matrix, s strokes, depth int) {
	n := &e.p.nodes[i]
	if e.steps++; n.elem == nil || depth > 2*maxDepth || e.steps > maxDrawn {
		return
	}
	if t := n.text1("transform"); t != "" {
		if own, ok := geometry.Transform(t); ok {
			m = m.Of(own)
		}
	}
	s = s.of(n)
	switch n.elem.role {
	case roleGroup:
		e.children(i, m, s, depth)
	case roleUse:
		m = m.Of(geometry.Translate(max(0, number(n.text1("x"))), max(0, number(n.text1("y")))))
		if t := e.p.target(n); t != none && e.p.nodes[t].elem.role == roleSymbol {
			e.children(t, m, s, depth)
		} else if t != none {
			e.node(t, m, s, depth+1)
		}
	case roleShape, roleLine, roleImage:
		e.shape(n, m, s)
	}
}

// declared returns the value of a property, of the style attribute or of the attribute.
func (n *node) declared(name string) string {
	if a := n.attr(attrStyle); a != nil {
		for k := len(a.decls) - 1; k >= 0; k-- {
			if a.decls[k].name == name {
				return string(a.decls[k].value)
			}
		}
	}
	return n.text1(name)
}

// number reads a length in pixels, and returns -1 for anything else.
func number(s string) float64 {
	if f := readSide(s); f.pixels > 0 {
		return f.pixels
	}
	if s == "0" {
		return 0
	}
	return -1
}

func (e *extents) shape(n *node, m geometry.Matrix, s strokes) {
	half := 0.0
	if s.painted {
		half = s.width / 2
	}
	add := func(x, y float64) {
		for _, d := range [...]corner{{-half, -half}, {half, -half}, {-half, half}, {half, half}} {
			px, py := m.Apply(x+d.x, y+d.y)
			e.end = corner{math.Max(e.end.x, px), math.Max(e.end.y, py)}
		}
	}
	get := func(name string) float64 {
		var in = geometry.Numbers{Rest: n.text1(name)}
		f, _ := in.Next()
		return f
	}
	switch n.elem.name {
	case "rect", "image":
		for _, c := range [...]corner{{0, 0}, {1, 0}, {0, 1}, {1, 1}} {
			add(get("x")+c.x*get("width"), get("y")+c.y*get("height"))
		}
	case "circle", "ellipse":
		rx, ry := get("rx"), get("ry")
		if n.elem.name == "circle" {
			rx, ry = get("r"), get("r")
		}
		round(get("cx"), get("cy"), rx, ry, add)
	case "line":
		add(get("x1"), get("y1"))
		add(get("x2"), get("y2"))
	case "polyline", "polygon":
		in := geometry.Numbers{Rest: n.text1("points")}
		for {
			x, ok1 := in.Next()
			y, ok2 := in.Next()
			if !ok1 || !ok2 {
				return
			}
			add(x, y)
		}
	case "path":
		pathPoints(n.text1("d"), add)
	}
}

// round adds points of an ellipse.
func round(cx, cy, rx, ry float64, add func(x, y float64)) {
	const points = 32
	for k := range points {
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / points)
		add(cx+rx*cos, cy+ry*sin)
	}
}

// pathPoints adds points of a path.
func pathPoints(data string, add func(x, y float64)) {
	at := corner{}
	geometry.Path(data, func(s geometry.Segment) bool {
		a := s.Args
		switch s.Kind {
		case 'M', 'L':
			at = corner{a[0], a[1]}
			add(at.x, at.y)
		case 'C':
			const points = 16
			for k := 1; k <= points; k++ {
				t := float64(k) / points
				u := 1 - t
				add(u*u*u*at.x+3*u*u*t*a[0]+3*u*t*t*a[2]+t*t*t*a[4], u*u*u*at.y+3*u*u*t*a[1]+3*u*t*t*a[3]+t*t*t*a[5])
			}
			at = corner{a[4], a[5]}
		case 'A':
			arcPoints(at, a, add)
			at = corner{a[5], a[6]}
		}
		return true
	})
}

// arcPoints adds points of an elliptical arc (SVG 2, appendix B.2.4).
func arcPoints(from corner, a [7]float64, add func(x, y float64)) {
	rx, ry, to := math.Abs(a[0]), math.Abs(a[1]), corner{a[5], a[6]}
	add(to.x, to.y)
	if rx == 0 || ry == 0 || from == to {
		return
	}
	sin, cos := math.Sincos(a[2] * math.Pi / 180)
	dx, dy := (from.x-to.x)/2, (from.y-to.y)/2
	x, y := (cos*dx+sin*dy)/rx, (cos*dy-sin*dx)/ry // on the unit circle
	if size := x*x + y*y; size > 1 {
		rx, ry = rx*math.Sqrt(size), ry*math.Sqrt(size)
		x, y = x/math.Sqrt(size), y/math.Sqrt(size)
	}
	size := x*x + y*y
	k := math.Sqrt(math.Max(0, 1/size-1))
	if (a[3] != 0) == (a[4] != 0) {
		k = -k
	}
	cx, cy := k*y, -k*x
	start, end := math.Atan2(y-cy, x-cx), math.Atan2(-y-cy, -x-cx)
	if a[4] != 0 && end < start {
		end += 2 * math.Pi
	} else if a[4] == 0 && end > start {
		end -= 2 * math.Pi
	}
	const points = 32
	for i := range points {
		s, c := math.Sincos(start + (end-start)*float64(i)/points)
		px, py := (c+cx)*rx, (s+cy)*ry
		add(cos*px-sin*py+(from.x+to.x)/2, sin*px+cos*py+(from.y+to.y)/2)
	}
}
