package svg

import (
	"cmp"
	"slices"
	"strings"
)

// property is a CSS property that decides what is painted, and in which colour.
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
	propTransform
	propScale
	propVectorEffect
	propAll
	propCount
)

var properties = map[string]property{
	"fill": propFill, "stroke": propStroke, "color": propColor, "stop-color": propStopColor, "flood-color": propFloodColor,
	"lighting-color": propLightingColor, "fill-opacity": propFillOpacity, "stroke-opacity": propStrokeOpacity,
	"stop-opacity": propStopOpacity, "flood-opacity": propFloodOpacity, "opacity": propOpacity, "stroke-width": propStrokeWidth,
	"display": propDisplay, "visibility": propVisibility, "filter": propFilter, "mask": propMask,
	"mask-image": propMask, "marker": propMarker,
	"marker-start": propMarkerStart, "marker-mid": propMarkerMid, "marker-end": propMarkerEnd, "mix-blend-mode": propBlend, "all": propAll,
	"transform": propTransform, "scale": propScale, "zoom": propScale, "vector-effect": propVectorEffect,
}

// paints reports whether the value of a property is a colour.
func paints(p property) bool { return p >= propFill && p <= propLightingColor }

// declared holds, for each property, the declaration that wins on one element. It points at the
// value in the tree, so that the value can be changed there; nil means that nothing declares the
// property.
type declared [propCount]*[]byte

// cascade holds the style sheets of an SVG, as far as the elements alone decide which rules apply.
type cascade struct {
	rules     []weightedRule // in order of precedence: the last rule wins
	uncertain bool           // a rule that can't be evaluated sets a painted property
	inexact   bool           // some rules are missing from rules
	restrokes bool           // one of these rules may change the width of strokes
	fades     bool           // one of them may change the opacity of a paint
}

type weightedRule struct {
	weight int
	part   *selector
	decls  []decl
}

func (p *parser) cascade() (c cascade) {
	for _, s := range p.sheets {
		n := &p.nodes[s]
		c.add(n.sheet.items, n.attr(attrMedia) == nil)
	}
	slices.SortStableFunc(c.rules, func(a, b weightedRule) int { return cmp.Compare(a.weight, b.weight) })
	return c
}

func (c *cascade) add(items []item, certain bool) {
	for i := range items {
		it := &items[i]
		if it.at != "" {
			c.add(it.items, false)
			continue
		}
		if len(it.parts) == 0 { // a keyframe of an animation
			c.addUncertain(it.decls)
		}
		uncertain := false
		for j := range it.parts {
			if part := &it.parts[j]; certain && part.exact {
				c.rules = append(c.rules, weightedRule{part.weight(), part, it.decls})
			} else {
				uncertain = true
			}
		}
		if uncertain {
			c.addUncertain(it.decls)
		}
	}
}

// addUncertain takes in declarations that may or may not apply. Any colour in them makes the
// cascade uncertain, unless it is none or currentColor.
func (c *cascade) addUncertain(decls []decl) {
	c.inexact = true
	for _, d := range decls {
		c.restrokes = c.restrokes || d.changesStrokes()
		c.fades = c.fades || fades(d.prop)
		switch {
		case paints(d.prop):
			k := readPaint(d.value).kind
			c.uncertain = c.uncertain || k != paintNone && k != paintCurrent
		case d.prop == propFilter, d.prop == propMarker, d.prop == propMarkerStart, d.prop == propMarkerMid, d.prop == propMarkerEnd,
			d.prop == propBlend, d.prop == propAll, strings.HasPrefix(d.name, "--"):
			c.uncertain = true
		}
	}
}

// declaredOn returns the declarations that apply to a node, in order of precedence: attributes,
// then rules, then the style attribute; !important ones last.
func (c *cascade) declaredOn(n *node) (d declared) {
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
