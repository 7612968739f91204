package icon

import (
	"math"
	"strconv"
	"strings"
)

// StyleParams are the parameters of a Style.
var StyleParams = []string{"stroke", "secondary"}

// Widths of strokes that a request may name.
const (
	MinStroke = 0.25
	MaxStroke = 4.0
)

// A Style is how an icon is drawn. The zero Style is that of the icon as published. It applies to
// icons that can have it: with strokes of one width, or with two tones.
type Style struct {
	// Stroke is the width of all strokes, in hundredths at most; 0: the icon's own. The unit is a
	// pixel of the icon when it is 24 pixels high.
	Stroke float64
	// Secondary is the colour of the translucent parts. They stay as translucent as they are,
	// unless it has an alpha of its own, which may be ff here.
	Secondary Color
}

// ParseStyle reads stroke and secondary. A width is rounded to hundredths, because nobody sees
// more, so that there are few variants.
func ParseStyle(p Params) (s Style, err error) {
	if s.Stroke, err = paramStroke(p); err != nil {
		return Style{}, err
	}
	text, given := p["secondary"]
	if !given || IsCurrentColor(text) {
		return s, nil
	}
	var ok bool
	if s.Secondary, ok = CSSColor(text); !ok {
		return Style{}, &ParamError{"secondary", "secondary must be a CSS color, such as fff or white"}
	}
	digits := strings.ToLower(strings.TrimPrefix(text, "#"))
	if opaque := len(digits) == 4 && digits[3] == 'f' || len(digits) == 8 && digits[6:] == "ff"; opaque && isHex(digits) {
		s.Secondary += "ff"
	}
	return s, nil
}

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

func paramStroke(p Params) (float64, error) {
	text, given := p["stroke"]
	if !given {
		return 0, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if width := math.Round(f*100) / 100; err == nil && strings.Trim(text, "0123456789.") == "" && width >= MinStroke && width <= MaxStroke {
		return width, nil
	}
	return 0, &ParamError{"stroke", "stroke must be a number from 0.25 to 4, such as 1.5"}
}

// Of returns the part of a style that an icon can have: a width, if its strokes have the width
// stroke, and not 0; a second colour, if it has two tones.
func (s Style) Of(stroke float64, twoTone bool) Style {
	if stroke == 0 {
		s.Stroke = 0
	}
	if !twoTone {
		s.Secondary = ""
	}
	return s
}

// StrokeText returns a width as requests and answers write it.
func StrokeText(width float64) string { return strconv.FormatFloat(width, 'f', -1, 64) }
