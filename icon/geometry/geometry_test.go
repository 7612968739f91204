package geometry

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// written returns the segments of path data, one a word.
func written(data string) string {
	var all []string
	count := map[byte]int{'M': 2, 'L': 2, 'C': 6, 'A': 7}
	Path(data, func(s Segment) bool {
		text := string(s.Kind)
		for i, f := range s.Args[:count[s.Kind]] {
			text += map[bool]string{true: ","}[i > 0] + strconv.FormatFloat(f, 'g', 6, 64)
		}
		all = append(all, text)
		return true
	})
	return strings.Join(all, " ")
}

func TestPath(t *testing.T) {
	for _, row := range []struct{ data, want string }{
		{"M1 2l3-1H9v.5.5z", "M1,2 L4,1 L9,1 L9,1.5 L9,2 Z"},
		{"m1 2 3 4", "M1,2 L4,6"},
		{"M1 1h1zl2 2", "M1,1 L2,1 Z M1,1 L3,3"}, // a subpath begins where the last one was closed
		{"M0 0c1 0 2 1 2 2s1 2 2 2", "M0,0 C1,0,2,1,2,2 C2,3,3,4,4,4"},
		{"M0 0S1 2 2 2", "M0,0 C0,0,1,2,2,2"}, // nothing to mirror
		{"M0 0q3 0 3 3t3 3", "M0,0 C2,0,3,1,3,3 C3,5,4,6,6,6"},
		{"M0 0a1 2 30 105 6", "M0,0 A1,2,30,1,0,5,6"}, // flags need no space after them
		{"M0 0a1 2 30 2 0 5 6", "M0,0"},
		{"L1 1", ""}, {"1 1", ""}, {"M1 1b2 2", "M1,1"}, {"M1 1L2", "M1,1"}, {"M1 1z5", "M1,1 Z"}, {"M1,,1", ""}, {"", ""},
	} {
		if got := written(row.data); got != row.want {
			t.Errorf("%s: %s, want %s", row.data, got, row.want)
		}
	}
	n := 0
	Path("M0 0h1 1 1 1", func(Segment) bool { n++; return n < 3 })
	if n != 3 {
		t.Errorf("%d segments after the third, which was to be the last", n)
	}
}

func TestTransform(t *testing.T) {
	for value, want := range map[string]string{
		"": "1 2", "none": "1 2", "translate(3)": "4 2", "translate(3,4) scale(2)": "5 8",
		"scale(2 3)translate(1px,1px)": "4 9", "rotate(90)": "-2 1", "rotate(180deg 1 1)": "1 0",
		"matrix(1 2 3 4 5 6)": "12 16", "skewX(45)": "3 2", "skewY(45)": "1 3", "translateX(1), translateY(1)": "2 3",
		"scaleX(3) scaleY(4)": "3 8",
		"scale()":             "malformed", "scale(1 2 3)": "malformed", "turn(1)": "malformed",
		"scale(2": "malformed", "matrix(1 2 3)": "malformed", "translate(1x)": "malformed",
	} {
		got := "malformed"
		if m, ok := Transform(value); ok {
			x, y := m.Apply(1, 2)
			got = fmt.Sprint(math.Round(x*1e6)/1e6, math.Round(y*1e6)/1e6)
		}
		if got != want {
			t.Errorf("%s maps 1 2 to %s, want %s", value, got, want)
		}
	}
}

func TestList(t *testing.T) {
	for value, want := range map[string][]float64{
		"": nil, " 1,2 -.5.25+3 ": {1, 2, -.5, .25, 3}, "1e3 1E-2": {1000, .01}, "1.": {1}, "-0": {0},
		"0.1234567890123456789": {0.1234567890123456789}, "12345678901234567890": {12345678901234567890},
	} {
		if got, ok := List(value); !ok || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v, want %v", value, got, ok, want)
		}
	}
	for _, value := range []string{"1em", "1,,2", "a", "1 e5", "--1", "."} {
		if got, ok := List(value); ok {
			t.Errorf("%q is the list %v", value, got)
		}
	}
}

// Next reads what strconv.ParseFloat reads of the same bytes.
func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"1.5-2", "-.5e-3x", "123456789012345678", "1e999", "+0.1em"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.TrimLeft(s, " \t\n\r\f,")
		n := Numbers{s}
		got, ok := n.Next()
		if !ok {
			return
		}
		text := strings.TrimSuffix(s, n.Rest)
		if want, err := strconv.ParseFloat(text, 64); err != nil || got != want {
			t.Errorf("%q: %v, want %v, %v", text, got, want, err)
		}
	})
}
