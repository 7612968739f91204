package search

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/iconedge/iconedge/icon"
)

// library reads the folder of @iconify/json that ICONEDGE_LIBRARY names: roughly what publish gives to Build. Tests and
// benchmarks of the whole library are left out where it is not set.
func library(t testing.TB) ([]icon.Pack, []Doc) {
	dir := os.Getenv("ICONEDGE_LIBRARY")
	if dir == "" {
		t.Skip("ICONEDGE_LIBRARY names no folder of @iconify/json")
	}
	var infos map[string]struct {
		Name, Category string
		Hidden         bool
		Palette        bool
	}
	readJSON(t, filepath.Join(dir, "collections.json"), &infos)
	var packs []icon.Pack
	var docs []Doc
	for key, info := range infos {
		if info.Hidden {
			continue
		}
		packs = append(packs, icon.Pack{Pack: key, Name: info.Name, Category: info.Category, Monochrome: !info.Palette})
		var set libraryPack
		readJSON(t, filepath.Join(dir, "json", key+".json"), &set)
		docs = append(docs, set.docs(key, !info.Palette)...)
	}
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
	Width, Height  float64
}

func (p libraryPack) docs(key string, monochrome bool) (docs []Doc) {
	for name, ic := range p.Icons {
		if !ic.Hidden {
			docs = append(docs, p.doc(key, name, monochrome, ic, "", ""))
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
			docs = append(docs, p.doc(key, name, monochrome, ic, alias.Parent, turns))
		}
	}
	return docs
}

func (p libraryPack) doc(key, name string, monochrome bool, ic libraryIcon, aliasOf, turns string) Doc {
	or := func(a, b, c float64) float64 {
		for _, f := range []float64{a, b} {
			if f != 0 {
				return f
			}
		}
		return c
	}
	d := Doc{Pack: key, Name: name, AliasOf: aliasOf, Width: or(ic.Width, p.Width, 16), Height: or(ic.Height, p.Height, 16), Monochrome: monochrome}
	sum := sha256.Sum256(fmt.Append(nil, d.Width, d.Height, turns, ic.Body))
	copy(d.Drawing[:], sum[:])
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

var wholeLibrary = sync.OnceValue(func() (made struct {
	packs []icon.Pack
	docs  []Doc
	file  []byte
}) {
	return made
})

func TestLibrary(t *testing.T) {
	packs, docs := library(t)
	var file bytes.Buffer
	if err := Build(&file, packs, slices.Values(docs)); err != nil {
		t.Fatal(err)
	}
	x, err := Open(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d packs, %d docs, %d drawings, %d bytes", len(packs), len(docs), x.groups, file.Len())
	for i, b := range x.body {
		t.Logf("section %d: %d bytes", i, len(b))
	}
	for _, q := range []string{"home", "arrow left", "a", "trash can", "mdi:home", "ph trash", "FolderOpen", "outline", "s", "map pin", "hous", "home outline", "carbon copy", "houses", "mdi", "material symbols home", "arw", "home zebra","square arr", "o o"} {
		hits, total := x.Search(Query{Text: q, Limit: 20})
		var s []string
		for _, h := range hits {
			s = append(s, h.Ref.String())
		}
		t.Logf("%q %d %v", q, total, s)
		if total == 0 {
			t.Logf("   suggest %q", x.Suggest(q))
		}
	}
}

func BenchmarkBuild(b *testing.B) {
	packs, docs := library(b)
	for b.Loop() {
		var file bytes.Buffer
		if err := Build(&file, packs, slices.Values(docs)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	packs, docs := library(b)
	var file bytes.Buffer
	if err := Build(&file, packs, slices.Values(docs)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Open(file.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	packs, docs := library(b)
	var file bytes.Buffer
	if err := Build(&file, packs, slices.Values(docs)); err != nil {
		b.Fatal(err)
	}
	x, err := Open(file.Bytes())
	if err != nil {
		b.Fatal(err)
	}
	for _, q := range []string{"home", "hous", "arrow left", "FolderOpen", "mdi:home", "ph trash", "a", "outline", "s s", "xyzzyq",
		"a b c d e f g h i j k l m n o p", "outline fill circle arrow s", "stre stre stre stre stre stre stre stre stre stre"} {
		b.Run(q, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				x.Search(Query{Text: q, Limit: 20})
			}
		})
	}
	for _, q := range []string{"arrwo", "calendarr", "home zebra", "zzzzzzzzzzzz yyyyyyyyyyyyy xxxxxxxxxxxx wwww", strings.Repeat("qwxzvjkq ", 22)} {
		b.Run("suggest/"+q[:4], func(b *testing.B) {
			for b.Loop() {
				x.Suggest(q)
			}
		})
	}
}
