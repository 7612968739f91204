package shape

import (
	"math"
	"strconv"
)

// numbers reads numbers as SVG writes them in attributes: separated by spaces, commas, or nothing
// where a sign or a second point begins the next one.
type numbers struct{ rest []byte }

// next returns the next number. It is not ok if something else follows.
func (n *numbers) next() (f float64, ok bool) {
	b := n.skipSpace()
	i, digits, after := 0, 0, 0
	negative, point := false, false
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		negative = b[i] == '-'
		i++
	}
scan:
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case c >= '0' && c <= '9':
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
	if i < len(b) && b[i]|0x20 == 'e' || digits > exactDigits {
		return n.long(b)
	}
	n.rest = b[i:]
	if f /= tens[after]; negative {
		f = -f
	}
	return f, true
}

// exactDigits is the number of decimal digits that a float64 has room for.
const exactDigits = 15

var tens = func() (powers [exactDigits + 1]float64) {
	for i := range powers {
		powers[i] = math.Pow10(i)
	}
	return powers
}()

// long reads a number with an exponent or many digits.
func (n *numbers) long(b []byte) (f float64, ok bool) {
	end, point := 0, false
	for ; end < len(b); end++ {
		c := b[end]
		sign := (c == '-' || c == '+') && (end == 0 || b[end-1]|0x20 == 'e')
		if c == '.' && !point {
			point = true
		} else if (c < '0' || c > '9') && c|0x20 != 'e' && !sign {
			break
		}
	}
	f, err := strconv.ParseFloat(string(b[:end]), 64)
	if err != nil || math.IsInf(f, 0) {
		return 0, false
	}
	n.rest = b[end:]
	return f, true
}

// flag reads a flag of an arc, which needs no separator after it.
func (n *numbers) flag() (set, ok bool) {
	b := n.skipSpace()
	if len(b) == 0 || b[0] != '0' && b[0] != '1' {
		return false, false
	}
	n.rest = b[1:]
	return b[0] == '1', true
}

func (n *numbers) skipSpace() []byte {
	for len(n.rest) > 0 && (n.rest[0] <= ' ' || n.rest[0] == ',') {
		n.rest = n.rest[1:]
	}
	return n.rest
}

// number reads one number with an optional unit; a percentage is a share.
func number(b []byte) (f float64, ok bool) {
	n := numbers{b}
	if f, ok = n.next(); ok && len(n.rest) > 0 && n.rest[0] == '%' {
		f /= 100
	}
	return f, ok
}
