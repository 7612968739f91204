package svg

import (
	"bytes"
	"cmp"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/iconedge/iconedge/icon/geometry"
	"github.com/iconedge/iconedge/icon/viewbox"
)

// A frame is the part of the plane that a document shows, and its size in pixels.
type frame struct {
	box           Box
	width, height float64
	own           Box    // the viewBox of the file, to which percentages refer
	transform     []byte // of the content, where the size of the file stretches it; nil: none
	stretched     bool   // the content fills any size
}

// A side is a width or height of a root.
type side struct {
	pixels   float64 // 0: it is not given, or relative to the page
	relative bool    // to the size of the text
}

// readFrame reads the viewBox and the size of a root. The size comes from width and height if they
// are absolute lengths, and otherwise from the viewBox. Where their ratio is not that of the
// viewBox, browsers show the box in the middle, of a clean SVG too. Where preserveAspectRatio says
// otherwise, the box becomes what a browser shows at that size.
func (p *parser) readFrame(root int32) (f frame, err error) {
	n := &p.nodes[root]
	width, height := n.side("width"), n.side("height")
	view := strings.FieldsFunc(n.text1("viewBox"), func(r rune) bool { return strings.ContainsRune(" ,\t\r\n", r) })
	switch {
	case len(view) == 4:
		for i, to := range []*float64{&f.box.Left, &f.box.Top, &f.box.Width, &f.box.Height} {
			if *to, err = strconv.ParseFloat(view[i], 64); err != nil {
				return f, unclean("its viewBox is not four numbers")
			}
		}
	case len(view) > 0:
		return f, unclean("its viewBox is not four numbers")
	case width.pixels > 0 && height.pixels > 0:
		f.box.Width, f.box.Height = width.pixels, height.pixels
	default:
		end := p.extent(root)
		if !(end.x > 0 && end.y > 0) {
			return f, unclean("it has neither a viewBox nor both a width and a height, and draws nothing that shows its size")
		}
		f.box.Width, f.box.Height = cmp.Or(width.pixels, end.x), cmp.Or(height.pixels, end.y)
		width, height = side{}, side{}
	}
	if err := checkBox(f.box); err != nil {
		return f, err
	}
	if f.box.Width == 0 || f.box.Height == 0 {
		return f, unclean("its viewBox has no area")
	}
	f.own = f.box
	f.fit(width, height, n.text1("preserveAspectRatio"))
	return f, checkBox(f.box)
}

// fit sets the size, and fits the box to a size of another ratio.
func (f *frame) fit(width, height side, aspect string) {
	ratio := f.box.Width / f.box.Height
	switch {
	case width.pixels == 0 && height.pixels > 0:
		width = side{hundredth(height.pixels * ratio), height.relative}
	case height.pixels == 0 && width.pixels > 0:
		height = side{hundredth(width.pixels / ratio), width.relative}
	}
	words := strings.Fields(aspect)
	f.stretched = len(words) > 0 && words[0] == "none"
	f.width, f.height = width.pixels, height.pixels
	if !(f.width > 0 && f.height > 0) {
		f.width, f.height = f.box.Width, f.box.Height
		return
	}
	const least, most = 1e-3, 1e3 // no screen shows more
	if r := f.width / f.height / ratio; r > least && r < most && math.Abs(r-1) > 0.001 {
		f.stretch(words)
	}
	if width.relative || height.relative {
		f.width, f.height = f.box.Width, f.box.Height
	}
}

var aligned = regexp.MustCompile(`^x(Min|Mid|Max)Y(Min|Mid|Max)$`)

// stretch applies preserveAspectRatio (SVG 2, section 8.8), unless it is the default.
func (f *frame) stretch(words []string) {
	slice := len(words) > 1 && words[1] == "slice"
	if len(words) == 0 || words[0] == "xMidYMid" && !slice || words[0] != "none" && !aligned.MatchString(words[0]) {
		return
	}
	align, scale := words[0], math.Min(f.width/f.box.Width, f.height/f.box.Height)
	if align == "none" {
		f.transform = viewbox.Operation("scale", fine(f.width/f.box.Width), fine(f.height/f.box.Height))
		if f.box.Left != 0 || f.box.Top != 0 {
			f.transform = append(append(f.transform, ' '), viewbox.Operation("translate", -f.box.Left, -f.box.Top)...)
		}
		f.box = Box{Width: f.width, Height: f.height}
		return
	}
	if slice {
		scale = math.Max(f.width/f.box.Width, f.height/f.box.Height)
	}
	place := func(start, own, shown float64, word string) float64 {
		switch {
		case strings.Contains(align, word+"Min"):
			return start
		case strings.Contains(align, word+"Max"):
			return fine(start + own - shown)
		}
		return fine(start + (own-shown)/2)
	}
	w, h := fine(f.width/scale), fine(f.height/scale)
	f.box = Box{Left: place(f.box.Left, f.box.Width, w, "x"), Top: place(f.box.Top, f.box.Height, h, "Y"), Width: w, Height: h}
}

func hundredth(f float64) float64 { return math.Round(f*100) / 100 }

// fine rounds to six digits after the point, which no screen shows.
func fine(f float64) float64 { return math.Round(f*1e6) / 1e6 }

// text1 returns the value of an attribute as text; "" if there is none.
func (n *node) text1(name string) string {
	if a := n.attr(attributes[name]); a != nil {
		return string(a.value)
	}
	return ""
}

// side reads a width or height, of the style attribute or of the attribute.
func (n *node) side(name string) side {
	value := n.text1(name)
	if a := n.attr(attrStyle); a != nil {
		for _, d := range a.decls {
			if s := readSide(string(d.value)); d.name == name && s.pixels > 0 {
				return s
			}
		}
	}
	return readSide(value)
}

// textUnits holds the lengths of the size of text in pixels, as in a page that sets none.
var textUnits = map[string]float64{"em": 16, "rem": 16, "ex": 8, "ch": 8}

// readSide reads a width or height. It returns 0 for 100% and the like, and for an invalid length.
func readSide(s string) side {
	s = strings.ToLower(strings.TrimSpace(s))
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz%")
	unit := s[len(digits):]
	scale, absolute := geometry.Units[unit]
	if !absolute {
		scale = textUnits[unit]
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || scale == 0 || !(f > 0) || f > maxNumber {
		return side{}
	}
	if scale != 1 {
		f = hundredth(f * scale)
	}
	return side{f, !absolute}
}

// background returns the colour behind the content of a root, and nil if it has none.
func (n *node) background() (color []byte) {
	a := n.attr(attrStyle)
	if a == nil {
		return nil
	}
	for _, d := range a.decls {
		if d.name != "background" && d.name != "background-color" {
			continue
		}
		color = nil
		if one := readPaint(canonicalCurrent(d.value)); one.kind == paintColor || one.kind == paintCurrent {
			color = canonicalCurrent(d.value)
			continue
		}
		for part := range bytes.FieldsSeq(d.value) { // the shorthand has more than a colour
			if one := readPaint(canonicalCurrent(part)); one.kind == paintColor || one.kind == paintCurrent {
				color = canonicalCurrent(part)
			}
		}
	}
	return bytes.TrimSpace(color)
}

// prepend adds a node before the children of parent.
func (p *parser) prepend(n node, parent int32) int32 {
	i := p.add(n, none)
	up := &p.nodes[parent]
	p.nodes[i].parent, p.nodes[i].next = parent, up.first
	up.first = i
	if up.last == none {
		up.last = i
	}
	return i
}

// paintBehind adds a rectangle for the background of the root, as large as the box. It lies outside
// of the group for the root's attributes, because browsers paint it behind everything, without the
// root's opacity.
func (p *parser) paintBehind(root int32, color []byte, b Box) {
	if color == nil {
		return
	}
	r := node{elem: elements["rect"]}
	for _, a := range [...]struct {
		name  string
		value float64
	}{{"x", b.Left}, {"y", b.Top}, {"width", b.Width}, {"height", b.Height}} {
		if a.value != 0 {
			r.attrs = append(r.attrs, attr{info: attributes[a.name], value: []byte(viewbox.Number(a.value))})
		}
	}
	r.attrs = append(r.attrs, attr{info: attributes["fill"], value: color})
	p.prepend(r, root)
}

// boxOnly reports whether a declaration on a root concerns its box in a page alone.
func boxOnly(d decl) bool {
	switch d.name {
	case "width", "height", "position", "float", "clear", "vertical-align", "box-sizing", "overflow", "top", "left", "right", "bottom",
		"z-index", "object-fit", "zoom":
		return true
	case "display":
		return string(d.value) != "none"
	}
	for _, start := range [...]string{"background", "margin", "padding", "border", "min-", "max-", "outline", "flex", "inset",
		"align-", "justify-"} {
		if strings.HasPrefix(d.name, start) {
			return true
		}
	}
	return false
}
