package raster

import (
	"image/color"
	"math"
	"strings"

	"github.com/iconedge/iconedge/icon"
)

// parseColor reads a CSS colour. It is not ok for currentColor, and for anything that is none.
func parseColor(s string) (c color.NRGBA, ok bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	switch {
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
	part := strings.FieldsFunc(inside, func(r rune) bool { return strings.ContainsRune(" ,/\t\r\n", r) })
	if len(part) != 3 && len(part) != 4 {
		return c, false
	}
	if share := strings.Count(strings.Join(part[:3], ""), "%"); share%3 != 0 && strings.Contains(inside, ",") && name[0] == 'r' {
		return c, false // with commas, there are three percentages or none
	}
	var v [4]float64
	hue := strings.HasPrefix(name, "hsl")
	if hue {
		part[0] = strings.TrimSuffix(part[0], "deg")
	}
	for i, text := range part {
		if v[i], ok = number(text); !ok {
			return c, false
		}
		if i < 3 && !hue && strings.HasSuffix(text, "%") {
			v[i] *= 255
		}
	}
	if len(part) == 3 {
		v[3] = 1
	}
	switch name {
	case "rgb", "rgba":
		c = color.NRGBA{whole(v[0] / 255), whole(v[1] / 255), whole(v[2] / 255), whole(v[3])}
		return c, true
	case "hsl", "hsla":
		return fromHue(v[0], clamp(v[1], 0, 1), clamp(v[2], 0, 1), v[3]), true
	}
	return c, false
}

// whole returns a fraction in 255ths.
func whole(f float64) uint8 { return uint8(clamp(f, 0, 1)*255 + 0.5) }

// fromHue converts hue, saturation and lightness (CSS Color 4, section 7.1).
func fromHue(h, sat, light, alpha float64) color.NRGBA {
	if h = math.Mod(h, 360); h < 0 {
		h += 360
	}
	a := sat * min(light, 1-light)
	channel := func(n float64) uint8 {
		k := math.Mod(n+h/30, 12)
		return whole(light - a*max(-1, min(k-3, 9-k, 1)))
	}
	return color.NRGBA{channel(0), channel(8), channel(4), whole(alpha)}
}

// premultiplied returns the bytes of a colour in an image, with its alpha times opacity.
func premultiplied(c color.NRGBA, opacity float64) [4]uint8 {
	a := float64(c.A) / 255 * opacity
	return [4]uint8{uint8(float64(c.R)*a + 0.5), uint8(float64(c.G)*a + 0.5), uint8(float64(c.B)*a + 0.5), uint8(255*a + 0.5)}
}
