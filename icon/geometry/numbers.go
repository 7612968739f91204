package geometry

import (
	"math"
	"strconv"
)

// Numbers reads numbers as SVG writes them in attributes: separated by spaces, a comma, or nothing
// where the next one can begin without (SVG 2, section 9.3.9).
type Numbers struct{ Rest string }

// Units holds the absolute lengths of CSS Values 4, section 6, in pixels.
var Units = map[string]float64{"": 1, "px": 1, "pt": 96.0 / 72, "pc": 16, "in": 96, "cm": 96 / 2.54, "mm": 96 / 25.4, "q": 96 / 101.6}

// exactDigits is the number of decimal digits that a float64 has room for.
const exactDigits = 15

var tens = func() (powers [exactDigits + 1]float64) {
	for i := range powers {
		powers[i] = math.Pow10(i)
	}
	return powers
}()

// Next returns the next number. It is not ok if something else follows.
func (n *Numbers) Next() (f float64, ok bool) {
	n.SkipSpace()
	s := n.Rest
	i, digits, after := 0, 0, 0
	point := false
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
scan:
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			f = 10*f + float64(c-'0')
			digits++
			if point {
				after++
			}
		case c == '.' && !point:
			point = true
		default:
			break scan
		}
	}
	if digits == 0 {
		return 0, false
	}
	if end := i + exponent(s[i:]); end > i || digits > exactDigits {
		n.Rest = s[end:]
		f, err := strconv.ParseFloat(s[:end], 64)
		return f, err == nil
	}
	n.Rest = s[i:]
	if f /= tens[after]; s[0] == '-' {
		f = -f
	}
	return f, true
}

// exponent returns the length of the exponent with which s begins; 0: there is none, as in 1em.
func exponent(s string) int {
	if s == "" || s[0]|0x20 != 'e' {
		return 0
	}
	i := 1
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	digits := i
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	if i == digits {
		return 0
	}
	return i
}

// Flag returns the next flag of an arc, which needs no space after it.
func (n *Numbers) Flag() (set, ok bool) {
	n.SkipSpace()
	if n.Rest == "" || n.Rest[0] != '0' && n.Rest[0] != '1' {
		return false, false
	}
	set, n.Rest = n.Rest[0] == '1', n.Rest[1:]
	return set, true
}

// SkipSpace skips white space and at most one comma.
func (n *Numbers) SkipSpace() {
	comma := false
	for n.Rest != "" {
		switch c := n.Rest[0]; {
		case c == ' ', c == '\t', c == '\n', c == '\r', c == '\f':
		case c == ',' && !comma:
			comma = true
		default:
			return
		}
		n.Rest = n.Rest[1:]
	}
}

// List reads a list of numbers and nothing else.
func List(s string) (list []float64, ok bool) {
	n := Numbers{s}
	for {
		f, ok := n.Next()
		if !ok {
			break
		}
		list = append(list, f)
	}
	n.SkipSpace()
	return list, n.Rest == ""
}
