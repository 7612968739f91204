package svg

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/iconedge/iconedge/icon/viewbox"
)

// CleanDocument cleans a whole SVG file, as in a folder of icons. It keeps the viewBox, or makes
// one of width and height. Presentation attributes of the root move to a group within it, so that
// every clean SVG has a root of the same form.
//
// Unless palette is set, an SVG with exactly one painted colour (also the default black) becomes
// monochrome: CleanDocument replaces that colour with currentColor wherever it is painted. The
// error wraps ErrUnclean.
func CleanDocument(doc []byte, palette bool) (Icon, error) {
	p := parsers.Get().(*parser)
	defer p.release()
	if err := p.parse(doc, true); err != nil {
		return Icon{}, err
	}
	top := p.nodes[0].first
	box, width, height, err := frame(&p.nodes[top])
	if err != nil {
		return Icon{}, err
	}
	p.wrap(top, box, width)
	verdict := p.analyse()
	monochrome := verdict.monochrome()
	if !monochrome && !palette {
		monochrome = verdict.recolor()
	}
	inside := p.writeInside(make([]byte, 0, len(doc)+64), &p.nodes[top])
	return p.finish(inside, box, width, height, monochrome), nil
}

// frame reads the viewBox and the size of a root. The size comes from width and height if they are
// absolute lengths with the ratio of the viewBox, and otherwise from the viewBox.
func frame(n *node) (box Box, width, height float64, err error) {
	value := func(name string) string {
		if a := n.attr(attributes[name]); a != nil {
			return string(a.value)
		}
		return ""
	}
	width, height = length(value("width")), length(value("height"))
	switch view := strings.FieldsFunc(value("viewBox"), func(r rune) bool { return r == ' ' || r == ',' }); {
	case len(view) == 4:
		for i, f := range []*float64{&box.Left, &box.Top, &box.Width, &box.Height} {
			if *f, err = strconv.ParseFloat(view[i], 64); err != nil {
				return box, 0, 0, unclean("its viewBox is not four numbers")
			}
		}
	case len(view) > 0:
		return box, 0, 0, unclean("its viewBox is not four numbers")
	case width > 0 && height > 0:
		box.Width, box.Height = width, height
	default:
		return box, 0, 0, unclean("it has neither a viewBox nor both a width and a height")
	}
	if err := checkBox(box); err != nil {
		return box, 0, 0, err
	}
	if box.Width == 0 || box.Height == 0 {
		return box, 0, 0, unclean("its viewBox has no area")
	}
	ratio := box.Width / box.Height
	switch {
	case width == 0 && height > 0:
		width = hundredth(height * ratio)
	case height == 0 && width > 0:
		height = hundredth(width / ratio)
	}
	if !(width > 0 && height > 0) || math.Abs(width/height/ratio-1) > 0.01 {
		width, height = box.Width, box.Height
	}
	return box, width, height, nil
}

func hundredth(f float64) float64 { return math.Round(f*100) / 100 }

// units holds the absolute lengths of CSS Values 4, section 6, in pixels.
var units = map[string]float64{"": 1, "px": 1, "pt": 96.0 / 72, "pc": 16, "in": 96, "cm": 96 / 2.54, "mm": 96 / 25.4, "q": 96 / 101.6}

// length reads a width or height in pixels. It returns 0 for a relative length, such as 100% or
// 1em, and for an invalid one.
func length(s string) float64 {
	s = strings.ToLower(strings.TrimSpace(s))
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz%")
	scale, known := units[s[len(digits):]]
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || !known || !(f > 0) || f > maxNumber {
		return 0
	}
	if scale != 1 {
		f = hundredth(f * scale)
	}
	return f
}

// wrap moves the presentation attributes of the root to a new group around the content of the root.
func (p *parser) wrap(top int32, box Box, width float64) {
	attrs := p.groupAttrs(p.nodes[top].attrs)
	p.nodes[top].attrs = nil
	if len(attrs) == 0 {
		return
	}
	recentre(attrs, box, width)
	first, last := p.nodes[top].first, p.nodes[top].last
	p.nodes[top].first, p.nodes[top].last = none, none
	g := p.add(node{elem: elements["g"], attrs: attrs}, top)
	p.nodes[g].first, p.nodes[g].last = first, last
	for c := first; c != none; c = p.nodes[c].next {
		p.nodes[c].parent = g
	}
	clear(p.ids) // the id of the root may have moved to the group
}

// groupAttrs returns the attributes of a root that go to the group within it. The others mean
// something on the root only.
func (p *parser) groupAttrs(attrs []attr) []attr {
	var kept []attr
	for _, a := range attrs {
		switch a.info.name {
		case "xmlns", "width", "height", "viewBox", "x", "y", "preserveAspectRatio", "version", "baseProfile", "zoomAndPan",
			"overflow", "enable-background", "role", "aria-hidden", "aria-label", "aria-labelledby", "aria-describedby", "lang", "xml:lang", "type", "media":
			continue
		case "xml:space":
			if !p.hasText() {
				continue
			}
		}
		kept = append(kept, a)
	}
	return kept
}

// recentre adapts the transform of a root to a group. The root has a CSS box: its transform has its
// origin in the middle and counts in pixels. The transform of a group has its origin at 0,0 and
// counts in units of the viewBox (CSS Transforms 1, section 5).
func recentre(attrs []attr, box Box, width float64) {
	x, y, unit := box.Left+box.Width/2, box.Top+box.Height/2, box.Width/width
	for i := range attrs {
		a := &attrs[i]
		if a.info != attributes["transform"] || slices.ContainsFunc(attrs, func(o attr) bool { return o.info == attributes["transform-origin"] }) {
			continue
		}
		if unit != 1 {
			a.value = bytes.Join([][]byte{viewbox.Operation("scale", unit), a.value, viewbox.Operation("scale", 1/unit)}, []byte{' '})
		}
		if x != 0 || y != 0 {
			a.value = bytes.Join([][]byte{viewbox.Operation("translate", x, y), a.value, viewbox.Operation("translate", 0-x, 0-y)}, []byte{' '})
		}
	}
}

func (p *parser) hasText() bool {
	for i := range p.nodes {
		if e := p.nodes[i].elem; e != nil && e.role == roleText {
			return true
		}
	}
	return false
}

// recolor replaces the only colour of an SVG with currentColor, if it has exactly one and nothing
// else would change. It reports whether it did.
func (j *analyser) recolor() bool {
	if j.uncertain || j.mixed || j.current || len(j.colors) != 1 || j.colors[0].A != 255 {
		return false
	}
	for _, i := range j.defaultBlack {
		n := &j.p.nodes[i]
		if d := j.sheets.declaredOn(n); d[propFill] != nil {
			return false // a declaration without an effect, which would override the new attribute
		}
	}
	if j.masked() {
		return false
	}
	for _, src := range j.sources {
		*src = bytes.Clone(currentColor)
	}
	for _, i := range j.defaultBlack {
		j.p.nodes[i].filled = true
	}
	for i := range j.p.nodes {
		for k := range j.p.nodes[i].attrs {
			if a := &j.p.nodes[i].attrs[k]; a.info == attrStyle {
				a.value = nil // write serialises decls, which may have changed
			}
		}
	}
	return true
}

// masked reports whether a painted colour is also, at the same place in the file, a colour from
// which a mask takes its brightness. Replacing it would change the mask.
func (j *analyser) masked() bool {
	seen := map[int32]bool{}
	m := &analyser{p: j.p, sheets: j.sheets, dynamic: j.dynamic, masks: j.masks}
	for len(m.masks) > 0 {
		i := m.masks[0]
		m.masks = m.masks[1:]
		if !seen[i] {
			seen[i] = true
			m.children(i, m.styleOf(i))
		}
	}
	sources, defaultBlack := map[*[]byte]bool{}, map[int32]bool{}
	for _, src := range j.sources {
		sources[src] = true
	}
	for _, i := range j.defaultBlack {
		defaultBlack[i] = true
	}
	return slices.ContainsFunc(m.sources, func(src *[]byte) bool { return sources[src] }) ||
		slices.ContainsFunc(m.defaultBlack, func(i int32) bool { return defaultBlack[i] })
}
