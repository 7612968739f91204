package publish

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// aliasesOf makes a collection with the icon "icon" and aliases, given as name and parent.
func aliasesOf(parents map[string]string) *collection {
	c := &collection{icons: map[string]*entry{"icon": {Body: text("<path d=\"M0 0h1v1z\"/>")}},
		aliases: map[string]*entry{}, defaults: emptyEntry()}
	for name, parent := range parents {
		e := emptyEntry()
		e.Parent = parent
		c.aliases[name] = &e
	}
	return c
}

// chainOf returns n aliases, the last of which is n links away from the icon.
func chainOf(n int) map[string]string {
	parents := map[string]string{"a1": "icon"}
	for i := 2; i <= n; i++ {
		parents[fmt.Sprint("a", i)] = fmt.Sprint("a", i-1)
	}
	return parents
}

func with(parents map[string]string, more ...string) map[string]string {
	for i := 0; i < len(more); i += 2 {
		parents[more[i]] = more[i+1]
	}
	return parents
}

func TestResolve(t *testing.T) {
	for _, tt := range []struct {
		name     string
		parents  map[string]string
		resolved int // aliases with an icon
		leftOut  map[string]string
	}{
		{"an alias", map[string]string{"a": "icon"}, 1, nil},
		{"the longest chain", chainOf(maxChain), maxChain, nil},
		{"a longer chain", chainOf(maxChain + 2), maxChain, map[string]string{
			"a33": "it is more than 32 aliases away from its icon", "a34": "it is more than 32 aliases away from its icon",
		}},
		{"aliases of nothing", map[string]string{"a": "b", "b": "c"}, 0,
			map[string]string{"a": "it is an alias of nothing", "b": "it is an alias of nothing"}},
		{"an alias of itself", map[string]string{"a": "a"}, 0, map[string]string{"a": "its aliases lead in a circle: a → a"}},
		{"a circle, and aliases that lead there", map[string]string{"c": "a", "a": "b", "b": "c", "x": "b", "y": "x"}, 0, map[string]string{
			"a": "its aliases lead in a circle: a → b → c → a", "b": "its aliases lead in a circle: a → b → c → a",
			"c": "its aliases lead in a circle: a → b → c → a",
			"x": "its aliases lead in a circle: a → b → c → a", "y": "its aliases lead in a circle: a → b → c → a",
		}},
		{"a large circle", map[string]string{"a": "b", "b": "c", "c": "d", "d": "e", "e": "f", "f": "a"}, 0, map[string]string{
			"a": "its aliases lead in a circle: a → b → c → d → 2 more → a",
			"b": "its aliases lead in a circle: a → b → c → d → 2 more → a",
			"c": "its aliases lead in a circle: a → b → c → d → 2 more → a",
			"d": "its aliases lead in a circle: a → b → c → d → 2 more → a",
			"e": "its aliases lead in a circle: a → b → c → d → 2 more → a",
			"f": "its aliases lead in a circle: a → b → c → d → 2 more → a",
		}},
		{"a parent with an invalid name", map[string]string{"a": "B B"}, 0, map[string]string{"a": "it is an alias of nothing"}},
	} {
		s, err := aliasesOf(tt.parents).set(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, o := range s.leftOut {
			got[o.Name] = o.Reason
		}
		if len(s.icons) != 1+tt.resolved || !maps.Equal(got, tt.leftOut) {
			t.Errorf("%s: %d icons and aliases, want %d; left out %q, want %q", tt.name, len(s.icons), 1+tt.resolved, got, tt.leftOut)
		}
	}
}

// The resolver follows each alias once, so its work grows with the number of aliases and not with
// the lengths of their chains.
func TestResolveIsLinear(t *testing.T) {
	const n = 20_000
	for chain, parents := range map[string]map[string]string{
		"a chain": chainOf(n), "a chain to nothing": with(chainOf(n), "a1", "none"), "a circle": with(chainOf(n), "a1", fmt.Sprint("a", n)),
	} {
		r := resolver{aliasesOf(parents), map[string]resolved{}}
		steps := 0
		names := slices.Sorted(maps.Keys(parents))
		for _, name := range names {
			before := len(r.known)
			r.resolve(name)
			steps += 1 + len(r.known) - before
		}
		if steps > 2*n || len(r.known) != n {
			t.Errorf("%s: %d steps for %d aliases, of which %d are known", chain, steps, n, len(r.known))
		}
	}
}

// The order of the calls does not change the result for an alias.
func TestResolveInAnyOrder(t *testing.T) {
	parents := with(chainOf(maxChain+3), "c1", "c2", "c2", "c1", "x", "c2", "y", "none", "z", "y", "b", "a4")
	names := slices.Sorted(maps.Keys(parents))
	results := func(names []string) string {
		r, out := resolver{aliasesOf(parents), map[string]resolved{}}, map[string]string{}
		for _, name := range names {
			out[name] = fmt.Sprint(r.resolve(name))
		}
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(out)) {
			lines = append(lines, name+" "+out[name])
		}
		return strings.Join(lines, "\n")
	}
	want := results(names)
	slices.Reverse(names)
	if got := results(names); got != want {
		t.Errorf("in reverse order:\n%s\nwant\n%s", got, want)
	}
}
