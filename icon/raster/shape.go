package raster

import (
	"strings"

	"github.com/iconedge/iconedge/icon/geometry"
)

// shapes has the names of the elements with an outline.
var shapes = map[string]bool{"path": true, "rect": true, "circle": true, "ellipse": true, "line": true, "polyline": true, "polygon": true}

// shape returns the outline of a shape element in user units; nil for other elements.
func (d *drawer) shape(p place, n *node) (out path) {
	s := p.style
	x := func(name string) float64 { return s.length(s.value(n, name), p.view.w, 0) }
	y := func(name string) float64 { return s.length(s.value(n, name), p.view.h, 0) }
	switch n.name {
	case "path":
		data := strings.TrimSpace(s.value(n, "d"))
		if inner, ok := strings.CutPrefix(data, "path("); ok { // as CSS and animations have it
			data = strings.Trim(inner, `"') `)
		}
		return parsePath(data)
	case "rect":
		if b := (box{x("x"), y("y"), x("width"), y("height")}); b.w > 0 && b.h > 0 {
			rx, ry := p.radii(n)
			out.rect(b, min(rx, b.w/2), min(ry, b.h/2))
		}
	case "circle":
		if r := s.length(s.value(n, "r"), p.view.side(), 0); r > 0 {
			out.ellipse(x("cx"), y("cy"), r, r)
		}
	case "ellipse":
		if rx, ry := p.radii(n); rx > 0 && ry > 0 {
			out.ellipse(x("cx"), y("cy"), rx, ry)
		}
	case "line":
		out.move(point{x("x1"), y("y1")})
		out.line(point{x("x2"), y("y2")})
	case "polyline", "polygon":
		return polygon(n.attr("points"), n.name == "polygon")
	}
	return out
}

// radii returns rx and ry, each of which is as the other one if it is not given.
func (p place) radii(n *node) (rx, ry float64) {
	s := p.style
	rx, ry = s.length(s.value(n, "rx"), p.view.w, -1), s.length(s.value(n, "ry"), p.view.h, -1)
	if rx < 0 {
		rx = ry
	}
	if ry < 0 {
		ry = rx
	}
	return rx, ry
}

// polygon reads points.
func polygon(points string, closed bool) (out path) {
	in := geometry.Numbers{Rest: points}
	for {
		x, okX := in.Next()
		y, okY := in.Next()
		switch {
		case !okX && in.Rest != "":
			return nil // something that is no number
		case !okX || !okY:
			if closed && len(out) > 0 {
				out.close()
			}
			return out
		}
		if len(out) == 0 {
			out.move(point{x, y})
		} else {
			out.line(point{x, y})
		}
	}
}
