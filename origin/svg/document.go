package svg

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/iconedge/iconedge/icon/viewbox"
)

// CleanDocument cleans a whole SVG file, as in a folder of icons. It keeps the viewBox, or makes
// one of width and height. Presentation attributes of the root move to a group within it, so that
// every clean SVG has a root of the same form. Style sheets become attributes where they can, and
// all names by which two icons in one page could disturb each other become those of this icon.
//
// Unless palette is set, an SVG with exactly one painted colour becomes monochrome: CleanDocument
// writes that colour in one way wherever it is painted. Black, also by default, is the colour of
// the text and becomes currentColor. The error wraps ErrUnclean.
func CleanDocument(doc []byte, palette bool) (Icon, error) {
	p := parsers.Get().(*parser)
	defer p.release()
	if err := p.parse(doc, true); err != nil {
		return Icon{}, err
	}
	top := p.nodes[0].first
	if err := p.checkKind(top); err != nil {
		return Icon{}, err
	}
	named := p.nodes[top].attr(attributes["color"])
	f, drafted, err := p.settle(top)
	if err != nil {
		return Icon{}, err
	}
	write := func() []byte { return p.writeInside(make([]byte, 0, len(doc)+64), &p.nodes[top]) }
	mono := monochrome{}
	if palette {
		j := p.analyse()
		inside := write()
		mono.is = j.monochrome() && p.currentOnlyPaints(inside)
		if m := j.drawnInOne(inside); named != nil && m.literal == string(named.value) {
			mono = m // it was cleaned before
		}
	} else {
		mono = p.unify(write)
	}
	if drafted {
		if err := p.finalNames(write); err != nil {
			return Icon{}, err
		}
	}
	return p.finish(write(), f, mono), nil
}

// settle makes one element of everything that a document says of itself: of its style sheets, its
// size, its background and its names, for which it returns whether they are drafts.
func (p *parser) settle(top int32) (f frame, drafted bool, err error) {
	rest, err := p.resolveStyles(top)
	if err != nil {
		return f, false, err
	}
	if f, err = p.readFrame(top); err != nil {
		return f, false, err
	}
	p.resolvePercentages(top, f.own, f.box != f.own)
	ground := p.nodes[top].background()
	p.wrap(top, f)
	p.paintBehind(top, ground, f.box)
	if rest != nil {
		p.sheets = append(p.sheets, p.prepend(node{elem: elements["style"], sheet: rest}, top))
	}
	p.takeFallbacks()
	// The names of the file must not look like its colour. The final ones follow from the content
	// with its final colours.
	drafted, err = p.draftNames()
	return f, drafted, err
}

// cleanStyled is CleanTurned for a body with a style sheet, which would apply to every icon of a
// page. It becomes attributes, as in a document.
func (p *parser) cleanStyled(body []byte, box Box, turn Turn) (Icon, error) {
	doc := root{xlink: true, width: box.Width, height: box.Height, box: box}.around(body)
	if err := p.parse(doc, true); err != nil {
		return Icon{}, err
	}
	top := p.nodes[0].first
	f, drafted, err := p.settle(top)
	if err != nil {
		return Icon{}, err
	}
	if turn.Rotate%2 != 0 {
		p.resolvePercentages(top, box, true)
	}
	write := func() []byte { return p.writeInside(make([]byte, 0, len(doc)), &p.nodes[top]) }
	mono := p.paintedAlike(write())
	if drafted {
		if err := p.finalNames(write); err != nil {
			return Icon{}, err
		}
	}
	inside, box := turn.Apply(write(), box)
	f.box, f.width, f.height = box, box.Width, box.Height
	return p.finish(inside, f, mono), nil
}

// checkKind refuses files that are not one icon.
func (p *parser) checkKind(top int32) error {
	if p.draws(top) {
		return nil
	}
	symbols := 0
	for i := range p.nodes {
		if e := p.nodes[i].elem; e != nil && e.role == roleSymbol {
			symbols++
		}
	}
	switch {
	case p.glyphs > 0:
		return unclean("it is a font, not an icon: publish the files that the font was made of")
	case symbols > 0:
		return unclean("it is a sprite of %s, not an icon: publish each as a file of its own", counted(symbols, "symbol"))
	}
	return nil
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// draws reports whether anything below a node is drawn at its own place.
func (p *parser) draws(i int32) bool {
	for c := p.nodes[i].first; c != none; c = p.nodes[c].next {
		n := &p.nodes[c]
		if n.elem == nil {
			continue
		}
		switch n.elem.role {
		case roleShape, roleLine, roleText, roleUse, roleImage:
			return true
		case roleGroup:
			if p.draws(c) {
				return true
			}
		}
	}
	return false
}

// wrap moves the presentation attributes of the root to a new group around the content of the root,
// and the transform by which stretch fits the content to a group within it.
func (p *parser) wrap(top int32, f frame) {
	attrs := p.groupAttrs(p.nodes[top].attrs)
	p.nodes[top].attrs = nil
	clear(p.ids) // the id of the root may move to the group
	if f.transform != nil {
		p.enclose(top, []attr{{info: attributes["transform"], value: f.transform}})
	}
	if len(attrs) > 0 {
		recentre(attrs, f.box, f.width)
		p.enclose(top, attrs)
	}
}

// enclose puts the children of a node into a new group.
func (p *parser) enclose(i int32, attrs []attr) {
	first, last := p.nodes[i].first, p.nodes[i].last
	p.nodes[i].first, p.nodes[i].last = none, none
	g := p.add(node{elem: elements["g"], attrs: attrs}, i)
	p.nodes[g].first, p.nodes[g].last = first, last
	for c := first; c != none; c = p.nodes[c].next {
		p.nodes[c].parent = g
	}
}

// groupAttrs returns the attributes of a root that go to the group within it. The others mean
// something on the root only.
func (p *parser) groupAttrs(attrs []attr) []attr {
	var kept []attr
	for _, a := range attrs {
		switch a.info.name {
		case "xmlns", "width", "height", "viewBox", "x", "y", "preserveAspectRatio", "version", "baseProfile", "zoomAndPan",
			"overflow", "enable-background", "role", "aria-hidden", "aria-label", "aria-labelledby",
			"aria-describedby", "lang", "xml:lang", "type", "media":
			continue
		case "color": // of a monochrome icon that was cleaned before
			if !bytes.Contains(bytes.ToLower(p.src), []byte("currentcolor")) {
				continue
			}
		case "xml:space":
			if !p.hasText() {
				continue
			}
		case "style":
			a.decls = slices.DeleteFunc(slices.Clone(a.decls), boxOnly)
			if a.value = nil; len(a.decls) == 0 {
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
		if a.info != attributes["transform"] || slices.ContainsFunc(attrs,
			func(o attr) bool { return o.info == attributes["transform-origin"] }) {
			continue
		}
		if unit != 1 {
			a.value = bytes.Join([][]byte{viewbox.Operation("scale", unit), a.value, viewbox.Operation("scale", 1/unit)}, []byte{' '})
		}
		if x != 0 || y != 0 {
			a.value = bytes.Join([][]byte{viewbox.Operation("translate", x, y), a.value,
				viewbox.Operation("translate", 0-x, 0-y)}, []byte{' '})
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
