package raster

import (
	"strings"

	"github.com/iconedge/iconedge/icon/geometry"
)

// length reads a length in user units. A percentage is of base. It returns def for an empty or
// invalid value.
func (s *style) length(v string, base, def float64) float64 {
	if f, ok := s.readLength(v, base); ok {
		return f
	}
	return def
}

func (s *style) readLength(v string, base float64) (f float64, ok bool) {
	in := geometry.Numbers{Rest: strings.TrimSpace(v)}
	f, ok = in.Next()
	if !ok {
		return 0, false
	}
	unit := strings.ToLower(in.Rest)
	if factor, known := geometry.Units[unit]; known {
		return f * factor, true
	}
	switch unit {
	case "%":
		return f / 100 * base, true
	case "em":
		return f * s.fontSize, true
	case "ex", "ch": // of a font that gives no measures
		return f * s.fontSize / 2, true
	case "rem":
		return f * s.rootSize, true
	}
	return 0, false
}

// number reads a number or a percentage as a fraction.
func number(v string) (f float64, ok bool) {
	in := geometry.Numbers{Rest: strings.TrimSpace(v)}
	f, ok = in.Next()
	if ok && in.Rest == "%" {
		return f / 100, true
	}
	return f, ok && in.Rest == ""
}

// fraction reads a number or a percentage as a fraction, or returns def.
func fraction(v string, def float64) float64 {
	if f, ok := number(v); ok {
		return f
	}
	return def
}
