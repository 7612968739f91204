package svg

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
)

// monochrome says whether and how everything in an SVG is painted in one colour.
type monochrome struct {
	is      bool
	color   icon.Color // the icon's own; empty: currentColor
	literal string     // how the SVG writes color
	// recolored says that it was drawn in black, and is currentColor now.
	recolored bool
}

// drawnInOne returns whether a written SVG is painted in one colour of its own, always in the same
// spelling. It changes nothing: an icon of Iconify keeps every byte.
func (j *analyser) drawnInOne(inside []byte) (m monochrome) {
	if !j.isOne() {
		return m
	}
	inMasks, shared := j.masked()
	if shared {
		return m
	}
	return j.inOneSpelling(inside, inMasks)
}

// inOneSpelling is drawnInOne for an SVG of one colour, which no mask shares.
func (j *analyser) inOneSpelling(inside []byte, inMasks map[*[]byte]bool) (m monochrome) {
	if len(j.defaultBlack) > 0 {
		return m
	}
	literal := bytes.TrimSpace(*j.sources[0])
	if !isHexColor(literal) || slices.ContainsFunc(j.sources, func(src *[]byte) bool { return !bytes.Equal(*src, literal) }) {
		return m
	}
	if !j.p.paintsOnly(inside, literal, inMasks) {
		return m
	}
	return monochrome{is: true, color: hexOf(j.colors[0]), literal: string(literal)}
}

// isOne reports whether all paints are one colour without currentColor.
func (j *analyser) isOne() bool {
	return j.isKnown() && !j.current && len(j.colors) == 1 && len(j.sources) > 0
}

// isKnown reports whether all colours are known, and each of them can be replaced.
func (j *analyser) isKnown() bool { return !j.uncertain && !j.mixed && !j.translucent }

// unify gives the paints of an SVG one spelling, if they have exactly one colour and nothing else
// would change. Otherwise the SVG stays as it is drawn. write returns the SVG as it is then.
func (p *parser) unify(write func() []byte) (m monochrome) {
	j := p.analyse()
	if j.translucent && len(j.colors) == 1 && p.splitAlpha() {
		j = p.analyse()
	}
	if j.monochrome() {
		return monochrome{is: p.currentOnlyPaints(write())}
	}
	// Black is the colour of the text, with which it may be mixed.
	isText := len(j.colors) == 1 && j.colors[0] == black
	if !isText && !j.isOne() || !j.isKnown() {
		return m
	}
	for _, i := range j.defaultBlack {
		n := &p.nodes[i]
		if d := j.sheets.declaredOn(n); d[propFill] != nil {
			return m // it has no effect, but would override the new attribute
		}
	}
	inMasks, shared := j.masked()
	if shared {
		return m
	}
	if isText {
		p.paintAll(j.sources, j.defaultBlack)
		return monochrome{is: p.currentOnlyPaints(write()), recolored: true}
	}
	if m = j.inOneSpelling(write(), inMasks); m.is && j.isUniform(m.literal, inMasks) {
		return m
	}
	return p.paintOwn(j, inMasks, write)
}

// isUniform reports whether the only colour has one spelling also where it can't be seen, such as
// at the end of a gradient.
func (j *analyser) isUniform(literal string, inMasks map[*[]byte]bool) bool {
	uniform := true
	j.p.eachPaint(func(v *[]byte) {
		c := readPaint(*v)
		same := c.kind == paintColor && c.color == j.colors[0]
		uniform = uniform && (!same || inMasks[v] || string(*v) == literal)
	})
	return uniform
}

// paintAll writes currentColor at all places of a colour.
func (p *parser) paintAll(sources []*[]byte, defaultBlack []int32) {
	for _, src := range sources {
		*src = bytes.Clone(currentColor)
	}
	for _, i := range defaultBlack {
		p.nodes[i].filled = true
	}
	p.serialise()
}

// paintOwn writes the icon's own colour as six digits at all of its places, and in another way
// where a mask has it too.
func (p *parser) paintOwn(j *analyser, inMasks map[*[]byte]bool, write func() []byte) (m monochrome) {
	color := j.colors[0]
	m = monochrome{color: hexOf(color)}
	literal := []byte(m.color)
	for _, src := range j.sources {
		*src = bytes.Clone(literal)
	}
	p.eachPaint(func(v *[]byte) {
		c := readPaint(*v)
		switch same := c.kind == paintColor && c.color == color; {
		case same && !inMasks[v]: // it is not visible, such as the end of a gradient
			*v = bytes.Clone(literal)
		case c.kind == paintColor || c.kind == paintNone:
			*v = functional(*v) // because icon.Literal takes the first colour in digits
		}
	})
	p.serialise()
	if m.is = p.paintsOnly(write(), literal, inMasks); !m.is {
		return monochrome{}
	}
	m.literal = string(literal)
	return m
}

// functional returns a colour in hexadecimal digits as rgb() or rgba().
func functional(v []byte) []byte {
	c, ok := icon.ReadColor(strings.ToLower(string(bytes.TrimSpace(v))))
	if !ok || bytes.IndexByte(v, '#') < 0 {
		return v
	}
	if c.A == 255 {
		return fmt.Appendf(nil, "rgb(%d,%d,%d)", c.R, c.G, c.B)
	}
	return fmt.Appendf(nil, "rgba(%d,%d,%d,%s)", c.R, c.G, c.B, icon.AppendShare(nil, c.A))
}

// hexOf returns an opaque colour as the contract writes it.
func hexOf(c rgba) icon.Color { return icon.Color(fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)) }

// isHexColor reports whether v is a colour of three or six hexadecimal digits.
func isHexColor(v []byte) bool {
	digits, ok := bytes.CutPrefix(v, []byte("#"))
	if ok {
		_, ok = icon.AppendHexColor(nil, digits)
	}
	return ok
}

// serialise makes write serialise the declarations of style attributes, which have changed.
func (p *parser) serialise() {
	for i := range p.nodes {
		for k := range p.nodes[i].attrs {
			if a := &p.nodes[i].attrs[k]; a.info == attrStyle {
				a.value = nil
			}
		}
	}
}

// masked reports whether a painted colour is also, at the same place in the file, a colour from
// which a mask takes its brightness. Replacing it would change the mask. It returns the other
// colours of masks.
func (j *analyser) masked() (inMasks map[*[]byte]bool, shared bool) {
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
	inMasks = make(map[*[]byte]bool, len(m.sources))
	for _, src := range m.sources {
		inMasks[src] = true
	}
	black := make(map[int32]bool, len(j.defaultBlack))
	for _, i := range j.defaultBlack {
		black[i] = true
	}
	shared = slices.ContainsFunc(j.sources, func(src *[]byte) bool { return inMasks[src] }) ||
		slices.ContainsFunc(m.defaultBlack, func(i int32) bool { return black[i] })
	return inMasks, shared
}

// eachPaint calls f with every value of a property that is a colour, wherever it is declared.
func (p *parser) eachPaint(f func(v *[]byte)) {
	p.eachDeclaration(func(prop property, v *[]byte) {
		if paints(prop) {
			f(v)
		}
	})
}

// eachDeclaration calls f with every declaration in attributes and style sheets.
func (p *parser) eachDeclaration(f func(prop property, v *[]byte)) {
	for i := range p.nodes {
		for k := range p.nodes[i].attrs {
			if a := &p.nodes[i].attrs[k]; a.info.prop != propNone {
				f(a.info.prop, &a.value)
			}
		}
	}
	p.eachList(func(decls []decl) {
		for i := range decls {
			f(decls[i].prop, &decls[i].value)
		}
	})
}

// paintsOnly reports whether every occurrence of a literal in a written SVG is a paint outside of
// masks, and icon.Literal finds it.
func (p *parser) paintsOnly(written, literal []byte, inMasks map[*[]byte]bool) bool {
	count, masked := 0, false
	p.eachPaint(func(v *[]byte) {
		if bytes.Equal(bytes.TrimSpace(*v), literal) {
			count++
			masked = masked || inMasks[v]
		}
	})
	return !masked && bytes.Equal(icon.Literal(written), literal) && bytes.Count(written, literal) == count
}

// alphaOf has the property that multiplies the alpha of a colour.
var alphaOf = map[property]property{
	propFill: propFillOpacity, propStroke: propStrokeOpacity, propStopColor: propStopOpacity, propFloodColor: propFloodOpacity,
}

// splitAlpha writes translucent colours as opaque ones with an opacity, so that all tones of an
// icon are one colour. It reports whether it did: it does not where the SVG declares or animates
// such an opacity itself, because the two would have to be multiplied wherever they meet.
func (p *parser) splitAlpha() bool {
	if p.animated {
		return false
	}
	translucent, declared := map[property]bool{}, map[property]bool{}
	p.eachDeclaration(func(prop property, v *[]byte) {
		declared[prop] = true
		if c := readPaint(*v); paints(prop) && c.kind == paintColor && c.color.A != 255 {
			translucent[prop] = true
		}
	})
	for prop := range translucent {
		if alpha, ok := alphaOf[prop]; !ok || declared[alpha] {
			return false
		}
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		for k := range len(n.attrs) {
			a := &n.attrs[k]
			if !translucent[a.info.prop] {
				a.decls = splitDecls(a.decls, translucent)
			} else if alpha, ok := opaque(&a.value); ok {
				name := propertyNames[alphaOf[a.info.prop]]
				n.attrs = append(n.attrs, attr{info: attributes[name], value: alpha, simple: true})
			}
		}
		if n.sheet != nil {
			splitItems(n.sheet.items, translucent)
		}
	}
	p.serialise()
	return true
}

func splitItems(items []item, translucent map[property]bool) {
	for i := range items {
		items[i].decls = splitDecls(items[i].decls, translucent)
		splitItems(items[i].items, translucent)
	}
}

func splitDecls(decls []decl, translucent map[property]bool) []decl {
	for i := 0; i < len(decls); i++ {
		d := &decls[i]
		if !translucent[d.prop] {
			continue
		}
		if alpha, ok := opaque(&d.value); ok {
			of := alphaOf[d.prop]
			i++
			decls = slices.Insert(decls, i, decl{name: propertyNames[of], value: alpha, important: d.important, prop: of})
		}
	}
	return decls
}

// opaque makes a colour opaque and returns its alpha, which is 1 for any other paint. An inherited
// paint has none of its own.
func opaque(v *[]byte) (alpha []byte, ok bool) {
	c := readPaint(*v)
	switch c.kind {
	case paintNone, paintInherit:
		return nil, false
	case paintColor:
		if c.color.A != 255 {
			*v = []byte(hexOf(c.color))
		}
		return icon.AppendShare(nil, c.color.A), true
	}
	return []byte("1"), true
}

// propertyNames has the names of the properties that the cleaner and Retone declare.
var propertyNames = map[property]string{
	propFillOpacity: "fill-opacity", propStrokeOpacity: "stroke-opacity", propStopOpacity: "stop-opacity",
	propFloodOpacity: "flood-opacity", propFill: "fill", propStroke: "stroke", propOpacity: "opacity",
}

// takeFallbacks replaces var() by its fallback where the file does not define the variable: the
// icon is then drawn in the same way in any page.
func (p *parser) takeFallbacks() {
	if !bytes.Contains(p.src, []byte("var(")) && !bytes.Contains(p.src, []byte("VAR(")) {
		return
	}
	defined := map[string]bool{}
	p.eachList(func(decls []decl) {
		for _, d := range decls {
			defined[d.name] = defined[d.name] || strings.HasPrefix(d.name, "--")
		}
	})
	p.eachList(func(decls []decl) {
		for i := range decls {
			decls[i].value, _ = fallback(decls[i].value, defined)
		}
	})
	for i := range p.nodes {
		for k := range p.nodes[i].attrs {
			a := &p.nodes[i].attrs[k]
			if a.info.check != checkCSS && a.info.check != checkPaint {
				continue
			}
			if v, changed := fallback(a.value, defined); changed {
				a.value, a.simple = v, false
			}
		}
	}
	p.serialise()
}

// eachList calls f with every list of declarations.
func (p *parser) eachList(f func(decls []decl)) {
	var items func(list []item)
	items = func(list []item) {
		for i := range list {
			f(list[i].decls)
			items(list[i].items)
		}
	}
	for i := range p.nodes {
		n := &p.nodes[i]
		for k := range n.attrs {
			f(n.attrs[k].decls)
		}
		if n.sheet != nil {
			items(n.sheet.items)
		}
	}
}

// fallback returns a value with the fallbacks of its variables, unless one of them is defined or
// has no fallback.
func fallback(v []byte, defined map[string]bool) (value []byte, changed bool) {
	if bytes.IndexByte(v, '(') < 0 {
		return v, false
	}
	list, ok := replaced(tokens(v), defined)
	if !ok {
		return v, false
	}
	s, ok := serialise(trim(quotedURLs(list)))
	if !ok || s == string(v) {
		return v, false
	}
	return canonicalCurrent([]byte(s)), true
}

// replaced returns tokens in which each var() is its fallback.
func replaced(list []token, defined map[string]bool) (out []token, ok bool) {
	for i := 0; i < len(list); i++ {
		if t := list[i]; t.kind != tokFunction || !equalFold(t.text, "var") {
			out = append(out, t)
			continue
		}
		end := closing(list, i)
		if end < 0 {
			return nil, false
		}
		inner := trim(list[i+1 : end])
		if len(inner) == 0 || defined[inner[0].text] {
			return nil, false
		}
		comma := slices.IndexFunc(inner, func(t token) bool { return t.is(",") })
		if comma < 0 {
			return nil, false
		}
		part, ok := replaced(trim(inner[comma+1:]), defined)
		if !ok {
			return nil, false
		}
		out, i = append(out, part...), end
	}
	return out, true
}
