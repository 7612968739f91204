package icon

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
)

// MaxNear is the largest number of similar names in an answer.
const MaxNear = 5

// A NameList has the names of a pack, sorted. Some are hidden: clients can fetch them by name, but
// no list shows them.
type NameList interface {
	Near(name string, n int) iter.Seq[string] // up to n names around the place of name
	Lookup(name string) (there, visible bool)
}

// Near returns names in the list that are similar to a name that is not in it, the closest first,
// without hidden ones. Its cost is bounded, so it may miss some: it looks at the neighbours of the
// name in the sorted list, and at those of the name with a character removed or two exchanged, as
// in common typos.
func Near(s NameList, name string) []string {
	seen := map[string]int{}
	look := func(start string, n int) {
		for near := range s.Near(start, n) {
			if _, again := seen[near]; !again {
				seen[near] = distance(name, near)
			}
		}
	}
	look(name, 24)
	for _, typo := range typos(name) {
		if there, _ := s.Lookup(typo); there {
			seen[typo] = distance(name, typo)
		}
		look(typo, 2)
	}
	names := closest(name, seen)
	shown := names[:0]
	for _, near := range names {
		if _, visible := s.Lookup(near); visible && len(shown) < MaxNear {
			shown = append(shown, near)
		}
	}
	return shown
}

// Meant returns the names that a client may mean by another spelling of name: name itself first, if
// the list has it, then similar ones.
func Meant(s NameList, name string) []string {
	near := slices.DeleteFunc(Near(s, name), func(other string) bool { return other == name })
	if _, visible := s.Lookup(name); visible {
		near = append([]string{name}, near...)
	}
	return near[:min(len(near), MaxNear)]
}

// NearKeys returns the keys that are similar to a key that is not among them, the closest first.
func NearKeys(keys iter.Seq[string], key string) []string {
	seen := map[string]int{}
	for k := range keys {
		seen[k] = distance(key, k)
	}
	names := closest(key, seen)
	return names[:min(len(names), MaxNear)]
}

// Around yields up to n of the indices 0 to length-1 that are closest to at, alternately after and
// before it. If found is set, at is the index of an element and Around leaves it out; otherwise at
// is the index where an element would be inserted.
func Around(at int, found bool, length, n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		before, after := at-1, at
		if found {
			after++
		}
		for turn := range n {
			next := -1
			if after < length && (turn%2 == 0 || before < 0) {
				next, after = after, after+1
			} else if before >= 0 {
				next, before = before, before-1
			}
			if next < 0 || !yield(next) {
				return
			}
		}
	}
}

// maxTypos bounds the work for a long name: only its first characters are varied.
const maxTypos = 16

// typos returns the variants of name with a character removed or two neighbours exchanged.
func typos(name string) []string {
	var out []string
	for i := 0; i < min(len(name), maxTypos); i++ {
		out = append(out, name[:i]+name[i+1:])
		if i+1 < len(name) && name[i] != name[i+1] {
			out = append(out, name[:i]+name[i+1:i+2]+name[i:i+1]+name[i+2:])
		}
	}
	return out
}

// closest removes the names that are too far from name, and sorts the rest.
func closest(name string, distances map[string]int) []string {
	bound := max(1, min(3, len(name)/3))
	maps.DeleteFunc(distances, func(near string, d int) bool {
		return d > bound && !strings.HasPrefix(near, name+"-") && !strings.HasPrefix(name, near+"-")
	})
	return slices.SortedFunc(maps.Keys(distances), func(a, b string) int {
		return cmp.Or(cmp.Compare(distances[a], distances[b]), cmp.Compare(a, b))
	})
}

// maxDistance is the largest value that distance returns; names that far apart are not similar.
const maxDistance = 32

// distance returns the Damerau-Levenshtein distance (optimal string alignment) between two names:
// the number of characters to remove, add or change, or of neighbours to exchange.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 || len(a)-len(b) > maxDistance || len(b)-len(a) > maxDistance {
		return maxDistance
	}
	var rows [3][65]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			change := 1
			if a[i] == b[j] {
				change = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+change)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], maxDistance)
}
