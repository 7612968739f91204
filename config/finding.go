package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Finding is one thing that is wrong with a file.
type Finding struct {
	File    string
	Line    int    // from 1
	Field   string // its path, such as sites[0].rules[2].ttl
	Text    string // the error; the correct form
	Warning bool   // the file can be used all the same
}

// String returns the finding as one line, FILE:LINE: FIELD: TEXT.
func (f Finding) String() string {
	s := fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Field, f.Text)
	return strings.NewReplacer("\n", " ", "\r", " ").Replace(s)
}

// Findings are the findings of one file.
type Findings []Finding

// Errors returns the findings that make the file unusable, by line.
func (f Findings) Errors() Findings { return f.only(false) }

// Warnings returns the other findings, by line.
func (f Findings) Warnings() Findings { return f.only(true) }

// MaxFindings bounds the warnings, and the other findings, of a file. TooMany is the text of one
// more.
const (
	MaxFindings = 100
	TooMany     = "more than 100 findings; correct the earlier ones first"
)

// Add adds a finding if there is room. It reports whether there is room for more of its kind.
func (f *Findings) Add(one Finding) bool {
	same := 0
	for _, other := range *f {
		if other.Warning == one.Warning {
			same++
		}
	}
	if same == MaxFindings {
		one.Text = TooMany
	}
	if same <= MaxFindings {
		*f = append(*f, one)
	}
	return same < MaxFindings
}

func (f Findings) only(warning bool) (some Findings) {
	for _, one := range f {
		if one.Warning == warning {
			some = append(some, one)
		}
	}
	slices.SortStableFunc(some, func(a, b Finding) int { return cmp.Compare(a.Line, b.Line) })
	return some
}

// Error returns the findings, one a line.
func (f Findings) Error() string {
	lines := make([]string, len(f))
	for i, one := range f {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// nearest returns "; did you mean NAME?" for the known name that is most like a name, or else the
// known names.
func nearest(name string, known []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, k := range known {
		if d := distance(name, k); d < least || d == least && k < best {
			best, least = k, d
		}
	}
	switch {
	case best != "":
		return "; did you mean " + best + "?"
	case len(known) == 0:
		return ""
	}
	return "; known are " + strings.Join(slices.Sorted(slices.Values(known)), ", ")
}

// distance returns the number of bytes to insert, delete, replace or swap with their neighbour that
// turn a into b. Names of more than 64 bytes count as far from each other.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			same := 1
			if a[i-1] == b[j-1] {
				same = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+same)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
