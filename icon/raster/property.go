package raster

import (
	"slices"
	"strings"
)

// A property is a CSS property that the drawer knows.
type property struct {
	inherited bool
	set       func(s *style, v string) // leaves s as it is if v is invalid
	from      func(s, other *style)    // takes the value of another style
}

// properties holds the known properties by their names.
var properties = map[string]property{
	"fill":         {true, func(s *style, v string) { s.fill.read(v) }, func(s, o *style) { s.fill = o.fill }},
	"stroke":       {true, func(s *style, v string) { s.stroke.read(v) }, func(s, o *style) { s.stroke = o.stroke }},
	"fill-opacity": {true, func(s *style, v string) { alpha(&s.fillOpacity, v) }, func(s, o *style) { s.fillOpacity = o.fillOpacity }},
	"stroke-opacity": {true, func(s *style, v string) { alpha(&s.strokeOpacity, v) },
		func(s, o *style) { s.strokeOpacity = o.strokeOpacity }},
	"fill-rule": {true, func(s *style, v string) { rule(&s.evenOdd, v) }, func(s, o *style) { s.evenOdd = o.evenOdd }},
	"clip-rule": {true, func(s *style, v string) { rule(&s.clipEvenOdd, v) }, func(s, o *style) { s.clipEvenOdd = o.clipEvenOdd }},
	"stroke-width": {true, func(s *style, v string) {
		if f, ok := s.readLength(v, s.side); ok && f >= 0 {
			s.pen.width = f
		}
	}, func(s, o *style) { s.pen.width = o.pen.width }},
	"stroke-linecap": {true, func(s *style, v string) { word(&s.pen.cap, v, "butt", "round", "square") },
		func(s, o *style) { s.pen.cap = o.pen.cap }},
	"stroke-linejoin": {true, func(s *style, v string) { word(&s.pen.join, v, "miter", "round", "bevel", "miter-clip", "arcs") },
		func(s, o *style) { s.pen.join = o.pen.join }},
	"stroke-miterlimit": {true, func(s *style, v string) {
		if f, ok := number(v); ok && f >= 0 {
			s.pen.miter = f
		}
	}, func(s, o *style) { s.pen.miter = o.pen.miter }},
	"stroke-dasharray": {true, func(s *style, v string) { s.setDash(v) }, func(s, o *style) { s.pen.dash = o.pen.dash }},
	"stroke-dashoffset": {true, func(s *style, v string) { s.pen.dashOffset = s.length(v, s.side, s.pen.dashOffset) },
		func(s, o *style) { s.pen.dashOffset = o.pen.dashOffset }},
	"color": {true, func(s *style, v string) {
		if c, ok := parseColor(v); ok {
			s.color = c
		}
	}, func(s, o *style) { s.color = o.color }},
	"visibility": {true, func(s *style, v string) { s.hidden = v == "hidden" || v == "collapse" },
		func(s, o *style) { s.hidden = o.hidden }},
	"marker": {true, func(s *style, v string) {
		for i := range s.markers {
			s.markers[i] = reference(v)
		}
	}, func(s, o *style) { s.markers = o.markers }},
	"marker-start": markerProperty(0),
	"marker-mid":   markerProperty(1),
	"marker-end":   markerProperty(2),
	"paint-order":  {true, func(s *style, v string) { s.setOrder(v) }, func(s, o *style) { s.order = o.order }},
	"font-size": {true, func(s *style, v string) {
		s.fontSize = clamp(s.length(v, s.fontSize, s.fontSize), 0, 1e6)
	}, func(s, o *style) { s.fontSize = o.fontSize }},
	"image-rendering": {true, func(s *style, v string) { s.pixelated = v == "pixelated" || v == "crisp-edges" },
		func(s, o *style) { s.pixelated = o.pixelated }},
	"color-interpolation": {true, func(s *style, v string) { s.linear = strings.EqualFold(v, "linearRGB") },
		func(s, o *style) { s.linear = o.linear }},

	"opacity":        {false, func(s *style, v string) { alpha(&s.opacity, v) }, func(s, o *style) { s.opacity = o.opacity }},
	"clip-path":      {false, func(s *style, v string) { s.clip = reference(v) }, func(s, o *style) { s.clip = o.clip }},
	"mask":           {false, func(s *style, v string) { s.mask = reference(v) }, func(s, o *style) { s.mask = o.mask }},
	"filter":         {false, func(s *style, v string) { s.filter = reference(v) }, func(s, o *style) { s.filter = o.filter }},
	"display":        {false, func(s *style, v string) { s.none = v == "none" }, func(s, o *style) { s.none = o.none }},
	"mix-blend-mode": {false, func(s *style, v string) { s.setBlend(v) }, func(s, o *style) { s.blend = o.blend }},
	"isolation":      {false, func(s *style, v string) { s.isolated = v == "isolate" }, func(s, o *style) { s.isolated = o.isolated }},
	"mask-type":      {false, func(s *style, v string) { s.alphaMask = v == "alpha" }, func(s, o *style) { s.alphaMask = o.alphaMask }},
	"stop-color":     {false, func(s *style, v string) { s.stopColor.read(v) }, func(s, o *style) { s.stopColor = o.stopColor }},
	"stop-opacity":   {false, func(s *style, v string) { alpha(&s.stopOpacity, v) }, func(s, o *style) { s.stopOpacity = o.stopOpacity }},
	"transform":      {false, func(s *style, v string) { s.transform = v }, func(s, o *style) { s.transform = o.transform }},
	"transform-origin": {false, func(s *style, v string) { s.origin = v },
		func(s, o *style) { s.origin = o.origin }},
	"transform-box": {false, func(s *style, v string) { s.originBox = v }, func(s, o *style) { s.originBox = o.originBox }},
	"overflow": {false, func(s *style, v string) { s.overflows = v == "visible" || v == "auto" },
		func(s, o *style) { s.overflows = o.overflows }},
	"vector-effect": {false, func(s *style, v string) { s.fixed = v == "non-scaling-stroke" }, func(s, o *style) { s.fixed = o.fixed }},

	"animation":       foreign("animation"),
	"animation-name":  foreign("animation"),
	"offset-path":     foreign("offset-path"),
	"translate":       foreign("translate"),
	"rotate":          foreign("rotate"),
	"scale":           foreign("scale"),
	"backdrop-filter": foreign("backdrop-filter"),
}

func markerProperty(i int) property {
	return property{true, func(s *style, v string) { s.markers[i] = reference(v) }, func(s, o *style) { s.markers[i] = o.markers[i] }}
}

// foreign is a property that the drawer knows no more of than its name.
func foreign(name string) property {
	return property{false, func(s *style, v string) {
		if v != "none" && v != "" {
			s.foreign = name
		}
	}, func(s, o *style) { s.foreign = o.foreign }}
}

func alpha(to *float64, v string) {
	if f, ok := number(v); ok {
		*to = clamp(f, 0, 1)
	}
}

func rule(evenOdd *bool, v string) {
	if v == "evenodd" || v == "nonzero" {
		*evenOdd = v == "evenodd"
	}
}

func word(to *string, v string, valid ...string) {
	if slices.Contains(valid, v) {
		*to = v
	}
}

// setDash reads a pattern of dashes, which is nil for none, and for a pattern without length.
func (s *style) setDash(v string) {
	var dash []float64
	sum := 0.0
	for f := range strings.FieldsFuncSeq(v, func(r rune) bool { return strings.ContainsRune(" ,\t\r\n", r) }) {
		n, ok := s.readLength(f, s.side)
		if !ok && f != "none" || n < 0 || len(dash) > 1000 {
			return
		}
		dash, sum = append(dash, n), sum+n
	}
	switch {
	case !(sum > 1e-6 && sum < 1e7):
		dash = nil
	case len(dash)%2 == 1:
		dash = append(dash, dash...)
	}
	s.pen.dash = dash
}

// setOrder reads a paint-order. Parts that it does not name follow in the usual order.
func (s *style) setOrder(v string) {
	order := [3]byte{}
	n := 0
	add := func(c byte) bool {
		if slices.Contains(order[:n], c) {
			return false
		}
		order[n] = c
		n++
		return true
	}
	for w := range strings.FieldsSeq(v) {
		switch {
		case w == "normal" && n == 0:
		case w == "fill", w == "stroke", w == "markers":
			if !add(w[0]) {
				return
			}
		default:
			return
		}
	}
	for _, c := range []byte("fsm") {
		add(c)
	}
	s.order = order
}

func (s *style) setBlend(v string) {
	if v == "normal" {
		s.blend = ""
	} else if blendModes[v] != nil {
		s.blend = v
	}
}
