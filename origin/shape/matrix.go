package shape

import (
	"bytes"
	"math"
)

// A matrix maps x to a*x + c*y + e, and y to b*x + d*y + f.
type matrix struct{ a, b, c, d, e, f float64 }

func (m matrix) apply(p point) point {
	return point{m.a*p.x + m.c*p.y + m.e, m.b*p.x + m.d*p.y + m.f}
}

// after returns the matrix that applies n first.
func (m matrix) after(n matrix) matrix {
	return matrix{
		m.a*n.a + m.c*n.b, m.b*n.a + m.d*n.b, m.a*n.c + m.c*n.d, m.b*n.c + m.d*n.d,
		m.a*n.e + m.c*n.f + m.e, m.b*n.e + m.d*n.f + m.f,
	}
}

// scale returns the factor of lengths, on average over all directions.
func (m matrix) scale() float64 { return math.Sqrt(math.Abs(m.a*m.d - m.b*m.c)) }

// transformed applies a list of transforms (CSS Transforms, section 9) up to its first error.
func (m matrix) transformed(list []byte) matrix {
	for {
		name, rest, ok := bytes.Cut(list, []byte{'('})
		if !ok {
			return m
		}
		inside, after, ok := bytes.Cut(rest, []byte{')'})
		if !ok {
			return m
		}
		var args [6]float64
		n := numbers{inside}
		count := 0
		for count < len(args) {
			f, ok := n.next()
			if !ok {
				break
			}
			args[count] = f
			count++
		}
		one, ok := operation(bytes.Trim(name, " ,\t\n"), args, count)
		if !ok {
			return m
		}
		m, list = m.after(one), after
	}
}

func operation(name []byte, a [6]float64, count int) (m matrix, ok bool) {
	m = matrix{a: 1, d: 1}
	switch {
	case string(name) == "matrix" && count == 6:
		m = matrix{a[0], a[1], a[2], a[3], a[4], a[5]}
	case string(name) == "translate" && count > 0:
		m.e, m.f = a[0], a[1]
	case string(name) == "scale" && count > 0:
		if m.a, m.d = a[0], a[1]; count == 1 {
			m.d = a[0]
		}
	case string(name) == "rotate" && count > 0:
		sin, cos := math.Sincos(a[0] * math.Pi / 180)
		turn := matrix{cos, sin, -sin, cos, 0, 0}
		m = matrix{1, 0, 0, 1, a[1], a[2]}.after(turn).after(matrix{1, 0, 0, 1, -a[1], -a[2]})
	case string(name) == "skewX" && count == 1:
		m.c = math.Tan(a[0] * math.Pi / 180)
	case string(name) == "skewY" && count == 1:
		m.b = math.Tan(a[0] * math.Pi / 180)
	default:
		return m, false
	}
	return m, true
}
