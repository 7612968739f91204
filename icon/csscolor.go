package icon

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxColor is the length in bytes of the longest CSS colour that CSSColor reads.
const maxColor = 64

// An RGBA is a colour with 8 bits a channel.
type RGBA struct{ R, G, B, A uint8 }

// CSSColor reads any CSS colour: hexadecimal digits with or without the #, a name, rgb(), rgba(),
// hsl(), hsla() and transparent. All spellings of a colour give the same Color.
func CSSColor(s string) (Color, bool) {
	if len(s) > maxColor {
		return "", false
	}
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "transparent" {
		return "#00000000", true
	}
	c, ok := ReadColor(s)
	if !ok {
		if c, ok = readHex(s); !ok {
			return "", false
		}
	}
	hex := fmt.Sprintf("%02x%02x%02x%02x", c.R, c.G, c.B, c.A)
	return Color("#" + strings.TrimSuffix(hex, opaque(hex))), true
}

// IsCurrentColor reports whether a value is the keyword currentColor, in any case: the colour that
// a monochrome icon has anyway.
func IsCurrentColor(s string) bool { return strings.EqualFold(strings.TrimSpace(s), "currentColor") }

// ReadColor reads the colours of CSS Color 3 and the hexadecimal ones of CSS Color 4. The caller
// has converted s to lower case.
func ReadColor(s string) (RGBA, bool) {
	if hex, ok := strings.CutPrefix(s, "#"); ok {
		return readHex(hex)
	}
	if c, ok := colorNames[s]; ok {
		return RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 255}, true
	}
	name, rest, _ := strings.Cut(s, "(")
	rest, closed := strings.CutSuffix(rest, ")")
	if !closed {
		return RGBA{}, false
	}
	parts := strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == '/' || r == ' ' })
	if len(parts) != 3 && len(parts) != 4 {
		return RGBA{}, false
	}
	c, ok := RGBA{}, true
	if len(parts) == 4 {
		c.A, ok = channel(parts[3], 1)
	} else {
		c.A = 255
	}
	switch name {
	case "rgb", "rgba":
		for i, to := range []*uint8{&c.R, &c.G, &c.B} {
			var fine bool
			*to, fine = channel(parts[i], 255)
			ok = ok && fine
		}
		return c, ok
	case "hsl", "hsla":
		fine := c.setHSL(parts)
		return c, ok && fine
	}
	return RGBA{}, false
}

func readHex(hex string) (c RGBA, ok bool) {
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
	return RGBA{uint8(n >> 24), uint8(n >> 16), uint8(n >> 8), uint8(n)}, true
}

// channel reads a number from 0 to top, or a percentage, as 0 to 255.
func channel(s string, top float64) (uint8, bool) {
	f, ok := fraction(s, top)
	return uint8(math.Round(255 * f)), ok
}

// fraction reads a number from 0 to top, or a percentage, as 0 to 1.
func fraction(s string, top float64) (float64, bool) {
	s, percent := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) {
		return 0, false
	}
	if percent {
		top = 100
	}
	return min(max(f/top, 0), 1), true
}

// setHSL reads a hue, and percentages (CSS Color 3, section 4.2.4).
func (c *RGBA) setHSL(parts []string) bool {
	h, ok := degrees(parts[0])
	s, ok1 := fraction(parts[1], 100)
	l, ok2 := fraction(parts[2], 100)
	if !ok || !ok1 || !ok2 {
		return false
	}
	f := func(n float64) uint8 {
		k := math.Mod(math.Mod(n+h/30, 12)+12, 12)
		return uint8(math.Round(255 * (l - s*min(l, 1-l)*max(-1, min(k-3, 9-k, 1)))))
	}
	c.R, c.G, c.B = f(0), f(8), f(4)
	return true
}

// degrees reads an angle, in degrees if it has no unit.
func degrees(s string) (float64, bool) {
	unit := 1.0
	for _, u := range []struct {
		name string
		of   float64
	}{{"deg", 1}, {"grad", 0.9}, {"rad", 180 / math.Pi}, {"turn", 360}} {
		if number, has := strings.CutSuffix(s, u.name); has {
			s, unit = number, u.of
			break
		}
	}
	f, err := strconv.ParseFloat(s, 64)
	return f * unit, err == nil && !math.IsNaN(f) && !math.IsInf(f*unit, 0)
}
