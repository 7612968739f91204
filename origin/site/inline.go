package site

import (
	"regexp"
	"slices"
	"strings"
)

const currentColor = "currentColor"

// inlineRoot matches the start of a clean SVG: its viewBox, and the colour of a monochrome icon
// that has one of its own.
var inlineRoot = regexp.MustCompile(`^<svg xmlns="http://www\.w3\.org/2000/svg" width="[\d.]+" height="[\d.]+" ` +
	`viewBox="(-?[\d.]+ -?[\d.]+ [\d.]+ [\d.]+)"(?: color="(#[0-9a-f]{3,8})")?>`)

// The elements, attributes and values that an SVG inside a page can have. Everything else could
// reach the page around it: classes, styles, scripts, animations, references to other documents.
var (
	inlineElements = strings.Fields("g path circle ellipse rect line polyline polygon " +
		"defs linearGradient radialGradient stop clipPath mask")
	inlineAttributes = strings.Fields("d points cx cy r rx ry fx fy fr x y x1 x2 y1 y2 width height opacity fill-rule clip-rule " +
		"fill-opacity stroke-width stroke-linecap stroke-linejoin stroke-miterlimit stroke-dasharray stroke-dashoffset stroke-opacity " +
		"offset stop-opacity gradientUnits spreadMethod clipPathUnits maskUnits maskContentUnits")
	inlinePaint = regexp.MustCompile(`^(?:[a-zA-Z]+|#[0-9a-fA-F]{3,8})$`)
	inlineValue = regexp.MustCompile(`^[\w .,+%-]*$`)
	// inlineMove matches the functions of a transformation.
	inlineMove = regexp.MustCompile(`^(?:[ ,]*(?:matrix|translate|scale|rotate|skewX|skewY) *\([\d eE.,+-]*\))*[ ,]*$`)
	inlineID   = regexp.MustCompile(`^[\w.-]+$`)
	inlineRef  = regexp.MustCompile(`^(url\(#|#)([\w.-]+)(\)?)$`)
)

// An inlined is an SVG as a part of a page.
type inlined struct {
	viewBox string
	inside  string // elements in SVG's namespace
	painted bool   // it has a colour besides that of the text
}

// inline returns a clean SVG of at most a number of bytes as a part of a page; ok is false if it
// can't be one. Its ids get a prefix, by which they are not those of the page or of another icon;
// without a prefix it can have none. The function does not rely on the cleaner, because a page
// gives scripts and styles more rights than an image does.
func inline(image []byte, most int, prefix string) (d inlined, ok bool) {
	root := inlineRoot.FindSubmatch(image)
	inside, whole := strings.CutSuffix(string(image), "</svg>")
	if root == nil || !whole || len(image) > most {
		return d, false
	}
	w := inliner{prefix: prefix, color: string(root[2])}
	w.painted = w.color != ""
	for rest := inside[len(root[0]):]; rest != ""; {
		var tag string
		if tag, rest, ok = strings.Cut(rest, ">"); !ok || !w.tag(tag) {
			return d, false
		}
	}
	return inlined{string(root[1]), w.b.String(), w.painted}, w.b.Len() > 0 && len(w.open) == 0
}

// An inliner writes the inside of an SVG for a page.
type inliner struct {
	b             strings.Builder
	prefix, color string   // of ids; of the icon, in the place of currentColor
	open          []string // elements
	painted       bool
}

// tag writes a tag, which comes without its last character; it reports whether the tag is harmless.
func (w *inliner) tag(tag string) bool {
	if name, end := strings.CutPrefix(tag, "</"); end {
		if len(w.open) == 0 || w.open[len(w.open)-1] != name {
			return false
		}
		w.open = w.open[:len(w.open)-1]
		w.b.WriteString(tag + ">")
		return true
	}
	tag, start := strings.CutPrefix(tag, "<")
	tag, empty := strings.CutSuffix(tag, "/")
	name, attributes, _ := strings.Cut(tag, " ")
	if !start || !slices.Contains(inlineElements, name) {
		return false
	}
	w.b.WriteString("<" + name)
	for attributes != "" {
		name, rest, given := strings.Cut(attributes, `="`)
		value, after, closed := strings.Cut(rest, `"`)
		if attributes = strings.TrimPrefix(after, " "); !given || !closed {
			return false
		}
		value, harmless := w.value(name, value)
		if !harmless {
			return false
		}
		w.b.WriteString(" " + name + `="` + value + `"`)
	}
	if empty {
		w.b.WriteByte('/')
	} else {
		w.open = append(w.open, name)
	}
	w.b.WriteByte('>')
	return true
}

// value returns the value of an attribute for a page; ok is false if there is none.
func (w *inliner) value(name, value string) (string, bool) {
	switch name {
	case "fill", "stroke", "stop-color":
		if ref, ok := w.reference(value, "url(#"); ok {
			w.painted = true
			return ref, true
		}
		switch {
		case value != currentColor:
			w.painted = w.painted || value != "none"
		case w.color != "":
			value = w.color
		}
		return value, inlinePaint.MatchString(value)
	case "clip-path", "mask":
		return w.reference(value, "url(#")
	case "href":
		return w.reference(value, "#")
	case "id":
		return w.prefix + value, w.prefix != "" && inlineID.MatchString(value)
	case "transform", "gradientTransform":
		return value, inlineMove.MatchString(value)
	}
	return value, slices.Contains(inlineAttributes, name) && inlineValue.MatchString(value)
}

// reference returns a reference to an element of the same icon.
func (w *inliner) reference(value, form string) (string, bool) {
	parts := inlineRef.FindStringSubmatch(value)
	if parts == nil || parts[1] != form || (parts[3] == ")") != (form == "url(#") || w.prefix == "" {
		return "", false
	}
	return parts[1] + w.prefix + parts[2] + parts[3], true
}
