package raster

import "math"

// A blendMode mixes the colours of a source and a backdrop, without their alpha (Compositing 1,
// section 9).
type blendMode func(back, src [3]float64) [3]float64

// blendModes holds the modes of mix-blend-mode but normal.
var blendModes = map[string]blendMode{
	"multiply":    channels(multiply),
	"screen":      channels(screen),
	"overlay":     channels(func(b, s float64) float64 { return hardLight(s, b) }),
	"darken":      channels(func(b, s float64) float64 { return min(b, s) }),
	"lighten":     channels(func(b, s float64) float64 { return max(b, s) }),
	"color-dodge": channels(dodge),
	"color-burn":  channels(burn),
	"hard-light":  channels(hardLight),
	"soft-light":  channels(softLight),
	"difference":  channels(func(b, s float64) float64 { return math.Abs(b - s) }),
	"exclusion":   channels(func(b, s float64) float64 { return b + s - 2*b*s }),
	"hue": func(b, s [3]float64) [3]float64 {
		return withLuminosity(withSaturation(s, saturation(b)), luminosity(b))
	},
	"saturation": func(b, s [3]float64) [3]float64 {
		return withLuminosity(withSaturation(b, saturation(s)), luminosity(b))
	},
	"color":      func(b, s [3]float64) [3]float64 { return withLuminosity(s, luminosity(b)) },
	"luminosity": func(b, s [3]float64) [3]float64 { return withLuminosity(b, luminosity(s)) },
}

// mix returns the premultiplied colour to compose over a backdrop in place of a source.
func (mode blendMode) mix(src, back [4]uint8) [4]uint8 {
	if back[3] == 0 || src[3] == 0 {
		return src
	}
	b, s := straight(back), straight(src)
	mixed := mode(b, s)
	alpha, under := float64(src[3])/255, float64(back[3])/255
	out := [4]uint8{3: src[3]}
	for k := range 3 {
		c := (1-under)*s[k] + under*mixed[k]
		out[k] = uint8(clamp(c, 0, 1)*alpha*255 + 0.5)
	}
	return out
}

func straight(c [4]uint8) [3]float64 {
	a := float64(c[3])
	return [3]float64{float64(c[0]) / a, float64(c[1]) / a, float64(c[2]) / a}
}

// channels makes a mode of a function of single channels.
func channels(f func(back, src float64) float64) blendMode {
	return func(b, s [3]float64) [3]float64 { return [3]float64{f(b[0], s[0]), f(b[1], s[1]), f(b[2], s[2])} }
}

func multiply(b, s float64) float64 { return b * s }
func screen(b, s float64) float64   { return b + s - b*s }

func hardLight(b, s float64) float64 {
	if s <= 0.5 {
		return multiply(b, 2*s)
	}
	return screen(b, 2*s-1)
}

func dodge(b, s float64) float64 {
	switch {
	case b == 0:
		return 0
	case s >= 1:
		return 1
	}
	return min(1, b/(1-s))
}

func burn(b, s float64) float64 {
	switch {
	case b >= 1:
		return 1
	case s <= 0:
		return 0
	}
	return 1 - min(1, (1-b)/s)
}

func softLight(b, s float64) float64 {
	if s <= 0.5 {
		return b - (1-2*s)*b*(1-b)
	}
	d := math.Sqrt(b)
	if b <= 0.25 {
		d = ((16*b-12)*b + 4) * b
	}
	return b + (2*s-1)*(d-b)
}

func luminosity(c [3]float64) float64 { return 0.3*c[0] + 0.59*c[1] + 0.11*c[2] }
func saturation(c [3]float64) float64 { return max(c[0], c[1], c[2]) - min(c[0], c[1], c[2]) }

func withLuminosity(c [3]float64, l float64) [3]float64 {
	d := l - luminosity(c)
	for k := range c {
		c[k] += d
	}
	l = luminosity(c)
	low, high := min(c[0], c[1], c[2]), max(c[0], c[1], c[2])
	for k := range c {
		if low < 0 {
			c[k] = l + (c[k]-l)*l/(l-low)
		}
		if high > 1 {
			c[k] = l + (c[k]-l)*(1-l)/(high-l)
		}
	}
	return c
}

func withSaturation(c [3]float64, s float64) [3]float64 {
	low, spread := min(c[0], c[1], c[2]), saturation(c)
	if spread == 0 {
		return [3]float64{}
	}
	for k := range c {
		c[k] = (c[k] - low) / spread * s
	}
	return c
}
