package svg

import (
	"cmp"
	"slices"
	"strings"
)

// property is one that decides what is painted, and in which colour.
type property uint8

const (
	propNone property = iota
	propFill
	propStroke
	propColor
	propStopColor
	propFloodColor
	propLightingColor
	propFillOpacity
	propStrokeOpacity
	propStopOpacity
	propFloodOpacity
	propOpacity
	propStrokeWidth
	propDisplay
	propVisibility
	propFilter
	propMask
	propMarker
	propMarkerStart
	propMarkerMid
	propMarkerEnd
	propBlend
	propAll
	propCount
)

var properties = map[string]property{
	"fill": propFill, "stroke": propStroke, "color": propColor, "stop-color": propStopColor, "flood-color": propFloodColor,
	"lighting-color": propLightingColor, "fill-opacity": propFillOpacity, "stroke-opacity": propStrokeOpacity,
	"stop-opacity": propStopOpacity, "flood-opacity": propFloodOpacity, "opacity": propOpacity, "stroke-width": propStrokeWidth,
	"display": propDisplay, "visibility": propVisibility, "filter": propFilter, "mask": propMask, "mask-image": propMask, "marker": propMarker,
	"marker-start": propMarkerStart, "marker-mid": propMarkerMid, "marker-end": propMarkerEnd, "mix-blend-mode": propBlend, "all": propAll,
}

// paints reports whether a property's value is a colour.
func paints(p property) bool { return p >= propFill && p <= propLightingColor }

// declared holds, for each property, the value that wins on one element: a pointer to where it stands, so that it can be
// changed there; nil where nothing is said.
type declared [propCount]*[]byte

// cascade is the style sheets of a drawing, as far as they can be told from its elements alone.
type cascade struct {
	rules []weighted // in the order in which they win, the last most
	doubt bool       // a rule whose selector or condition is not understood sets something that is painted
	rest  bool       // there are rules that are not among these
}

type weighted struct {
	weight int
	part   *selector
	decls  []decl
}

func (p *parser) cascade() (c cascade) {
	for _, s := range p.sheets {
		n := &p.nodes[s]
		c.add(n.sheet.items, n.attr(attrMedia) == nil)
	}
	slices.SortStableFunc(c.rules, func(a, b weighted) int { return cmp.Compare(a.weight, b.weight) })
	return c
}

func (c *cascade) add(items []item, certain bool) {
	for i := range items {
		it := &items[i]
		if it.at != "" {
			c.add(it.items, false)
			continue
		}
		if len(it.parts) == 0 { // a frame of an animation
			c.distrust(it.decls)
		}
		for j := range it.parts {
			if part := &it.parts[j]; certain && part.exact {
				c.rules = append(c.rules, weighted{part.weight(), part, it.decls})
			} else {
				c.distrust(it.decls)
			}
		}
	}
}

// distrust takes in declarations that may or may not come to be: what they paint must be harmless in any case.
func (c *cascade) distrust(decls []decl) {
	c.rest = true
	for _, d := range decls {
		switch {
		case paints(d.prop):
			k := readPaint(d.value).kind
			c.doubt = c.doubt || k != paintNone && k != paintCurrent
		case d.prop == propFilter, d.prop == propMarker, d.prop == propMarkerStart, d.prop == propMarkerMid, d.prop == propMarkerEnd,
			d.prop == propBlend, d.prop == propAll, strings.HasPrefix(d.name, "--"):
			c.doubt = true
		}
	}
}

// on is what is declared on a node: attributes, then rules, then its style, then what is important.
func (c *cascade) on(n *node) (d declared) {
	var style []decl
	for i := range n.attrs {
		a := &n.attrs[i]
		if a.info.prop != propNone {
			d[a.info.prop] = &a.value
		} else if a.info == attrStyle {
			style = a.decls
		}
	}
	if len(c.rules) == 0 && style == nil {
		return d
	}
	for _, important := range [2]bool{false, true} {
		for _, r := range c.rules {
			if r.part.matches(n) {
				d.set(r.decls, important)
			}
		}
		d.set(style, important)
	}
	return d
}

func (d *declared) set(decls []decl, important bool) {
	for i := range decls {
		if decls[i].prop != propNone && decls[i].important == important {
			d[decls[i].prop] = &decls[i].value
		}
	}
}
