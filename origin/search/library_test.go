package search

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/scheme"
)

// library reads the folder of @iconify/json that ICONEDGE_LIBRARY names, roughly as publish passes
// it to Build. Tests and benchmarks of the whole library are skipped if it is not set.
func library(t testing.TB) ([]icon.Pack, []Doc) {
	dir := os.Getenv("ICONEDGE_LIBRARY")
	if dir == "" {
		t.Skip("ICONEDGE_LIBRARY is not set to a folder of @iconify/json")
	}
	var infos map[string]struct {
		Name, Category string
		Hidden         bool
		Palette        bool
		License        struct{ SPDX string }
	}
	readJSON(t, filepath.Join(dir, "collections.json"), &infos)
	var packs []icon.Pack
	var docs []Doc
	for key, info := range infos {
		if info.Hidden {
			continue
		}
		p := icon.Pack{Key: key, Name: info.Name, Category: info.Category, Monochrome: !info.Palette}
		p.SetLicense(icon.License{SPDX: info.License.SPDX})
		packs = append(packs, p)
		var set libraryPack
		readJSON(t, filepath.Join(dir, "json", key+".json"), &set)
		docs = append(docs, set.docs(key, !info.Palette)...)
	}
	slices.SortFunc(docs, func(a, b Doc) int { return cmp.Or(strings.Compare(a.Pack, b.Pack), strings.Compare(a.Name, b.Name)) })
	runtime.GC() // so that Build's own garbage counts alone
	return packs, docs
}

type libraryIcon struct {
	Body, Parent  string
	Hidden        bool
	Width, Height float64
	HFlip, VFlip  bool
	Rotate        int
}

type libraryPack struct {
	Icons, Aliases map[string]libraryIcon
	Categories     map[string][]string
	Width, Height  float64
}

func (p libraryPack) docs(key string, monochrome bool) (docs []Doc) {
	in := map[string][]string{}
	for category, names := range p.Categories {
		for _, name := range names {
			in[name] = append(in[name], category)
		}
	}
	for name, ic := range p.Icons {
		if !ic.Hidden {
			docs = append(docs, p.doc(Doc{Pack: key, Name: name, Monochrome: monochrome}, ic, ""))
		}
	}
	for name, alias := range p.Aliases {
		ic, turns := alias, ""
		for ic.Parent != "" {
			turns += fmt.Sprint(ic.HFlip, ic.VFlip, ic.Rotate%4)
			turns = strings.ReplaceAll(turns, "falsefalse0", "")
			parent, isIcon := p.Icons[ic.Parent]
			if !isIcon {
				parent = p.Aliases[ic.Parent]
			}
			parent.Hidden = parent.Hidden || ic.Hidden
			ic = parent
		}
		if !ic.Hidden {
			docs = append(docs, p.doc(Doc{Pack: key, Name: name, AliasOf: alias.Parent, Monochrome: monochrome}, ic, turns))
		}
	}
	for i := range docs {
		docs[i].Categories = slices.Concat(in[docs[i].AliasOf], in[docs[i].Name])
		slices.Sort(docs[i].Categories)
	}
	return docs
}

// doc completes the document of an icon with its size and image.
func (p libraryPack) doc(d Doc, ic libraryIcon, turns string) Doc {
	or := func(a, b, c float64) float64 {
		for _, f := range []float64{a, b} {
			if f != 0 {
				return f
			}
		}
		return c
	}
	d.Width, d.Height = or(ic.Width, p.Width, 16), or(ic.Height, p.Height, 16)
	sum := sha256.Sum256(fmt.Append(nil, d.Width, d.Height, turns, ic.Body))
	copy(d.Image[:], sum[:])
	return d
}

func readJSON(t testing.TB, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func openLibrary(t testing.TB) *Index {
	packs, docs := library(t)
	var file bytes.Buffer
	if err := Build(t.Context(), &file, Library{Packs: packs, Docs: byPack(docs)}); err != nil {
		t.Fatal(err)
	}
	x, err := Open(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d packs, %d docs, %d distinct SVGs, %d bytes", len(packs), len(docs), x.groups, file.Len())
	return x
}

// TestLibrary checks that common queries on the real library find the expected icon first.
func TestLibrary(t *testing.T) {
	x := openLibrary(t)
	for q, first := range map[string]string{
		"mdi:home": "mdi/home", "ph trash": "ph/trash", "tabler arrow left": "tabler/arrow-left", "FolderOpen": "/folder-open",
		"trash can": "/trash-can", "hous": "/house", "GitHub": "/github", "map pin": "/map-pin", "UvIndex9Fill": "/uv-index-9-fill",
		"home outline": "/home-outline", "material symbols home": "material-symbols/home", "arrow lefts": "/arrow-left",
	} {
		hits, _ := x.Search(Query{Text: q, Limit: 1})
		if len(hits) == 0 || !strings.HasSuffix(hits[0].Ref.String(), first) {
			t.Errorf("%q: got %v, want %s first", q, hits, first)
		}
	}
	for _, q := range []string{"home", "arrow left", "user", "settings"} {
		hits, total := x.Search(Query{Text: q, Limit: 20})
		packs := map[string]bool{}
		for _, h := range hits {
			packs[h.Ref.Pack] = true
		}
		if len(packs) < 15 {
			t.Errorf("%q: %d packs among the first %d of %d, want at least 15", q, len(packs), len(hits), total)
		}
	}
	if got := x.Suggest("arrwo"); !slices.Contains(got, "arrow") {
		t.Errorf("arrwo: suggestions %q, want arrow among them", got)
	}
}

// TestLibraryInCode checks that each example of the table of names in code finds its icon among the
// first three.
func TestLibraryInCode(t *testing.T) {
	x := openLibrary(t)
	for text, want := range scheme.Examples {
		hits, _ := x.Search(Query{Text: text, Limit: 3})
		found := slices.ContainsFunc(hits, func(h Hit) bool {
			return slices.ContainsFunc(append(h.Also, h.Ref), func(ref icon.Ref) bool {
				return ref.String() == want || "*/"+ref.Name == want
			})
		})
		if !found {
			t.Errorf("%s: got %s, want %s", text, refs(hits), want)
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	packs, docs := library(b)
	b.ReportAllocs()
	for b.Loop() {
		if err := Build(b.Context(), io.Discard, Library{Packs: packs, Docs: byPack(docs)}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	packs, docs := library(b)
	var file bytes.Buffer
	if err := Build(b.Context(), &file, Library{Packs: packs, Docs: byPack(docs)}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Open(file.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSearch has common queries, followed by queries that are meant to be expensive.
func BenchmarkSearch(b *testing.B) {
	x := openLibrary(b)
	for _, q := range []string{
		"home", "hous", "arrow left", "FolderOpen", "mdi:home", "ph trash", "home zebra", "xyzzyq",
		"a", "s", "outline", "s s", "outline s", "a b c d e f g h i j k l m n o p", "outline fill circle arrow s",
		strings.Repeat("open ", 16), strings.Repeat("open1 ", 16), "o u t l i n", "outline outline outline outline outline outline o",
	} {
		b.Run(q[:min(len(q), 20)], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.Search(Query{Text: q, Limit: 20})
			}
		})
	}
}

func BenchmarkSuggest(b *testing.B) {
	x := openLibrary(b)
	for _, q := range []string{
		"arrwo", "calendarr", "home zebra", "zzzzzzzzzzzz yyyyyyyyyyyyy xxxxxxxxxxxx wwww", strings.Repeat("qwxzvjkq ", 22),
		"outline filled sharp rounded bold qq", "openx autox interx contx googx codex",
	} {
		b.Run(q[:min(len(q), 20)], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.Suggest(q)
			}
		})
	}
}
