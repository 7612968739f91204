package search

import (
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

// TestLooks filters by what an icon looks like and by its height. A word of style in a name wins
// over a look.
func TestLooks(t *testing.T) {
	packs := []icon.Pack{{Key: "a", Name: "A", License: "MIT"}}
	var docs []Doc
	looks := map[string]Look{"home": Filled, "home-outline": Filled, "home-line": Outline, "home-fill": Outline,
		"home-duotone": TwoTone, "home-flag": Multicolour}
	for name, look := range looks {
		d := Doc{Pack: "a", Name: name, Width: 24, Height: 24, Monochrome: look != Multicolour, Look: look}
		copy(d.Image[:], name)
		if name == "home-flag" {
			d.Height = 32
		}
		docs = append(docs, d)
	}
	x := open(t, packs, docs)
	outlined, unknown := x.Look(icon.Ref{Pack: "a", Name: "home-outline"}), x.Look(icon.Ref{Pack: "a", Name: "none"})
	if !x.HasLooks() || outlined != Outline || unknown != NoLook {
		t.Error("the index does not know the looks")
	}
	for _, row := range []struct {
		f    Filter
		want string
	}{
		{Filter{Style: "outline"}, "a/home-line a/home-outline"},
		{Filter{Style: "Filled"}, "a/home a/home-fill"},
		{Filter{Style: "two-tone"}, "a/home-duotone"},
		{Filter{Style: "multicolour"}, "a/home-flag"},
		{Filter{Grid: 32}, "a/home-flag"},
		{Filter{Style: "filled", Grid: 32}, ""},
	} {
		hits, _ := x.Search(Query{Text: "home", Filter: row.f, Limit: 50})
		for _, want := range strings.Fields(row.want) {
			if !strings.Contains(" "+refs(hits)+" ", " "+want+" ") {
				t.Errorf("%+v: got %s, want %s", row.f, refs(hits), row.want)
			}
		}
		if len(hits) != len(strings.Fields(row.want)) {
			t.Errorf("%+v: got %s, want %s", row.f, refs(hits), row.want)
		}
	}
	for i := range docs {
		docs[i].Look = NoLook
	}
	if open(t, packs, docs).HasLooks() {
		t.Error("an index of an earlier program has looks")
	}
}
