package raster

import (
	"image/color"
	"math"
	"strconv"
	"strings"

	"golang.org/x/image/colornames"
)

// parseColor reads a CSS colour. It is not ok for anything that is none.
func parseColor(s string, current color.NRGBA) (c color.NRGBA, ok bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	switch {
	case s == "currentcolor":
		return current, true
	case s == "transparent":
		return c, true
	case strings.HasPrefix(s, "#"):
		return parseHex(s[1:])
	case strings.HasSuffix(s, ")"):
		return parseFunction(s)
	}
	named, ok := colornames.Map[s]
	if s == "rebeccapurple" {
		named, ok = color.RGBA{0x66, 0x33, 0x99, 0xff}, true
	}
	return color.NRGBA(named), ok
}

func parseHex(s string) (c color.NRGBA, ok bool) {
	n, err := strconv.ParseUint(s, 16, 32)
	if err != nil {
		return c, false
	}
	v := uint32(n)
	short := func(shift int) uint8 { return uint8(v>>shift&0xf) * 0x11 }
	switch len(s) {
	case 3:
		return color.NRGBA{short(8), short(4), short(0), 255}, true
	case 4:
		return color.NRGBA{short(12), short(8), short(4), short(0)}, true
	case 6:
		return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}, true
	case 8:
		return color.NRGBA{uint8(v >> 24), uint8(v >> 16), uint8(v >> 8), uint8(v)}, true
	}
	return c, false
}

// parseFunction reads rgb(), rgba(), hsl() and hsla().
func parseFunction(s string) (c color.NRGBA, ok bool) {
	name, inside, _ := strings.Cut(strings.TrimSuffix(s, ")"), "(")
	part := strings.FieldsFunc(inside, func(r rune) bool { return r == ' ' || r == ',' || r == '/' })
	if len(part) != 3 && len(part) != 4 {
		return c, false
	}
	alpha := 1.0
	if len(part) == 4 {
		alpha = clamp(fraction(part[3], 1), 0, 1)
	}
	c.A = uint8(alpha*255 + 0.5)
	switch name {
	case "rgb", "rgba":
		for i, to := range []*uint8{&c.R, &c.G, &c.B} {
			*to = uint8(clamp(length(part[i], 255, 0), 0, 255) + 0.5)
		}
		return c, true
	case "hsl", "hsla":
		h := math.Mod(length(strings.TrimSuffix(part[0], "deg"), 360, 0), 360)
		if h < 0 {
			h += 360
		}
		sat, light := clamp(fraction(part[1], 0), 0, 1), clamp(fraction(part[2], 0), 0, 1)
		a := sat * min(light, 1-light)
		for i, to := range []*uint8{&c.R, &c.G, &c.B} { // CSS Color 4, section 7.1
			k := math.Mod([]float64{0, 8, 4}[i]+h/30, 12)
			*to = uint8((light-a*max(-1, min(k-3, 9-k, 1)))*255 + 0.5)
		}
		return c, true
	}
	return c, false
}

// premultiplied returns the bytes of a colour in an image, with its alpha times opacity.
func premultiplied(c color.NRGBA, opacity float64) [4]uint8 {
	a := float64(c.A) / 255 * opacity
	return [4]uint8{uint8(float64(c.R)*a + 0.5), uint8(float64(c.G)*a + 0.5), uint8(float64(c.B)*a + 0.5), uint8(255*a + 0.5)}
}
