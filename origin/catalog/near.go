package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// MaxNear is how many close names are given at most.
const MaxNear = 5

// Near gives names in the pack that are close to one that it has not, the closest first; hidden icons are not among them. Its cost is bounded, not its
// quality: it looks at the neighbours of the name in the sorted list, and of the name with a letter lost or two exchanged,
// where slips of the keyboard lead to.
func (p *Pack) Near(name string) []string {
	a := p.archive.Load()
	if a == nil {
		return nil
	}
	seen := map[string]int{}
	look := func(start string, n int) {
		for near := range a.Near(start, n) {
			if _, again := seen[near]; !again {
				seen[near] = distance(name, near)
			}
		}
	}
	look(name, 24)
	for _, slip := range slips(name) {
		if e, ok := a.Find(slip); ok {
			seen[a.Name(e)] = distance(name, slip)
		}
		look(slip, 2)
	}
	names := closest(name, seen)
	visible := names[:0]
	for _, near := range names {
		e, _ := a.Find(near)
		if m, err := a.Meta(e); err == nil && !m.Hidden && len(visible) < MaxNear {
			visible = append(visible, near)
		}
	}
	return visible
}

// Near gives keys of visible packs that are close to one that there is not.
func (r *Release) Near(key string) []string {
	seen := map[string]int{}
	for _, p := range r.order {
		if !p.Hidden {
			seen[p.Pack.Pack] = distance(key, p.Pack.Pack)
		}
	}
	names := closest(key, seen)
	return names[:min(len(names), MaxNear)]
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
