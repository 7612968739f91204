package icon

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxLength is the number of bytes of the longest width or height with a unit.
const maxLength = 16

// ParseCDNVariant reads the parameters of the CDN path: the values of ParseVariant, and those that
// Iconify's SVG address takes. Where both know a value, that of ParseVariant counts: rotate=90 is
// 90 degrees. It refuses the values that Iconify replaces by a default.
func ParseCDNVariant(p Params) (Variant, error) {
	plain := Params{}
	for name, value := range p {
		plain[name] = value
	}
	v := Variant{Box: p["box"] != "", Download: p["download"] != ""}
	for _, side := range []struct {
		name string
		text *string
	}{{"width", &v.WidthText}, {"height", &v.HeightText}} {
		s, given := p[side.name]
		if _, number := wholeNumber(s); !given || number {
			continue
		}
		if text, ok := length(s); ok && !isZero(text) {
			*side.text = text
			plain[side.name] = "1" // for the rule that size excludes it
		}
	}
	if s, given := p["rotate"]; given && !slices.Contains([]string{"90", "180", "270", "-90", "1", "2", "3"}, s) {
		turns, ok := turnsOrAngle(s)
		if !ok {
			return Variant{}, &ParamError{"rotate",
				"rotate must be an angle of whole quarter turns, such as 90, -90, 90deg or 25%, or up to three quarter turns, such as 1"}
		}
		delete(plain, "rotate")
		if turns != 0 {
			plain["rotate"] = strconv.Itoa(turns)
		}
	}
	if s, given := p["flip"]; given {
		plain["flip"] = strings.Join(flipWords(s), ",")
	}
	parsed, err := ParseVariant(plain)
	if err != nil {
		return Variant{}, err
	}
	if v.WidthText == "" {
		v.Width = parsed.Width
	}
	if v.HeightText == "" {
		v.Height = parsed.Height
	}
	v.Rotate, v.HFlip, v.VFlip, v.ID = parsed.Rotate, parsed.HFlip, parsed.VFlip, parsed.ID
	v.Frame, v.Style, v.Dark = parsed.Frame, parsed.Style, parsed.Dark
	return v, nil
}

// ParseIconifyVariant reads the parameters of Iconify's SVG address as Iconify does: a value that
// it does not know counts as absent, because an icon is better than a broken image.
func ParseIconifyVariant(p Params) Variant {
	v := Variant{Box: p["box"] != "", Download: p["download"] != ""}
	v.WidthText, _ = length(p["width"])
	v.HeightText, _ = length(p["height"])
	v.Rotate, _ = quarterTurns(p["rotate"])
	for _, word := range flipWords(p["flip"]) {
		v.HFlip = v.HFlip || word == "horizontal"
		v.VFlip = v.VFlip || word == "vertical"
	}
	return v.canonical()
}

func flipWords(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || '\t' <= r && r <= '\r' })
}

// wholeNumber reads digits alone, the form that ParseVariant judges.
func wholeNumber(s string) (n int, ok bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// length reads a width or height in Iconify's spelling, in canonical form: a number, one with a CSS
// unit, auto, or none, which unset means too.
func length(s string) (text string, ok bool) {
	switch s {
	case "auto", "none":
		return s, true
	case "unset":
		return "none", true
	}
	number, unit := SplitLength(s)
	if len(s) > maxLength || number == "" || strings.Count(number, ".") > 1 || strings.Trim(number, ".") == "" ||
		number[len(number)-1] == '.' {
		return "", false
	}
	if unit != "" && unit != "%" && strings.Trim(strings.ToLower(unit), "abcdefghijklmnopqrstuvwxyz") != "" {
		return "", false
	}
	return s, true
}

// SplitLength splits a length into its number and its unit.
func SplitLength(s string) (number, unit string) {
	unit = strings.TrimLeft(s, "0123456789.")
	return s[:len(s)-len(unit)], unit
}

func isZero(s string) bool {
	number, _ := SplitLength(s)
	return number != "" && strings.Trim(number, "0.") == ""
}

// quarterTurns reads a rotation as rotateFromString of @iconify/utils does: quarter turns, or an
// angle with deg or %. It is not ok for anything but whole quarter turns; the result is then 0.
func quarterTurns(s string) (turns int, ok bool) {
	unit := strings.TrimLeft(strings.TrimPrefix(s, "-"), "0123456789.")
	number := strings.TrimSuffix(s, unit)
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || len(s) > maxLength {
		return 0, false
	}
	switch unit {
	case "":
		f = math.Trunc(f)
	case "deg":
		f /= 90
	case "%":
		f /= 25
	default:
		return 0, false
	}
	if f != math.Trunc(f) {
		return 0, false
	}
	return int(math.Mod(math.Mod(f, 4)+4, 4)), true
}

// turnsOrAngle reads a rotation of the CDN path: up to three quarter turns, or an angle. Iconify
// takes every number as quarter turns, so that 45 would be one; here it is an angle that no icon
// can be turned by.
func turnsOrAngle(s string) (turns int, ok bool) {
	if n, err := strconv.Atoi(s); err == nil && (n < -3 || n > 3) {
		return ((n/90)%4 + 4) % 4, n%90 == 0
	}
	return quarterTurns(s)
}

// ParamCSSColor reads the color parameter of the CDN path: any CSS colour. It returns "" if the
// parameter is absent or currentColor.
func ParamCSSColor(p Params) (Color, error) {
	s, given := p["color"]
	if !given || IsCurrentColor(s) {
		return "", nil
	}
	c, ok := CSSColor(s)
	if !ok {
		return "", &ParamError{"color", ErrColor.Error() + "; or another CSS color, such as a name or rgb()"}
	}
	return c, nil
}
