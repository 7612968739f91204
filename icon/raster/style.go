package raster

import (
	"image/color"
	"slices"
	"strings"
)

// A declaration is an attribute or a CSS declaration.
type declaration struct {
	name, value string
	important   bool
}

// A rule is a style rule with one simple selector.
type rule struct {
	kind         byte // '.', '#', '*', or 'e' for the name of an element
	name         string
	specificity  int
	declarations []declaration
}

// readSheet reads the rules of a style element. It draws no sheet with other selectors or at-rules,
// because it could not say what they change.
func readSheet(rules []rule, css string) ([]rule, error) {
	for {
		start := strings.Index(css, "/*")
		if start < 0 {
			break
		}
		end := strings.Index(css[start:], "*/")
		if end < 0 {
			end = len(css) - start - 2
		}
		css = css[:start] + css[start+end+2:]
	}
	for css = strings.TrimSpace(css); css != ""; css = strings.TrimSpace(css) {
		prelude, rest, ok := strings.Cut(css, "{")
		body, after, closed := strings.Cut(rest, "}")
		if !ok || !closed || strings.Contains(body, "{") || strings.HasPrefix(prelude, "@") {
			return nil, unsupported("style sheet")
		}
		css = after
		for s := range strings.SplitSeq(prelude, ",") {
			r, ok := simple(strings.TrimSpace(s))
			if !ok {
				return nil, unsupported("style sheet")
			}
			r.declarations = declarations(body)
			if rules = append(rules, r); len(rules) > 1000 {
				return nil, ErrTooComplex
			}
		}
	}
	return rules, nil
}

// simple reads a selector of one class, id or element.
func simple(s string) (r rule, ok bool) {
	switch {
	case s == "*":
		return rule{kind: '*'}, true
	case s == "":
		return r, false
	case s[0] == '.':
		r = rule{kind: '.', name: s[1:], specificity: 10}
	case s[0] == '#':
		r = rule{kind: '#', name: s[1:], specificity: 100}
	default:
		r = rule{kind: 'e', name: s, specificity: 1}
	}
	return r, r.name != "" && !strings.ContainsAny(r.name, " .#:[]>+~*\\\"'()")
}

func sortRules(rules []rule) {
	slices.SortStableFunc(rules, func(a, b rule) int { return a.specificity - b.specificity })
}

func (r *rule) matches(n *node) bool {
	switch r.kind {
	case '*':
		return true
	case '.':
		return slices.Contains(strings.Fields(n.attr("class")), r.name)
	case '#':
		return n.attr("id") == r.name
	}
	return n.name == r.name
}

// declarations reads the declarations of a rule or a style attribute.
func declarations(s string) (list []declaration) {
	for part := range strings.SplitSeq(s, ";") {
		name, value, ok := strings.Cut(part, ":")
		if !ok {
			continue
		}
		value, important := strings.CutSuffix(strings.TrimSpace(value), "!important")
		list = append(list, declaration{strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value), important})
	}
	return list
}

// A style has the properties of one element.
type style struct {
	// inherited
	fill, stroke               string // as written
	fillOpacity, strokeOpacity float64
	evenOdd, clipEvenOdd       bool
	pen                        pen
	color                      color.NRGBA
	hidden                     bool
	markers, ordered           bool // features that are not drawn
	fixed                      bool // vector-effect: the width of the stroke is in pixels

	// of the element alone
	opacity     float64
	clip, mask  string
	filter      string
	none        bool // display
	blend       bool
	alphaMask   bool
	stopColor   string
	stopOpacity float64
	transform   string
	origin      string
}

// initial returns the initial values of all properties.
func initial(current color.NRGBA) style {
	return style{fill: "black", stroke: "none", fillOpacity: 1, strokeOpacity: 1, pen: pen{width: 1, cap: "butt", join: "miter", miter: 4},
		color: current, opacity: 1, stopColor: "black", stopOpacity: 1}
}

// styled returns the style of an element whose parent has that style. base is the length of which
// percentages are.
func (d *drawer) styled(n *node, parent *style, base float64) *style {
	s := *parent
	def := initial(s.color)
	s.opacity, s.clip, s.mask, s.filter, s.none, s.blend, s.alphaMask = 1, "", "", "", false, false, false
	s.stopColor, s.stopOpacity, s.transform, s.origin = def.stopColor, 1, n.attr("transform"), ""
	var important []declaration
	apply := func(list []declaration) {
		for _, c := range list {
			if c.important {
				important = append(important, c)
			} else {
				s.set(c.name, c.value, parent, base)
			}
		}
	}
	apply(n.attrs)
	for i := range d.doc.rules {
		if d.doc.rules[i].matches(n) {
			apply(d.doc.rules[i].declarations)
		}
	}
	if css := n.attr("style"); css != "" {
		apply(declarations(css))
	}
	for _, c := range important {
		s.set(c.name, c.value, parent, base)
	}
	return &s
}

// set sets one property.
func (s *style) set(name, v string, parent *style, base float64) {
	v = strings.TrimSpace(v)
	if v == "inherit" {
		s.inherit(name, parent)
		return
	}
	switch name {
	case "fill":
		s.fill = v
	case "stroke":
		s.stroke = v
	case "fill-opacity":
		s.fillOpacity = clamp(fraction(v, s.fillOpacity), 0, 1)
	case "stroke-opacity":
		s.strokeOpacity = clamp(fraction(v, s.strokeOpacity), 0, 1)
	case "fill-rule":
		s.evenOdd = v == "evenodd"
	case "clip-rule":
		s.clipEvenOdd = v == "evenodd"
	case "stroke-width":
		s.pen.width = length(v, base, s.pen.width)
	case "stroke-linecap":
		s.pen.cap = v
	case "stroke-linejoin":
		s.pen.join = v
	case "stroke-miterlimit":
		s.pen.miter = max(1, length(v, 0, s.pen.miter))
	case "stroke-dasharray":
		s.pen.dash = dashArray(v, base)
	case "stroke-dashoffset":
		s.pen.dashOffset = length(v, base, 0)
	case "color":
		if c, ok := parseColor(v, s.color); ok {
			s.color = c
		}
	case "visibility":
		s.hidden = v != "visible"
	case "marker", "marker-start", "marker-mid", "marker-end":
		s.markers = v != "none"
	case "paint-order":
		s.ordered = v != "normal" && v != "fill" && !strings.HasPrefix(v, "fill stroke")
	case "vector-effect":
		s.fixed = v == "non-scaling-stroke"
	case "opacity":
		s.opacity = clamp(fraction(v, 1), 0, 1)
	case "clip-path":
		s.clip = reference(v)
	case "mask":
		s.mask = reference(v)
	case "filter":
		s.filter = reference(v)
	case "display":
		s.none = v == "none"
	case "mix-blend-mode":
		s.blend = v != "normal"
	case "animation", "animation-name", "offset-path", "translate", "rotate", "scale":
		// rotate is also an attribute of text and animations, which are not drawn.
		s.blend = s.blend || v != "none" && v != ""
	case "mask-type":
		s.alphaMask = v == "alpha"
	case "stop-color":
		s.stopColor = v
	case "stop-opacity":
		s.stopOpacity = clamp(fraction(v, 1), 0, 1)
	case "transform":
		s.transform = v
	case "transform-origin":
		s.origin = v
	}
}

// inherit takes a property that is not inherited by itself from the parent, or undoes an earlier
// declaration.
func (s *style) inherit(name string, parent *style) {
	switch name {
	case "fill":
		s.fill = parent.fill
	case "stroke":
		s.stroke = parent.stroke
	case "color":
		s.color = parent.color
	case "stroke-width":
		s.pen.width = parent.pen.width
	case "opacity":
		s.opacity = parent.opacity
	case "stop-color":
		s.stopColor = parent.stopColor
	}
}

// reference returns the id in url(#id), "" for none, and "?" for anything else.
func reference(v string) string {
	if v == "none" || v == "" {
		return ""
	}
	inside, ok := strings.CutPrefix(v, "url(")
	inside, _, closed := strings.Cut(inside, ")")
	id, local := strings.CutPrefix(strings.Trim(inside, ` "'`), "#")
	if !ok || !closed || !local || strings.TrimSpace(v[strings.IndexByte(v, ')')+1:]) != "" {
		return "?"
	}
	return id
}

// dashArray reads a pattern of dashes. It returns nil for none, and for a pattern without length.
func dashArray(v string, base float64) []float64 {
	var dash []float64
	sum := 0.0
	for _, f := range strings.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == ',' }) {
		n := length(f, base, -1)
		if n < 0 || len(dash) > 1000 {
			return nil
		}
		dash, sum = append(dash, n), sum+n
	}
	if !(sum > 1e-6 && sum < 1e7) {
		return nil
	}
	if len(dash)%2 == 1 {
		dash = append(dash, dash...)
	}
	return dash
}
