package icon

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
)

// MaxNear is how many close names are given at most.
const MaxNear = 5

// A Shelf has the names of a pack, sorted. Some are hidden: those are fetched by name and shown in no list.
type Shelf interface {
	Near(name string, n int) iter.Seq[string] // up to n that stand next to where name does or would
	Shows(name string) (there, visible bool)
}

// Near gives names on a shelf that are close to one that it has not, the closest first; hidden ones are not among them. Its cost is bounded, not its
// quality: it looks at the neighbours of the name in the sorted list, and of the name with a letter lost or two exchanged,
// where slips of the keyboard lead to.
func Near(s Shelf, name string) []string {
	seen := map[string]int{}
	look := func(start string, n int) {
		for near := range s.Near(start, n) {
			if _, again := seen[near]; !again {
				seen[near] = distance(name, near)
			}
		}
	}
	look(name, 24)
	for _, slip := range slips(name) {
		if there, _ := s.Shows(slip); there {
			seen[slip] = distance(name, slip)
		}
		look(slip, 2)
	}
	names := closest(name, seen)
	shown := names[:0]
	for _, near := range names {
		if _, visible := s.Shows(near); visible && len(shown) < MaxNear {
			shown = append(shown, near)
		}
	}
	return shown
}

// NearKeys gives those of these keys that are close to one that is not among them, the closest first.
func NearKeys(keys iter.Seq[string], key string) []string {
	seen := map[string]int{}
	for k := range keys {
		seen[k] = distance(key, k)
	}
	names := closest(key, seen)
	return names[:min(len(names), MaxNear)]
}

// Around gives up to n of the places 0 to length-1 that lie next to at, in turn after and before it. Where found is set, at itself is
// what they are next to; else it is the place before which that would stand.
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

// maxSlips bounds the work for a long name: the slips of its first letters are tried.
const maxSlips = 16

func slips(name string) []string {
	var out []string
	for i := 0; i < min(len(name), maxSlips); i++ {
		out = append(out, name[:i]+name[i+1:])
		if i+1 < len(name) && name[i] != name[i+1] {
			out = append(out, name[:i]+name[i+1:i+2]+name[i:i+1]+name[i+2:])
		}
	}
	return out
}

// closest leaves out what is too far from name, and sorts the rest.
func closest(name string, distances map[string]int) []string {
	bound := max(1, min(3, len(name)/3))
	maps.DeleteFunc(distances, func(near string, d int) bool {
		return d > bound && !strings.HasPrefix(near, name+"-") && !strings.HasPrefix(name, near+"-")
	})
	return slices.SortedFunc(maps.Keys(distances), func(a, b string) int {
		return cmp.Or(cmp.Compare(distances[a], distances[b]), cmp.Compare(a, b))
	})
}

// maxDistance is what distance gives at most: more is as good as unlike.
const maxDistance = 32

// distance is that of Damerau and Levenshtein (optimal string alignment) between two names: letters lost, added or
// changed, or neighbours exchanged.
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
