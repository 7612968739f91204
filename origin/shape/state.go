package shape

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/iconedge/iconedge/icon/geometry"
)

// A state has what an element's content inherits. Ink is the darkness of a colour, 0 to 1.
type state struct {
	by                         matrix
	fill, stroke, color        float32 // ink
	opacity                    float32 // of the element and of those around it
	fillOpacity, strokeOpacity float32
	width                      float64 // of the stroke
	evenOdd, hidden            bool
}

// noInk is the ink of a paint that paints nothing.
const noInk = -1

// grey is the ink of gradients, patterns and colours that are not understood.
const grey = .6

// with returns the state of an element in a state.
func (in state) with(t *tag, p *painter) state {
	var style []byte
	for _, a := range t.attrs {
		if string(a.name) == "style" {
			style = a.value
		} else {
			in.set(a.name, a.value, p)
		}
	}
	for len(style) > 0 {
		var declaration []byte
		declaration, style, _ = bytes.Cut(style, []byte{';'})
		if name, value, ok := bytes.Cut(declaration, []byte{':'}); ok {
			in.set(bytes.TrimSpace(name), bytes.TrimSpace(value), p)
		}
	}
	return in
}

// set applies one attribute or declaration.
func (in *state) set(name, value []byte, p *painter) {
	switch string(name) {
	case "fill":
		in.fill = p.ink(value, in.fill, in.color)
	case "stroke":
		in.stroke = p.ink(value, in.stroke, in.color)
	case "color":
		in.color = max(0, p.ink(value, in.color, in.color))
	case "opacity":
		in.opacity *= share(value)
	case "fill-opacity":
		in.fillOpacity = share(value)
	case "stroke-opacity":
		in.strokeOpacity = share(value)
	case "stroke-width":
		if f, ok := number(value); ok {
			in.width = f
		}
	case "fill-rule":
		in.evenOdd = string(value) == "evenodd"
	case "visibility":
		in.hidden = string(value) == "hidden" || string(value) == "collapse"
	case "display":
		if string(value) == "none" {
			in.opacity = 0
		}
	case "transform":
		if m, ok := geometry.Transform(string(value)); ok {
			in.by = in.by.Of(m)
		}
	}
}

// number reads one number with an optional unit; a percentage is a share.
func number(value []byte) (f float64, ok bool) {
	n := geometry.Numbers{Rest: string(value)}
	if f, ok = n.Next(); ok && strings.HasPrefix(n.Rest, "%") {
		f /= 100
	}
	return f, ok
}

// share reads an opacity.
func share(value []byte) float32 {
	f, ok := number(value)
	if !ok {
		return 1
	}
	return float32(min(max(f, 0), 1))
}

// ink reads a paint. inherited and current are the inks of inherit and currentColor.
func (p *painter) ink(value []byte, inherited, current float32) float32 {
	switch text := string(value); {
	case text == "none" || text == "transparent":
		return noInk
	case text == "inherit":
		return inherited
	case strings.EqualFold(text, "currentColor"):
		return current
	case text == "white" || text == "#fff" || text == "#ffffff":
		return p.dark(1)
	case text == "black" || text == "#000" || text == "#000000":
		return p.dark(0)
	case text[:min(1, len(text))] == "#":
		return p.dark(lightness(text[1:]))
	}
	return grey
}

// dark returns the ink of a colour by its lightness.
func (p *painter) dark(lightness float32) float32 {
	switch {
	case p.mask:
		return lightness
	case p.solid:
		return 1
	}
	return 1 - lightness
}

// lightness returns the lightness of a colour in hexadecimal digits (the luma of ITU-R BT.601).
func lightness(hex string) float32 {
	digits := 1
	if len(hex) >= 6 {
		digits = 2
	}
	if len(hex) < 3*digits {
		return 1 - grey
	}
	luma := float32(0)
	for i, weight := range []float32{.299, .587, .114} {
		n, err := strconv.ParseUint(hex[i*digits:][:digits], 16, 8)
		if err != nil {
			return 1 - grey
		}
		if digits == 1 {
			n *= 17
		}
		luma += weight * float32(n) / 255
	}
	return luma
}

// reference returns the id in a value such as url(#a), or nil.
func reference(value []byte) []byte {
	_, rest, ok := bytes.Cut(value, []byte("#"))
	if !ok {
		return nil
	}
	end := bytes.IndexAny(rest, "\"')")
	if end < 0 {
		return nil
	}
	return rest[:end]
}
