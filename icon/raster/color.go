package raster

import (
	"image/color"
	"math"
	"strings"

	"github.com/iconedge/iconedge/icon"
)

// parseColor reads a CSS colour. It is not ok for anything that is none.
func parseColor(s string, current color.NRGBA) (c color.NRGBA, ok bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	switch {
	case s == "currentcolor":
		return current, true
	case s == "transparent":
		return c, true
	case strings.HasSuffix(s, ")"):
		return parseFunction(s)
	}
	read, ok := icon.ReadColor(s)
	return color.NRGBA(read), ok
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
