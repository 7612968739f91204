package svg

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// paintKind is the kind of value that fill, stroke or another colour property has.
type paintKind uint8

const (
	paintUnset   paintKind = iota // not declared: the default applies
	paintNone                     // none, or a fully transparent colour
	paintCurrent                  // currentColor
	paintColor
	paintURL     // a gradient or pattern
	paintInherit // the paint of the parent
	paintUnknown // anything else
)

// A paint is the value of a colour property.
type paint struct {
	kind  paintKind
	color rgba
	ref   []byte // "#id", with paintURL only
	src   *[]byte
}

// rgba is a colour with 8 bits a channel.
type rgba struct{ r, g, b, a uint8 }

var black = rgba{a: 255}

// readPaint reads a clean value, in which currentColor has its canonical spelling.
func readPaint(v []byte) paint {
	v = bytes.TrimSpace(v)
	switch {
	case string(v) == "currentColor":
		return paint{kind: paintCurrent}
	case string(v) == "none":
		return paint{kind: paintNone}
	}
	if ref, ok := onlyURL(v); ok {
		return paint{kind: paintURL, ref: ref}
	}
	switch s := strings.ToLower(string(v)); s {
	case "none", "transparent":
		return paint{kind: paintNone}
	case "inherit":
		return paint{kind: paintInherit}
	default:
		if c, ok := readColor(s); ok {
			if c.a == 0 {
				return paint{kind: paintNone}
			}
			return paint{kind: paintColor, color: c}
		}
	}
	return readFallback(v)
}

// readFallback reads a reference with a fallback, which a browser paints if the reference leads
// nowhere. A fallback that is a colour counts as painted.
func readFallback(v []byte) paint {
	end := bytes.IndexByte(v, ')')
	if end < 0 {
		return paint{kind: paintUnknown}
	}
	ref, ok := onlyURL(v[:end+1])
	switch readPaint(v[end+1:]).kind {
	case paintNone, paintCurrent:
		if ok {
			return paint{kind: paintURL, ref: ref}
		}
	}
	return paint{kind: paintUnknown}
}

// readColor reads the colours of CSS Color 3 and the hexadecimal ones of CSS Color 4. The caller
// has converted s to lower case.
func readColor(s string) (rgba, bool) {
	if hex, ok := strings.CutPrefix(s, "#"); ok {
		return readHex(hex)
	}
	if c, ok := colorNames[s]; ok {
		return rgba{uint8(c >> 16), uint8(c >> 8), uint8(c), 255}, true
	}
	name, rest, _ := strings.Cut(s, "(")
	rest, closed := strings.CutSuffix(rest, ")")
	if !closed {
		return rgba{}, false
	}
	parts := strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == '/' || r == ' ' })
	if len(parts) != 3 && len(parts) != 4 {
		return rgba{}, false
	}
	c, ok := rgba{}, true
	if len(parts) == 4 {
		c.a, ok = channel(parts[3], 1)
	} else {
		c.a = 255
	}
	switch name {
	case "rgb", "rgba":
		for i, to := range []*uint8{&c.r, &c.g, &c.b} {
			var fine bool
			*to, fine = channel(parts[i], 255)
			ok = ok && fine
		}
		return c, ok
	case "hsl", "hsla":
		fine := c.setHSL(parts)
		return c, ok && fine
	}
	return rgba{}, false
}

func readHex(hex string) (c rgba, ok bool) {
	short := len(hex) == 3 || len(hex) == 4
	if !short && len(hex) != 6 && len(hex) != 8 {
		return c, false
	}
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		return c, false
	}
	if short {
		var long []byte
		for i := range len(hex) {
			long = append(long, hex[i], hex[i])
		}
		return readHex(string(long))
	}
	if len(hex) == 6 {
		n = n<<8 | 255
	}
	return rgba{uint8(n >> 24), uint8(n >> 16), uint8(n >> 8), uint8(n)}, true
}

// channel reads a number from 0 to top, or a percentage, as 0 to 255.
func channel(s string, top float64) (uint8, bool) {
	s, percent := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) {
		return 0, false
	}
	if percent {
		top = 100
	}
	return uint8(math.Round(255 * min(max(f/top, 0), 1))), true
}

// setHSL reads a hue in degrees, and percentages (CSS Color 3, section 4.2.4).
func (c *rgba) setHSL(parts []string) bool {
	h, err := strconv.ParseFloat(strings.TrimSuffix(parts[0], "deg"), 64)
	sat, ok1 := channel(parts[1], 100)
	light, ok2 := channel(parts[2], 100)
	if err != nil || !ok1 || !ok2 || math.IsNaN(h) || math.IsInf(h, 0) {
		return false
	}
	s, l := float64(sat)/255, float64(light)/255
	f := func(n float64) uint8 {
		k := math.Mod(math.Mod(n+h/30, 12)+12, 12)
		return uint8(math.Round(255 * (l - s*min(l, 1-l)*max(-1, min(k-3, 9-k, 1)))))
	}
	c.r, c.g, c.b = f(0), f(8), f(4)
	return true
}
