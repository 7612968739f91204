package raster

import (
	"strings"

	"github.com/iconedge/iconedge/icon/geometry"
)

// transformOf returns the transform of an element, around its transform-origin.
func (d *drawer) transformOf(p place, n *node, s *style) (matrix, error) {
	if s.transform == "" || s.transform == "none" {
		return geometry.Identity, nil
	}
	m, ok := geometry.Transform(s.transform)
	switch {
	case !ok && s.transform != n.attr("transform"):
		return geometry.Identity, unsupported("a transform that needs the box of the element, or another unit")
	case !ok:
		return geometry.Identity, nil // browsers ignore a malformed attribute
	case s.origin == "" && s.originBox == "":
		return m, nil
	}
	reference := box{0, 0, p.view.w, p.view.h}
	switch s.originBox {
	case "fill-box", "content-box":
		b, err := d.boxOf(p, n)
		if err != nil {
			return geometry.Identity, err
		}
		reference = b
	case "stroke-box", "border-box":
		return geometry.Identity, unsupported("transform-box: stroke-box")
	}
	return s.around(m, reference)
}

// placed returns the place of an element with a style, in which its transform counts.
func (d *drawer) placed(p place, n *node, s *style) (place, error) {
	t, err := d.transformOf(p, n, s)
	p = p.moved(t)
	p.style = s
	return p, err
}

// around returns a transform whose origin is in a box.
func (s *style) around(m matrix, reference box) (matrix, error) {
	if s.origin == "" {
		return around(m, point{reference.x, reference.y}), nil
	}
	x, y, ok := originWords(s.origin)
	if !ok {
		return geometry.Identity, unsupported("transform-origin")
	}
	px, okX := s.readLength(x, reference.w)
	py, okY := s.readLength(y, reference.h)
	if !okX || !okY {
		return geometry.Identity, unsupported("transform-origin")
	}
	return around(m, point{reference.x + px, reference.y + py}), nil
}

func around(m matrix, p point) matrix {
	return geometry.Translate(p.x, p.y).Of(m).Of(geometry.Translate(-p.x, -p.y))
}

// originWords returns the two lengths of a transform-origin (CSS Transforms 1, section 6).
func originWords(v string) (x, y string, ok bool) {
	words := strings.Fields(strings.ToLower(v))
	if len(words) == 3 && (words[2] == "0" || words[2] == "0px") {
		words = words[:2]
	}
	switch len(words) {
	case 1:
		words = append(words, "center")
		if words[0] == "top" || words[0] == "bottom" {
			words[0], words[1] = words[1], words[0]
		}
	case 2:
		if words[0] == "top" || words[0] == "bottom" || words[1] == "left" || words[1] == "right" {
			words[0], words[1] = words[1], words[0]
		}
	default:
		return "", "", false
	}
	return placeWord(words[0]), placeWord(words[1]), true
}

// placeWord returns the length of left, top, center, right or bottom, and any other value as it is.
func placeWord(v string) string {
	switch v {
	case "left", "top":
		return "0%"
	case "center":
		return "50%"
	case "right", "bottom":
		return "100%"
	}
	return v
}
