package search

import (
	"fmt"
	"testing"
)

func TestShape(t *testing.T) {
	many := func(format string) (names []string) {
		for i := range 60 {
			names = append(names, fmt.Sprintf(format, i))
		}
		return names
	}
	for _, row := range []struct {
		why, name string
		others    []string
		want      shape
	}{
		{"plain", "home", nil, shape{0, 1, 0}},
		{"a style everywhere", "home-circle-outline", nil, shape{0, 2, 1}},
		{"a word that is a style in some packs", "traffic-light", nil, shape{0, 2, 0}},
		{"a style of this pack", "home-light", many("thing%d-light"), shape{0, 1, 1}},
		{"sizes and styles", "home-24-filled", many("thing%d-24-filled"), shape{0, 1, 2}},
		{"before the name", "baseline-home", many("baseline-thing%d"), shape{1, 1, 0}},
		{"a word before this name only", "line-chart", many("thing%d"), shape{0, 2, 0}},
		{"a habit", "go-icon", many("thing%d-icon"), shape{0, 1, 1}},
		{"nothing else would be left", "outline", nil, shape{0, 1, 0}},
		{"nothing else would be left of two", "filled-outline", nil, shape{0, 1, 1}},
	} {
		words := nameWords(nil, row.name)
		names := [][]string{words}
		for _, n := range row.others {
			names = append(names, nameWords(nil, n))
		}
		if got := learnStyles(names).shape(words); got != row.want {
			t.Errorf("%s: %s has the shape %+v, want %+v", row.why, row.name, got, row.want)
		}
	}
}
