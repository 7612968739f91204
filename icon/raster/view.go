package raster

import (
	"strings"

	"github.com/iconedge/iconedge/icon/geometry"
)

// A box is a rectangle in user units.
type box struct{ x, y, w, h float64 }

func (b box) matrix() matrix { return matrix{b.w, 0, 0, b.h, b.x, b.y} }

func (b box) path() (p path) {
	p.rect(b, 0, 0)
	return p
}

// viewBox returns the part of the plane that the root shows.
func (n *node) viewBox() (b box, ok bool) {
	b, ok = readViewBox(n.attr("viewBox"))
	if !ok {
		var none style
		b = box{0, 0, none.length(n.attr("width"), 0, 0), none.length(n.attr("height"), 0, 0)}
	}
	return b, b.w > 0 && b.h > 0 && point{b.x, b.y}.sane() && point{b.w, b.h}.sane()
}

// readViewBox reads a viewBox. It is not ok if there is none, or one that browsers ignore.
func readViewBox(value string) (b box, ok bool) {
	v, ok := geometry.List(value)
	if !ok || len(v) != 4 || v[2] < 0 || v[3] < 0 {
		return b, false
	}
	return box{v[0], v[1], v[2], v[3]}, true
}

// port returns the rectangle in which an svg or symbol element is shown. sized has its width and
// height: the use element that refers to it, or it itself.
func (p place) port(n, sized *node) box {
	s := p.style
	side := func(name string, base float64) float64 {
		own := s.length(s.value(n, name), base, base)
		if sized != n {
			return s.length(sized.attr(name), base, own)
		}
		return own
	}
	port := box{w: side("width", p.view.w), h: side("height", p.view.h)}
	if n.name == "svg" {
		port.x, port.y = s.length(s.value(n, "x"), p.view.w, 0), s.length(s.value(n, "y"), p.view.h, 0)
	}
	return port
}

// viewport draws the children of an element that shows a part of the plane in port.
func (d *drawer) viewport(p place, n *node, port box) error {
	inner, ok := p.within(n, port)
	if !ok {
		return nil
	}
	if p.style.overflows {
		return d.inside(inner, n)
	}
	edge, err := d.fillOf(p, port.path(), false)
	if err != nil {
		return err
	}
	return d.group(inner, group{opacity: 1, clips: []*coverage{edge}}, func(p place) error { return d.inside(p, n) })
}

// within returns the place of the children of an element that shows a part of the plane in port. It
// is not ok if they are not shown.
func (p place) within(n *node, port box) (inner place, ok bool) {
	if !(port.w > 0 && port.h > 0) {
		return p, false
	}
	inner = p.moved(geometry.Translate(port.x, port.y))
	inner.view = size{port.w, port.h}
	if view, ok := readViewBox(n.attr("viewBox")); ok {
		if view.w == 0 || view.h == 0 {
			return p, false
		}
		inner = p.moved(fit(view, port, n.attr("preserveAspectRatio")))
		inner.view = size{view.w, view.h}
	}
	return inner, true
}

// fit returns the transform from a viewBox to a rectangle, by the value of preserveAspectRatio.
func fit(view, port box, ratio string) matrix {
	sx, sy := port.w/view.w, port.h/view.h
	align, slice, _ := strings.Cut(strings.TrimSpace(ratio), " ")
	if align != "none" {
		s := min(sx, sy)
		if strings.TrimSpace(slice) == "slice" {
			s = max(sx, sy)
		}
		sx, sy = s, s
	}
	place := func(low, high string, free float64) float64 {
		switch {
		case strings.Contains(align, low):
			return 0
		case strings.Contains(align, high):
			return free
		}
		return free / 2
	}
	dx := place("xMin", "xMax", port.w-view.w*sx)
	dy := place("YMin", "YMax", port.h-view.h*sy)
	return matrix{sx, 0, 0, sy, port.x + dx - view.x*sx, port.y + dy - view.y*sy}
}
