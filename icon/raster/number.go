package raster

import (
	"strconv"
	"strings"
)

// A scanner reads the numbers of path data and lists.
type scanner struct {
	s   string
	pos int
}

// space skips white space and at most one comma.
func (s *scanner) space() {
	comma := false
	for s.pos < len(s.s) {
		switch c := s.s[s.pos]; {
		case c == ' ', c == '\t', c == '\n', c == '\r', c == '\f':
		case c == ',' && !comma:
			comma = true
		default:
			return
		}
		s.pos++
	}
}

// number reads a number (SVG 2, section 9.3.9): it ends where the next one can begin.
func (s *scanner) number() (f float64, ok bool) {
	s.space()
	start := s.pos
	if s.pos < len(s.s) && (s.s[s.pos] == '+' || s.s[s.pos] == '-') {
		s.pos++
	}
	digits := s.digits()
	if s.pos < len(s.s) && s.s[s.pos] == '.' {
		s.pos++
		digits += s.digits()
	}
	if digits == 0 {
		s.pos = start
		return 0, false
	}
	if s.pos < len(s.s) && (s.s[s.pos] == 'e' || s.s[s.pos] == 'E') {
		before := s.pos
		s.pos++
		if s.pos < len(s.s) && (s.s[s.pos] == '+' || s.s[s.pos] == '-') {
			s.pos++
		}
		if s.digits() == 0 {
			s.pos = before // 1em
		}
	}
	f, err := strconv.ParseFloat(s.s[start:s.pos], 64)
	return f, err == nil
}

func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.s) && '0' <= s.s[s.pos] && s.s[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - start
}

// flag reads a flag of an arc, which needs no space after it.
func (s *scanner) flag() (set, ok bool) {
	s.space()
	if s.pos >= len(s.s) || s.s[s.pos] != '0' && s.s[s.pos] != '1' {
		return false, false
	}
	s.pos++
	return s.s[s.pos-1] == '1', true
}

// numbers reads a list of numbers and nothing else.
func numbers(s string) (list []float64, ok bool) {
	in := scanner{s: s}
	for {
		f, ok := in.number()
		if !ok {
			break
		}
		list = append(list, f)
	}
	in.space()
	return list, in.pos == len(s)
}

// length reads a length in user units. A percentage is of base. It returns def for an empty or
// invalid value.
func length(s string, base, def float64) float64 {
	s = strings.TrimSpace(s)
	if s == "" {
		return def
	}
	in := scanner{s: s}
	f, ok := in.number()
	if !ok {
		return def
	}
	switch s[in.pos:] {
	case "", "px":
		return f
	case "%":
		return f / 100 * base
	case "pt":
		return f * 96 / 72
	case "pc":
		return f * 16
	case "in":
		return f * 96
	case "cm":
		return f * 96 / 2.54
	case "mm":
		return f * 96 / 25.4
	case "em", "rem":
		return f * 16
	}
	return def
}

// fraction reads a number or a percentage as a fraction.
func fraction(s string, def float64) float64 {
	if f := length(s, 1, def); f == f {
		return f
	}
	return def
}
