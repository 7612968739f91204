package raster

import (
	"image/color"
	"strings"
)

// A style has the properties of one element.
type style struct {
	// inherited
	fill, stroke               paintValue
	fillOpacity, strokeOpacity float64
	evenOdd, clipEvenOdd       bool
	pen                        pen
	color                      color.NRGBA
	hidden                     bool
	markers                    [3]string // ids: at the start, within, at the end
	order                      [3]byte   // of painting: f, s and m for fill, stroke and markers
	fontSize, rootSize         float64
	pixelated                  bool // image-rendering
	linear                     bool // color-interpolation

	own // of the element alone
}

// own has the properties that a child does not inherit.
type own struct {
	opacity           float64
	clip, mask        string
	filter            string
	none              bool // display
	blend             string
	isolated          bool
	foreign           string // a property with an effect that is not drawn
	alphaMask         bool
	stopColor         paintValue
	stopOpacity       float64
	transform, origin string
	originBox         string // transform-box
	overflows         bool   // it is drawn beyond its edges too
	fixed             bool   // vector-effect: the width of the stroke is in pixels
	side              float64
	geometry          []declaration // properties that also are attributes
}

// initial returns the initial values of all properties.
func initial(current color.NRGBA) style {
	return style{
		fill: paintValue{color: black}, stroke: paintValue{word: "none"}, fillOpacity: 1, strokeOpacity: 1, order: [3]byte{'f', 's', 'm'},
		pen: pen{width: 1, cap: "butt", join: "miter", miter: 4}, color: current, fontSize: 16, rootSize: 16,
		own: own{opacity: 1, overflows: true, stopColor: paintValue{color: black}, stopOpacity: 1},
	}
}

var black = color.NRGBA{A: 255}

// styled returns the style of an element, whose parent has the style of p.
func (d *drawer) styled(n *node, p place) *style {
	s := *p.style
	s.own = d.start.own
	s.side = p.view.side()
	switch n.name {
	case "svg", "symbol", "marker", "pattern":
		s.overflows = false
	}
	list := d.declared(n)
	d.budget -= 250 + 20*(len(n.attrs)+len(list)) // the next pay refuses if too little is left
	for _, c := range list {                      // first, because of em
		if c.name == "font-size" {
			s.set(c, p.style, &d.start)
		}
	}
	for _, c := range list {
		if c.name != "font-size" {
			s.set(c, p.style, &d.start)
		}
	}
	return &s
}

// declared returns the declarations for an element, the stronger ones last. The next call
// overwrites them.
func (d *drawer) declared(n *node) []declaration {
	list := d.cascade[:0]
	for _, a := range n.attrs {
		if !geometric[a.name] && !styleOnly[a.name] {
			list = append(list, a)
		}
	}
	css := len(list)
	for i := range d.doc.rules {
		if d.doc.rules[i].matches(n, &d.budget) {
			list = append(list, d.doc.rules[i].declarations...)
		}
	}
	if value := n.attr("style"); value != "" {
		list = append(list, declarations(value)...)
	}
	for _, c := range list[css:] {
		if c.important {
			list = append(list, c)
		}
	}
	d.cascade = list
	return list
}

// ancestry returns the style that an element has by its own ancestors, because a reference to it
// inherits nothing from its user. shown is false with display: none, also of an ancestor.
func (d *drawer) ancestry(n *node, p place) (s *style, shown bool) {
	p.style, shown = &d.start, true
	if n.parent != nil {
		p.style, shown = d.ancestry(n.parent, p)
		shown = shown && n.parent.admitted()
	}
	s = d.styled(n, p)
	return s, shown && !s.none
}

// resource returns the element with an id, and its style. It returns nil if there is none, or one
// that is not shown.
func (d *drawer) resource(id string, p place) (*node, *style) {
	if n := d.doc.ids[id]; n != nil {
		if s, shown := d.ancestry(n, p); shown {
			return n, s
		}
	}
	return nil, nil
}

// geometric are the attributes that are CSS properties too, and not presentation attributes.
var geometric = map[string]bool{"x": true, "y": true, "width": true, "height": true, "cx": true, "cy": true, "r": true, "rx": true,
	"ry": true, "d": true}

// styleOnly are the CSS properties that are no presentation attributes.
var styleOnly = map[string]bool{"marker": true, "mix-blend-mode": true, "isolation": true, "transform-box": true, "animation": true,
	"animation-name": true, "offset-path": true, "translate": true, "rotate": true, "scale": true, "backdrop-filter": true}

// value returns an attribute that a declaration can override.
func (s *style) value(n *node, name string) string {
	for i := len(s.geometry) - 1; i >= 0; i-- {
		if s.geometry[i].name == name {
			return s.geometry[i].value
		}
	}
	return n.attr(name)
}

// set sets one property. An invalid value changes nothing.
func (s *style) set(c declaration, parent, start *style) {
	if geometric[c.name] {
		s.geometry = append(s.geometry, c)
		return
	}
	property, known := properties[c.name]
	if !known {
		return
	}
	switch c.value {
	case "inherit":
		property.from(s, parent)
	case "initial":
		property.from(s, start)
	case "unset", "revert":
		if property.inherited {
			property.from(s, parent)
		} else {
			property.from(s, start)
		}
	default:
		property.set(s, c.value)
	}
}

// reference returns the id in url(#id), "" for none, and "?" for anything else.
func reference(v string) string {
	if v == "none" || v == "" {
		return ""
	}
	if id, rest, ok := cutReference(v); ok && rest == "" {
		return id
	}
	return "?"
}

// cutReference cuts the id of a url(#id) off, with which a value begins.
func cutReference(v string) (id, rest string, ok bool) {
	inside, ok := strings.CutPrefix(v, "url(")
	inside, rest, closed := strings.Cut(inside, ")")
	id, local := strings.CutPrefix(strings.Trim(inside, ` "'`), "#")
	return id, strings.TrimSpace(rest), ok && closed && local
}
