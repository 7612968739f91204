package publish

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
)

// iconify is a small library in Iconify's form, with turned aliases, font characters, hidden icons
// and suffixes. Other tests compare its answers with Iconify's own.
var iconify = filepath.Join("..", "..", "cmd", "iconedge", "testdata", "iconify", "library")

func setsOf(t *testing.T, b objectstore.Bucket) map[string]release.Set {
	t.Helper()
	sets, err := readSets(t.Context(), b, whole(t, b).Manifest)
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

// The release has what the source says about a pack, and how its aliases show their icons.
func TestSets(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	mustPublish(t, b, t0, iconify)
	m, fa := whole(t, b), setsOf(t, b)["fa"]
	if fa.LastModified == 0 || fa.Width != 1536 || fa.Chars["f036"] != "align-left" || fa.Total != 8 || fa.Seq != 1 {
		t.Errorf("the set fa is %+v", fa)
	}
	var info map[string]any
	if err := json.Unmarshal(fa.Info, &info); err != nil || info["total"] != 8.0 || info["samples"] == nil {
		t.Errorf("its info is %s, %v", fa.Info, err)
	}
	for name, want := range map[string]release.Turn{"align-right": {HFlip: true}, "angle-double-down": {VFlip: true}} {
		if meta := m.metas[icon.Ref{Pack: "fa", Name: name}]; meta.Turn == nil || *meta.Turn != want {
			t.Errorf("%s has the turn %v, want %v", name, meta.Turn, want)
		}
	}
	if meta := m.metas[icon.Ref{Pack: "mdi", Name: "house"}]; meta.AliasOf != "home" || meta.Turn != nil {
		t.Errorf("another name has the turn %v", meta.Turn)
	}
	data := blob(t, b, release.SetsKey(m.Sets.Hash), m.Sets)
	all, err := release.ParseSets(data)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, s := range all {
		order = append(order, s.Key)
	}
	if want := []string{"mdi", "fa", "twemoji", "fa6-regular", "lets-icons"}; !slices.Equal(order, want) {
		t.Errorf("the order is %q, want that of collections.json: %q", order, want)
	}
}

// A change of what the source says changes the release, and only the number of that set.
func TestSetChanges(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	lib := copied(t, "library")
	first := mustPublish(t, b, t0, lib)
	edit(t, filepath.Join(lib, "json/shapes.json"), `"lastModified": 1`, `"lastModified": 2`)
	second := mustPublish(t, b, t0.Add(time.Hour), lib)
	if second.Release == first.Release || second.Uploads != 1 {
		t.Errorf("got %+v, want another release and one upload: the sets", second)
	}
	for key, s := range setsOf(t, b) {
		if want := map[bool]int{true: 2, false: 1}[key == "shapes"]; s.Seq != want {
			t.Errorf("the set %s last changed in %d, want %d", key, s.Seq, want)
		}
	}
}

// A store with a release of an earlier program, which has no sets, gets them with the next
// publication of the same sources. The archives stay.
func TestUpgrade(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	mustPublish(t, b, t0, "testdata/library")
	m := whole(t, b).Manifest
	remove(t, b, release.SetsKey(m.Sets.Hash))
	m.Sets = release.Blob{}
	m.ID = m.ComputeID()
	put(t, b, release.ManifestKey(m.ID), string(m.Encode()))
	put(t, b, release.CurrentKey, string(release.Current{Release: m.ID, Published: t0}.Encode()))
	if bytes.Contains(m.Encode(), []byte(`"sets"`)) {
		t.Fatal("the manifest of the earlier program has sets")
	}
	sum := mustPublish(t, b, t0.Add(time.Hour), "testdata/library")
	if sum.Uploads != 1 || sum.Release == m.ID || len(setsOf(t, b)) != len(m.Packs) {
		t.Errorf("got %+v, want one upload, of %d sets", sum, len(m.Packs))
	}
}

// No pack may have the key that Iconify's addresses need.
func TestReservedKey(t *testing.T) {
	if err := validKey("iconify", "here"); err == nil {
		t.Error("a pack may be called iconify")
	}
}
