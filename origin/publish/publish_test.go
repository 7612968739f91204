package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/objectstore"
	"github.com/iconedge/iconedge/origin/release"
	"github.com/iconedge/iconedge/origin/search"
	"github.com/iconedge/iconedge/test/sequential"
)

var all = []string{"testdata/library", "testdata/package", "testdata/folder"}

func TestPacks(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	sum := mustPublish(t, b, t0, all...)
	m := whole(t, b)
	if m.ID != sum.Release || m.Seq != 1 || !m.Created.Equal(t0) {
		t.Errorf("release %s, %d, %v; want %s, 1, %v", m.ID, m.Seq, m.Created, sum.Release, t0)
	}
	for _, tt := range []struct {
		key    string
		hidden bool
		want   icon.Pack
	}{
		{"flags", false, icon.Pack{
			Name: "Flags", Count: 2, License: "CC-BY-4.0", LicenseTitle: "Creative Commons Attribution 4.0 International",
			LicenseURL: "https://example.com/licence", Attribution: "Flags by A. Drawer, CC-BY-4.0",
			CommercialUse: true, Author: "A. Drawer",
			Samples: []string{"plain", "red"}, Monochrome: true, Palette: true, Height: []float64{3, 16}, Categories: []icon.Category{},
		}},
		{"house", false, icon.Pack{
			Name: "House", Count: 5, License: "MIT", LicenseTitle: "MIT License", LicenseURL: "https://example.com/mit",
			Attribution: "House by Us, MIT", CommercialUse: true, Author: "Us", AuthorURL: "https://example.com", Category: "Ours",
			Samples:    []string{"home", "home-2", "home-black", "hostile", "shout"},
			Monochrome: true, Palette: true, Height: []float64{10, 24}, Categories: []icon.Category{},
		}},
		{"old", true, icon.Pack{ // hidden in collections.json
			Name: "Old", Count: 1, License: "Apache-2.0", LicenseTitle: "Apache License 2.0",
			LicenseURL:  "https://spdx.org/licenses/Apache-2.0.html",
			Attribution: "Old by Someone, Apache-2.0", CommercialUse: true, Author: "Someone",
			Samples: []string{"thing"}, Monochrome: true, Height: []float64{16}, Categories: []icon.Category{},
		}},
		{"paint", false, icon.Pack{
			Name: "Paint", Count: 1, License: "LicenseRef-Own", LicenseTitle: "Own licence", LicenseURL: "https://spdx.org/licenses/",
			Attribution: "Paint by Us, LicenseRef-Own", CommercialUse: true, Author: "Us",
			Samples: []string{"one"}, Palette: true, Height: []float64{24}, Categories: []icon.Category{},
		}},
		{"shapes", false, icon.Pack{
			Name: "Shapes", Count: 4, License: "MIT", LicenseTitle: "MIT License", LicenseURL: "https://spdx.org/licenses/MIT.html",
			Attribution: "Shapes by A. Drawer, MIT", CommercialUse: true, Author: "A. Drawer", AuthorURL: "https://example.com/drawer",
			Version: "1.2.0", Category: "UI 24px", Samples: []string{"square", "box"}, Palette: true, Height: []float64{16, 24},
			Categories: []icon.Category{{Name: "Arrows", Count: 1}, {Name: "Things", Count: 2}},
		}},
		{"single", false, icon.Pack{
			Name: "Single", Count: 1, License: "Apache-2.0", LicenseTitle: "Apache License 2.0", LicenseURL: "https://example.com/apache",
			Attribution: "Single by One, Apache-2.0", CommercialUse: true, Author: "One", Version: "2.0.0", Category: "General",
			Samples: []string{"up"}, Monochrome: true, Height: []float64{20}, Categories: []icon.Category{{Name: "Directions", Count: 1}},
		}},
		{"unlisted", true, icon.Pack{ // not in collections.json
			Name: "Unlisted", Count: 1, License: "ISC", LicenseTitle: "ISC License", LicenseURL: "https://spdx.org/licenses/ISC.html",
			Attribution: "Unlisted by Someone, ISC", CommercialUse: true, Author: "Someone",
			Samples: []string{"thing"}, Monochrome: true, Height: []float64{16}, Categories: []icon.Category{},
		}},
	} {
		p, ok := m.Pack(tt.key)
		if !ok {
			t.Errorf("there is no pack %s", tt.key)
			continue
		}
		tt.want.Key = tt.key
		if got, want := fmt.Sprintf("%+v", p.Pack), fmt.Sprintf("%+v", tt.want); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.key, got, want)
		}
		if p.Hidden != tt.hidden {
			t.Errorf("%s: hidden %v, want %v", tt.key, p.Hidden, tt.hidden)
		}
	}
	if len(m.Packs) != 7 {
		t.Errorf("%d packs, want 7", len(m.Packs))
	}
	if !slices.Equal(sum.Skipped, []string{"void"}) {
		t.Errorf("skipped %v, want void", sum.Skipped)
	}
	got := fmt.Sprint(sum.Packs, sum.HiddenPacks, sum.VisibleIcons, sum.Icons, sum.Aliases, sum.Built, sum.TakenOver, sum.Uploads)
	if want := "5 2 13 16 9 7 0 14"; got != want {
		t.Errorf("packs, hidden packs, visible icons, icons, aliases, built, taken over, uploads: %s, want %s", got, want)
	}
}

func TestIcons(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	mustPublish(t, b, t0, all...)
	m := whole(t, b)
	inside := map[string]string{
		"square": `<path fill="currentColor" d="M2 2h20v20H2z"/>`, "arrow": `<path fill="currentColor" d="M2 2h9L2 11z"/>`,
	}
	for _, tt := range []struct {
		ref    string
		want   string // in the form of describe
		inside string // the content of the SVG; empty: any
	}{
		{"shapes/square", "[0 0 24 24] 24x24 mono in=Things tags=box", inside["square"]},
		{"shapes/box", "[0 0 24 24] 24x24 mono of=square in=Things", inside["square"]},
		{"shapes/arrow", "[-4 0 32 24] 32x24 mono in=Arrows tags=arrow-back,arrow-back-again,arrow-down,arrow-up", inside["arrow"]},
		{"shapes/arrow-back", "[0 0 32 24] 32x24 mono of=arrow in=Arrows",
			`<g transform="translate(28 0) scale(-1 1)">` + inside["arrow"] + "</g>"},
		// The two flips of this alias and its parent cancel each other.
		{"shapes/arrow-back-again", "[-4 0 32 24] 32x24 mono of=arrow in=Arrows", inside["arrow"]},
		{"shapes/arrow-down", "[0 0 24 24] 24x24 mono of=arrow in=Arrows", ""},
		{"shapes/arrow-up", "[0 0 24 32] 24x32 mono of=arrow in=Arrows,Other names", ""},
		{"shapes/dot", "[0 0 16 16] 16x16 in=Things", `<circle cx="8" cy="8" r="4"/>`},
		{"shapes/ghost", "[0 0 24 24] 24x24 hidden mono in=Nobody,Things tags=seen", ""},
		// The alias is hidden like its icon.
		{"shapes/spirit", "[0 0 24 24] 24x24 hidden mono of=ghost in=Nobody,Things", ""},
		// The source has hidden: false.
		{"shapes/seen", "[0 0 24 24] 24x24 mono of=ghost in=Nobody,Things", ""},
		{"shapes/unseen", "[0 0 24 24] 24x24 hidden mono of=line", ""},
		// The pack has an icon and an alias of this name; the icon wins.
		{"shapes/line", "[0 0 24 24] 24x24 mono", `<path fill="none" stroke="currentColor" d="M0 12h24"/>`},
		{"flags/red", "[0 0 4 3] 4x3 mono#ff0000", `<path fill="#f00" d="M0 0h4v3H0z"/>`},
		{"old/stuff", "[0 0 16 16] 16x16 mono of=thing", ""},
		{"single/up", "[0 0 20 20] 20x20 mono in=Directions", ""},
		{"house/home", "[0 0 24 24] 24x24 mono#123456", `<path fill="#123456" d="M0 0h24v24H0z"/>`},
		{"house/home-black", "[0 0 12 10] 12x10 mono", ""},
		{"house/hostile", "[0 0 24 24] 24x24 mono#ff0000", `<path fill="#ff0000" d="M0 0h1v1z"/>`},
		{"paint/one", "[0 0 24 24] 24x24", `<path fill="#123456" d="M0 0h24v24H0z"/>`},
	} {
		ref, err := icon.ParseRef(tt.ref)
		if err != nil {
			t.Fatal(err)
		}
		meta, ok := m.metas[ref]
		if got := describe(meta); !ok || got != tt.want {
			t.Errorf("%s: %s, %v, want %s", ref, got, ok, tt.want)
		}
		svg := m.svgs[ref]
		head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%v" height="%v" viewBox="%s">`,
			meta.Width, meta.Height, meta.ViewBox)
		if c := icon.Literal([]byte(svg)); meta.Color != "" {
			head = strings.TrimSuffix(head, ">") + fmt.Sprintf(` color="%s">`, c)
		}
		if got, ok := strings.CutPrefix(svg, head); !ok || tt.inside != "" && got != tt.inside+"</svg>" {
			t.Errorf("%s: %s, want %s%s</svg>", ref, svg, head, tt.inside)
		}
		if strings.Contains(svg, "script") || strings.Contains(svg, "example.com") {
			t.Errorf("%s is not clean: %s", ref, svg)
		}
	}
}

// describe returns a Meta as one line.
func describe(m release.Meta) string {
	s := fmt.Sprintf("[%s] %vx%v", m.ViewBox, m.Width, m.Height)
	if m.Hidden {
		s += " hidden"
	}
	if m.Monochrome {
		s += " mono" + string(m.Color)
	}
	if m.AliasOf != "" {
		s += " of=" + m.AliasOf
	}
	if m.Categories != nil {
		s += " in=" + strings.Join(m.Categories, ",")
	}
	if m.Tags != nil {
		s += " tags=" + strings.Join(m.Tags, ",")
	}
	return s
}

func TestLeftOut(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	sum := mustPublish(t, b, t0, all...)
	var got []string
	for _, l := range sum.LeftOut {
		got = append(got, l.Pack+"/"+l.Name)
		if l.Reason == "" {
			t.Errorf("%s/%s is left out without a reason", l.Pack, l.Name)
		}
	}
	want := []string{
		"house/entity", "house/nonsense", "house/nothing",
		"shapes/Bad Name", "shapes/Bad-Alias", "shapes/a-bad-one", "shapes/broken", "shapes/orphan", "shapes/round",
		"shapes/rounder", "shapes/shattered",
	}
	if !slices.Equal(got, want) {
		t.Errorf("left out\n%q, want\n%q", got, want)
	}
	var out bytes.Buffer
	if err := sum.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"left out shapes/orphan: it is an alias of nothing", "skipped void: it has no icons", sum.Release} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("the summary lacks %q:\n%s", line, &out)
		}
	}
}

func TestSearchable(t *testing.T) {
	sequential.Test(t)
	b := objectstore.Dir(t.TempDir())
	if _, err := Publish(t.Context(), Options{Sources: all, Store: b, Now: t0, Work: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	m := whole(t, b)
	for _, tt := range []struct {
		text string
		want string // the first result; "": no icon of that name
	}{
		{"square", "shapes/square"},
		{"dot", "shapes/dot"},
		{"seen", "shapes/seen"},
		{"home", "house/home"},
		{"ghost", ""},  // hidden
		{"spirit", ""}, // hidden like its icon
		{"thing", ""},  // in hidden packs
	} {
		hits, _ := m.index.Search(search.Query{Text: tt.text, Limit: 1})
		got := ""
		if len(hits) > 0 {
			got = hits[0].Ref.String()
		}
		if tt.want == "" && !strings.HasSuffix(got, "/"+tt.text) { // the word may mean another icon
			continue
		}
		if got != tt.want {
			t.Errorf("the first result for %q is %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestAgain(t *testing.T) {
	dir := objectstore.Dir(t.TempDir())
	b := &counting{Bucket: dir}
	first := mustPublish(t, b, t0, all...)
	n := b.writes()
	// The order of the sources does not matter.
	again := mustPublish(t, b, t0.Add(time.Hour), "testdata/folder", "testdata/package", "testdata/library")
	if n := b.writes() - n; n != 0 || again.Release != first.Release || !again.Unchanged || again.Uploads != 0 {
		t.Errorf("published again: %d writes, release %s, unchanged %v, %d uploads; want no writes, %s, true, 0", n,
			again.Release, again.Unchanged, again.Uploads, first.Release)
	}
	if len(again.LeftOut) != len(first.LeftOut) || again.Icons != first.Icons || again.TakenOver != first.Built {
		t.Errorf("the summary is %+v, want the figures of %+v", again, first)
	}
	elsewhere := mustPublish(t, objectstore.Dir(t.TempDir()), t0.Add(24*time.Hour), all...)
	if elsewhere.Release != first.Release {
		t.Errorf("the same library in another store has the release %s, want %s", elsewhere.Release, first.Release)
	}
}

// A change of a source that does not change its icons gives the same release.
func TestSameIcons(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	lib := copied(t, "library")
	first := mustPublish(t, b, t0, lib)
	edit(t, filepath.Join(lib, "json/shapes.json"), `"lastModified": 1`, `"lastModified": 1, "unknown": 2`)
	c := &counting{Bucket: b}
	second := mustPublish(t, c, t0.Add(time.Hour), lib)
	if second.Release != first.Release || !second.Unchanged || second.Built != 1 || second.Uploads != 0 {
		t.Errorf("got %+v, want the release %s and one new archive", second, first.Release)
	}
	// The manifest now has the new digest of the source.
	if third := mustPublish(t, c, t0.Add(2*time.Hour), lib); third.Built != 0 {
		t.Errorf("%d packs are built again, want none", third.Built)
	}
	if m := whole(t, b); !m.Created.Equal(t0) {
		t.Errorf("created %v, want %v", m.Created, t0)
	}
}

func TestHistory(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	lib := copied(t, "library")
	shapes := filepath.Join(lib, "json/shapes.json")
	mustPublish(t, b, t0, lib)
	one := whole(t, b)

	edit(t, shapes, "M2 2h20v20H2z", "M3 3h18v18H3z")
	t1 := t0.Add(time.Hour)
	sum := mustPublish(t, b, t1, lib)
	if sum.Built != 1 || sum.Uploads != 3 { // the archive, the docs, and the index
		t.Errorf("%d built, %d uploads; want 1 and 3", sum.Built, sum.Uploads)
	}
	two := whole(t, b)
	// The index has the unchanged packs from their docs.
	fresh := objectstore.Dir(t.TempDir())
	mustPublish(t, fresh, t1, lib)
	if again := whole(t, fresh).Index; again != two.Index {
		t.Errorf("the index after a change is %+v, want %+v, as in a new store", two.Index, again)
	}
	for ref, m := range two.metas {
		want := 1
		if ref.String() == "shapes/square" || m.AliasOf == "square" {
			want = 2
		}
		if m.Seq != want {
			t.Errorf("%s last changed in %d, want %d", ref, m.Seq, want)
		}
	}
	for i, p := range two.Packs {
		if same := p.Archive == one.Packs[i].Archive; same != (p.Pack.Key != "shapes") {
			t.Errorf("%s has the same archive: %v, want %v", p.Pack.Key, same, !same)
		}
	}
	if got, want := two.Changed(1), (release.Epoch{Seq: 1, ID: one.ID, Created: t0}); got != want {
		t.Errorf("Changed(1) = %v, want %v", got, want)
	}
	if got, want := two.Changed(2), (release.Epoch{Seq: 2, ID: two.ID, Created: t1}); got != want {
		t.Errorf("Changed(2) = %v, want %v", got, want)
	}

	// The response for an icon contains the name of its pack, so a new name changes all icons.
	edit(t, filepath.Join(lib, "collections.json"), `"name": "Flags"`, `"name": "Banners"`)
	mustPublish(t, b, t0.Add(2*time.Hour), lib)
	three := whole(t, b)
	for ref, m := range three.metas {
		if (m.Seq == 3) != (ref.Pack == "flags") {
			t.Errorf("%s last changed in %d", ref, m.Seq)
		}
	}

	// Restoring the old content is another change, and makes a new release.
	edit(t, shapes, "M3 3h18v18H3z", "M2 2h20v20H2z")
	edit(t, filepath.Join(lib, "collections.json"), `"name": "Banners"`, `"name": "Flags"`)
	mustPublish(t, b, t0.Add(3*time.Hour), lib)
	four := whole(t, b)
	if four.ID == one.ID {
		t.Error("an icon that changed back has its first release again, so Last-Modified would go back")
	}
	square := icon.Ref{Pack: "shapes", Name: "square"}
	if four.metas[square].Seq != 4 || four.svgs[square] != one.svgs[square] {
		t.Errorf("square last changed in %d, want 4", four.metas[square].Seq)
	}
	for _, e := range four.History {
		if e.Seq == 2 || e.Seq == 3 {
			t.Errorf("the history has %d, but no icon last changed in that release", e.Seq)
		}
	}
}

func TestPackGoes(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	mustPublish(t, b, t0, "testdata/library", "testdata/package")
	mustPublish(t, b, t0.Add(time.Hour), "testdata/library")
	if m := whole(t, b); len(m.Packs) != 4 {
		t.Errorf("%d packs, want 4", len(m.Packs))
	}
}

func TestDryRun(t *testing.T) {
	dir := t.TempDir()
	sum, err := Publish(t.Context(), Options{Sources: all, Tags: noTags, Store: objectstore.Dir(dir), Now: t0,
		DryRun: true, Work: t.TempDir()})
	if err != nil || sum.Uploads != 14 || !sum.DryRun || sum.Unchanged {
		t.Errorf("dry run: %+v, %v", sum, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("a dry run writes %v, %v", entries, err)
	}
	if real := mustPublish(t, objectstore.Dir(dir), t0, all...); real.Release != sum.Release {
		t.Errorf("the dry run made %s, the publication %s", sum.Release, real.Release)
	}
}

func TestRefused(t *testing.T) {
	empty := copied(t, "folder")
	for _, name := range []string{"home.svg", "home-black.svg", "hostile.svg", "Home_2.svg", "shout.SVG"} {
		if err := os.Remove(filepath.Join(empty, "house", name)); err != nil {
			t.Fatal(err)
		}
	}
	misnamed := copied(t, "folder")
	if err := os.Rename(filepath.Join(misnamed, "house"), filepath.Join(misnamed, "---")); err != nil {
		t.Fatal(err)
	}
	cut := copied(t, "library")
	edit(t, filepath.Join(cut, "json/flags.json"), "}\n}", "")
	other := copied(t, "library")
	edit(t, filepath.Join(other, "json/flags.json"), `"prefix": "flags"`, `"prefix": "shapes"`)
	badInfo := copied(t, "folder")
	edit(t, filepath.Join(badInfo, "house/pack.json"), "{", "[")
	noText := copied(t, "folder")
	edit(t, filepath.Join(noText, "house/pack.json"), `"MIT", "url"`, `"<b>", "url"`)
	for _, tt := range []struct {
		name    string
		sources []string
		want    error
		names   []string
	}{
		// One error names all packs.
		{"no licence", []string{"testdata/package", "testdata/unlicensed"}, ErrNoLicense, []string{"bare", "free", "pack.json"}},
		{"an invalid licence", []string{noText}, ErrNoLicense, []string{"house"}},
		{"no valid icon", []string{empty, "testdata/package"}, ErrEmptyPack, []string{"house", "nonsense"}},
		{"a pack twice", []string{"testdata/package", copied(t, "package")}, ErrTwice, []string{"single"}},
		{"an invalid key", []string{misnamed}, ErrSource, []string{"---"}},
		{"no folder", []string{"testdata/gone"}, ErrSource, []string{"testdata/gone"}},
		{"a file", []string{"publish.go"}, ErrSource, []string{"publish.go"}},
		{"no packs", []string{t.TempDir()}, ErrSource, nil},
		{"no source", nil, ErrSource, nil},
		{"half a file", []string{cut}, ErrSource, []string{"flags"}},
		{"another prefix", []string{other}, ErrSource, []string{"flags", "shapes"}},
		{"an invalid pack.json", []string{badInfo}, ErrSource, []string{filepath.Join("house", "pack.json")}},
	} {
		dir, work := t.TempDir(), t.TempDir()
		b := objectstore.Dir(dir)
		before := mustPublish(t, b, t0, "testdata/folder")
		had := keys(t, b)
		_, err := Publish(t.Context(), Options{Sources: tt.sources, Tags: noTags, Store: b, Now: t0.Add(time.Hour), Work: work})
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
			continue
		}
		for _, name := range tt.names {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v does not name %s", tt.name, err, name)
			}
		}
		if now := keys(t, b); !slices.Equal(now, had) || whole(t, b).ID != before.Release {
			t.Errorf("%s: the store has changed: %v, was %v", tt.name, now, had)
		}
		checkKept(t, work)
	}
}

func checkEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind in the working folder: %v, %v", left, err)
	}
}

// checkKept checks that a publication has left nothing behind, or finished packs.
func checkKept(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 1 || len(left) == 1 && !hasFinished(filepath.Join(dir, left[0].Name())) {
		t.Errorf("left behind in the working folder: %v, %v", left, err)
	}
}

// For each number of writes before the store fails, the current release stays whole, and the next
// publication succeeds.
func TestCrash(t *testing.T) {
	lib := copied(t, "library")
	seed := t.TempDir()
	mustPublish(t, objectstore.Dir(seed), t0, lib, "testdata/package")
	for _, file := range []string{"shapes", "flags", "old"} {
		edit(t, filepath.Join(lib, "json", file+".json"), "M", "m1 1M")
	}
	reference := filepath.Join(t.TempDir(), "store")
	if err := os.CopyFS(reference, os.DirFS(seed)); err != nil {
		t.Fatal(err)
	}
	want := mustPublish(t, objectstore.Dir(reference), t0.Add(time.Hour), lib).Release
	for n := int64(0); ; n++ {
		dir := filepath.Join(t.TempDir(), "store")
		if err := os.CopyFS(dir, os.DirFS(seed)); err != nil {
			t.Fatal(err)
		}
		b := objectstore.Dir(dir)
		before := whole(t, b).ID
		f := &failing{Bucket: b}
		f.left.Store(n)
		work := t.TempDir()
		_, err := Publish(t.Context(), Options{Sources: []string{lib}, Tags: noTags, Store: f, Now: t0.Add(time.Hour),
			Work: work, AllowRemoval: true})
		checkKept(t, work)
		after := whole(t, b).ID
		if err == nil {
			if after != want {
				t.Errorf("after %d writes: current is %s, want %s", n, after, want)
			}
			// Two that test the store, three archives, two docs (a pack is hidden), the index, the
			// sets, the manifest, current.
			if n < 11 {
				t.Errorf("published with %d writes", n)
			}
			return
		}
		if !errors.Is(err, errFull) || after != before {
			t.Errorf("after %d writes: %v, current is %s, want %s", n, err, after, before)
		}
		// The next publication does not upload the same objects again.
		had := len(keys(t, b))
		if n == 1 {
			had-- // the object that tests the store could not be deleted; now it is
		}
		sum := mustPublish(t, b, t0.Add(2*time.Hour), lib)
		manifests := 1
		if n > 9 {
			manifests = 0 // the second publication replaces the manifest of the first
		}
		if made := len(keys(t, b)) - had; sum.Release != want || whole(t, b).ID != want || sum.Uploads != made-manifests {
			t.Errorf("after %d writes, publishing again: %s, %d uploads and %d new objects; want %s", n, sum.Release,
				sum.Uploads, made, want)
		}
	}
}

// The operator interrupts the publication at each report of progress.
func TestInterrupted(t *testing.T) {
	lib := copied(t, "library")
	b := objectstore.Dir(t.TempDir())
	before := mustPublish(t, b, t0, "testdata/package").Release
	for n := 1; ; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		work := t.TempDir()
		stop := &stopper{left: n, stop: cancel}
		sum, err := Publish(ctx, Options{Sources: []string{lib}, Tags: noTags, Store: b, Now: t0.Add(time.Hour),
			Work: work, Progress: stop, AllowRemoval: true})
		cancel()
		checkKept(t, work)
		after := whole(t, b).ID
		if err == nil {
			if after != sum.Release || n < 10 {
				t.Errorf("interrupted at %d: current is %s, want %s", n, after, sum.Release)
			}
			return
		}
		if !errors.Is(err, context.Canceled) || after != before {
			t.Fatalf("interrupted at %d: %v, current is %s, want %s", n, err, after, before)
		}
	}
}

// Of two simultaneous publications, the second to finish fails, and the release of the first stays.
func TestRaced(t *testing.T) {
	b := objectstore.Dir(t.TempDir())
	mustPublish(t, b, t0, "testdata/package")
	var won Summary
	race := &stopper{left: 3, stop: func() { won = mustPublish(t, b, t0.Add(time.Minute), "testdata/folder") }}
	_, err := Publish(t.Context(), Options{Sources: []string{"testdata/library"}, Tags: noTags, Store: b,
		Now: t0.Add(time.Hour), Work: t.TempDir(), Progress: race, AllowRemoval: true})
	if !errors.Is(err, ErrRaced) {
		t.Errorf("the slower publication returns %v, want ErrRaced", err)
	}
	if got := whole(t, b).ID; got != won.Release {
		t.Errorf("current is %s, want %s", got, won.Release)
	}
}

// A publication repairs a store whose current release is damaged.
func TestMends(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, b objectstore.Bucket, m published)
	}{
		{"current", func(t *testing.T, b objectstore.Bucket, _ published) { put(t, b, release.CurrentKey, "x") }},
		{"manifest", func(t *testing.T, b objectstore.Bucket, m published) { put(t, b, release.ManifestKey(m.ID), "x") }},
		{"no manifest", func(t *testing.T, b objectstore.Bucket, m published) { remove(t, b, release.ManifestKey(m.ID)) }},
		{"no archive", func(t *testing.T, b objectstore.Bucket, m published) {
			remove(t, b, release.ArchiveKey(m.Packs[0].Archive.Hash))
		}},
		{"archive cut off", func(t *testing.T, b objectstore.Bucket, m published) {
			put(t, b, release.ArchiveKey(m.Packs[0].Archive.Hash), "x")
		}},
		{"other index", func(t *testing.T, b objectstore.Bucket, m published) {
			put(t, b, release.IndexKey(m.Index.Hash), strings.Repeat("x", int(m.Index.Size)))
		}},
		{"no index", func(t *testing.T, b objectstore.Bucket, m published) { remove(t, b, release.IndexKey(m.Index.Hash)) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := objectstore.Dir(t.TempDir())
			mustPublish(t, b, t0, "testdata/folder")
			m := whole(t, b)
			tt.damage(t, b, m)
			sum := mustPublish(t, b, t0.Add(time.Hour), "testdata/folder")
			if got := whole(t, b); got.ID != sum.Release || len(got.svgs) != len(m.svgs) {
				t.Errorf("current is %s with %d icons, want %s with %d", got.ID, len(got.svgs), sum.Release, len(m.svgs))
			}
		})
	}
}

func put(t *testing.T, b objectstore.Bucket, key, content string) {
	t.Helper()
	if err := b.Put(t.Context(), key, strings.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, b objectstore.Bucket, key string) {
	t.Helper()
	if err := b.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
}
