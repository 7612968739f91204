package svg

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/iconedge/iconedge/icon/viewbox"
)

const (
	svgSpace   = "http://www.w3.org/2000/svg"
	xlinkSpace = "http://www.w3.org/1999/xlink"
	xmlSpace   = "http://www.w3.org/XML/1998/namespace"
	otherSpace = "" // any other namespace

	rootStart = `<svg xmlns="` + svgSpace + `"`
	rootXlink = ` xmlns:xlink="` + xlinkSpace + `"`
	rootFills = ` preserveAspectRatio="none"`
	rootColor = ` color="`
	rootEnd   = `</svg>`
)

// errStored means that a slice is not the output of Clean.
var errStored = errors.New("not a cleaned SVG")

// root is the root element of a clean SVG: these attributes, in this order, and no others.
type root struct {
	xlink         bool
	width, height float64
	box           Box
	stretched     bool   // the icon fills a size of any ratio
	color         string // of a monochrome icon, as it is painted; empty: the colour of the text
}

// around returns a whole SVG in a new slice.
func (r root) around(inside []byte) []byte {
	const attributes = ` width="" height="" viewBox="">`
	out := make([]byte, 0, len(rootStart)+len(rootXlink)+len(attributes)+6*10+len(inside)+len(rootEnd))
	out = append(out, rootStart...)
	if r.xlink {
		out = append(out, rootXlink...)
	}
	out = append(out, ` width="`...)
	out = viewbox.AppendNumber(out, r.width)
	out = append(out, `" height="`...)
	out = viewbox.AppendNumber(out, r.height)
	out = append(out, `" viewBox="`...)
	for i, f := range [4]float64{r.box.Left, r.box.Top, r.box.Width, r.box.Height} {
		if i > 0 {
			out = append(out, ' ')
		}
		out = viewbox.AppendNumber(out, f)
	}
	out = append(out, '"')
	if r.stretched {
		out = append(out, rootFills...)
	}
	if r.color != "" {
		out = append(append(append(out, rootColor...), r.color...), '"')
	}
	out = append(append(out, '>'), inside...)
	return append(out, rootEnd...)
}

// readRoot splits a clean SVG into its root and its inside. The form of the root is fixed, so this
// needs no XML parser.
func readRoot(svg []byte) (r root, inside []byte, err error) {
	rest, ok := bytes.CutPrefix(svg, []byte(rootStart))
	if !ok {
		return r, nil, errStored
	}
	rest, r.xlink = bytes.CutPrefix(rest, []byte(rootXlink))
	var width, height, view string
	for _, a := range []struct {
		name  string
		value *string
	}{{` width="`, &width}, {` height="`, &height}, {` viewBox="`, &view}} {
		if rest, ok = bytes.CutPrefix(rest, []byte(a.name)); !ok {
			return r, nil, errStored
		}
		value, after, ok := bytes.Cut(rest, []byte{'"'})
		if !ok {
			return r, nil, errStored
		}
		*a.value, rest = string(value), after
	}
	edges := strings.Split(view, " ")
	if len(edges) != 4 {
		return r, nil, errStored
	}
	fields := []*float64{&r.width, &r.height, &r.box.Left, &r.box.Top, &r.box.Width, &r.box.Height}
	for i, s := range append([]string{width, height}, edges...) {
		if *fields[i], err = strconv.ParseFloat(s, 64); err != nil {
			return r, nil, errStored
		}
	}
	rest, r.stretched = bytes.CutPrefix(rest, []byte(rootFills))
	if color, colored := bytes.CutPrefix(rest, []byte(rootColor)); colored {
		value, after, ok := bytes.Cut(color, []byte{'"'})
		if !ok || !isHexColor(value) {
			return r, nil, errStored
		}
		r.color, rest = string(value), after
	}
	if rest, ok = bytes.CutPrefix(rest, []byte{'>'}); !ok {
		return r, nil, errStored
	}
	if inside, ok = bytes.CutSuffix(rest, []byte(rootEnd)); !ok {
		return r, nil, errStored
	}
	if !(r.width >= 0 && r.height >= 0) || checkBox(r.box) != nil {
		return r, nil, errStored
	}
	return r, inside, nil
}
