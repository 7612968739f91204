package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// didYouMean returns a question that names the nearest of the known names, or "" if none is near.
func didYouMean(name string, known []string) string {
	best, least := "", max(1, len(name)/3)+1
	for _, k := range slices.SortedFunc(slices.Values(known), cmp.Compare) {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// distance returns the number of letters to insert, delete, replace, or exchange with their
// neighbour that turns a into b (optimal string alignment).
func distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j]+change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
