package raster

import (
	"image/color"
	"iter"
	"strings"
)

// A paintValue is the value of a fill or stroke property, or of stop-color.
type paintValue struct {
	server string      // the id of a gradient or pattern, for which the rest is the fallback
	word   string      // "none", "currentColor", "context-fill", "context-stroke"; "" is a colour
	color  color.NRGBA // without word
}

// read reads a value. It keeps the value as it is if the new one is invalid.
func (p *paintValue) read(v string) {
	v = strings.TrimSpace(v)
	server := ""
	if strings.HasPrefix(v, "url(") {
		id, rest, ok := cutReference(v)
		if !ok {
			id = "?"
		}
		if server = id; rest == "" {
			rest = "none"
		}
		v = rest
	}
	for _, w := range [...]string{"none", "currentColor", "context-fill", "context-stroke"} {
		if strings.EqualFold(v, w) {
			*p = paintValue{server: server, word: w}
			return
		}
	}
	if c, ok := parseColor(v); ok {
		*p = paintValue{server: server, color: c}
	}
}

// A paint gives the colour of each pixel of a shape.
type paint struct {
	solid  [4]uint8 // premultiplied
	shader shader   // or nil
}

// A shader is a paint that differs from pixel to pixel.
type shader interface {
	// row writes the premultiplied colours of pixels side by side, of which p is the middle of the
	// first.
	row(out [][4]uint8, p point)
	cost() int // of a pixel
}

// A context is the element of which context-fill and context-stroke take the paint.
type context struct {
	place
	area func() (box, error)
}

// paintOf returns the paint of a value for a shape with a bounding box in a place. A nil paint is
// none.
func (d *drawer) paintOf(v paintValue, opacity float64, area box, p place) (got *paint, err error) {
	if opacity == 0 {
		return nil, nil
	}
	if n, own := d.resource(v.server, p); n != nil {
		switch n.name {
		case "linearGradient", "radialGradient":
			got, err = d.gradientOf(n, own, opacity, area, p)
		case "pattern":
			got, err = d.patternOf(n, own, opacity, area, p)
		}
		if got != nil || err != nil {
			return got, err
		}
	}
	c := v.color
	switch v.word {
	case "none":
		return nil, nil
	case "currentColor":
		c = p.style.color
	case "context-fill", "context-stroke":
		if p.context == nil {
			return nil, nil
		}
		value := p.context.style.fill
		if v.word == "context-stroke" {
			value = p.context.style.stroke
		}
		if value.server != "" {
			if area, err = p.context.area(); err != nil {
				return nil, err
			}
		}
		return d.paintOf(value, opacity, area, p.context.place)
	}
	if c.A == 0 {
		return nil, nil
	}
	return &paint{solid: premultiplied(c, opacity)}, nil
}

// inherited returns an attribute of a paint server, or of the servers that its href names. A linear
// gradient has only some attributes in common with a radial one.
func (d *drawer) inherited(n *node, name string) string {
	common := name == "gradientUnits" || name == "gradientTransform" || name == "spreadMethod"
	for s := range d.sources(n) {
		if v := s.attr(name); v != "" && (common || s.name == n.name) {
			return v
		}
	}
	return ""
}

// sources yields a paint server, and the servers of its kind that its href leads to, from which it
// takes the attributes and content that it lacks.
func (d *drawer) sources(n *node) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		pattern := n.name == "pattern"
		for range 8 {
			if !yield(n) {
				return
			}
			if n = d.doc.target(n); n == nil || !servers[n.name] || (n.name == "pattern") != pattern {
				return
			}
		}
	}
}

// servers has the names of the elements that a fill can refer to.
var servers = map[string]bool{"linearGradient": true, "radialGradient": true, "pattern": true}
