package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/origin/svg"
	"github.com/iconedge/iconedge/test/harness"
)

// A drawing is one of origin/svg/testdata, as it came and as it comes out of the cleaner (nil: it is refused).
type drawing struct {
	name       string
	raw, clean []byte
}

func drawings(t *testing.T, folder string) (list []drawing) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "origin", "svg", "testdata", folder, "*.in.svg"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no drawings in %s: %v", folder, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d := drawing{name: strings.TrimSuffix(filepath.Base(file), ".in.svg"), raw: raw}
		if cleaned, err := svg.CleanDocument(raw, true); err == nil {
			d.clean = cleaned.SVG
		}
		list = append(list, d)
	}
	return list
}

// bomb names the drawings that would keep a browser busy for minutes.
var bomb = regexp.MustCompile(`^bomb-|laughs|loop|self|quadratic`)

// TestHostileDrawings opens each hostile drawing that survives the cleaner in a browser: no script runs, no request leaves.
// The same browser opens them as they came too and sees many do both, so it would have seen it of the others.
func TestHostileDrawings(t *testing.T) {
	browser := chromium(t)
	var raw, clean []drawing
	shown := map[string]bool{}
	for _, d := range drawings(t, "hostile") {
		if !bomb.MatchString(d.name) {
			raw = append(raw, d)
		}
		if d.clean != nil && !shown[string(d.clean)] { // many have nothing left but one path
			shown[string(d.clean)] = true
			clean = append(clean, d)
		}
	}
	t.Run("as they came", func(t *testing.T) {
		scripts, requests := 0, 0
		for looks := 0; looks < 3 && (scripts < 70 || requests < 120); looks++ { // a busy browser does not come to all of them in time
			scripts, requests = doings(t, browser, raw)
			t.Logf("of %d drawings, %d ran a script and %d asked for something", len(raw), scripts, requests)
		}
		if scripts < 70 || requests < 120 {
			t.Error("that is too few: the browser does not see what they do")
		}
	})
	t.Run("cleaned", func(t *testing.T) {
		stage := newStage(false, ways...)
		for _, d := range clean {
			stage.add(d.clean)
		}
		for n, did := range stage.look(t, browser) {
			name := "one that can't be told"
			if n >= 0 {
				name = clean[n].name
			}
			t.Errorf("%s: %q", name, did)
		}
		t.Logf("%d different drawings, each shown in %d ways", len(clean), len(ways))
	})
}

// doings counts the drawings that run a script, and those that ask for something, as they came.
func doings(t *testing.T, browser string, raw []drawing) (scripts, requests int) {
	t.Helper()
	stage := newStage(true, "document")
	for _, d := range raw {
		stage.add(d.raw)
	}
	for n, did := range stage.look(t, browser) {
		if n >= 0 && ran(did) {
			scripts++
		}
		if n >= 0 && asked(did) {
			requests++
		}
	}
	return scripts, requests
}

// unlike are the odd drawings that may look otherwise as they came, and why.
var unlike = map[string]string{
	"no-namespace":       "a browser draws nothing for a file that declares no namespace",
	"root-selectors-own": "what the root says of paint moves to a group in it, where selectors such as svg.icon do not look for it",
}

// TestOddDrawings compares what a browser draws for the odd but good ones, before and after the cleaner.
func TestOddDrawings(t *testing.T) {
	browser := chromium(t)
	var list []drawing
	for _, d := range drawings(t, "odd") {
		if unlike[d.name] == "" {
			list = append(list, d)
		}
	}
	newGallery(list).compare(t, browser)
	t.Logf("%d drawings look the same before and after", len(list))
}

// TestConformanceDrawings compares what a browser draws for a sample of every pack, before and after the cleaner: a large one
// of the whole library, unpacked in the folder that ICONEDGE_LIBRARY names, else a small one of the packs that the tests have.
func TestConformanceDrawings(t *testing.T) {
	browser := chromium(t)
	sample, pattern := 150, filepath.Join(harness.NPM(t, "@iconify-json"), "*", "icons.json")
	if folder := os.Getenv("ICONEDGE_LIBRARY"); folder != "" {
		sample, pattern = 2000, filepath.Join(folder, "json", "*.json")
	}
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no packs as %s: %v", pattern, err)
	}
	random := rand.New(rand.NewPCG(7, 4)) // any, but the same each time
	var list []drawing
	for _, file := range files {
		list = append(list, sampled(t, file, sample/len(files)+1, random)...)
	}
	newGallery(list).compare(t, browser)
	t.Logf("%d drawings of %d packs look the same before and after", len(list), len(files))
}

// sampled picks drawings of a pack.
func sampled(t *testing.T, file string, most int, random *rand.Rand) (list []drawing) {
	t.Helper()
	type sides struct{ Left, Top, Width, Height *float64 }
	var pack struct {
		Prefix string
		sides
		Icons map[string]struct {
			Body string
			sides
		}
	}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &pack)
	}
	if err != nil {
		t.Fatalf("reading %s: %v", file, err)
	}
	names := slices.Sorted(maps.Keys(pack.Icons))
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	side := func(own, all *float64, otherwise float64) float64 { return *cmp.Or(own, all, &otherwise) }
	for _, name := range names[:min(most, len(names))] {
		i := pack.Icons[name]
		box := svg.Box{Left: side(i.Left, pack.Left, 0), Top: side(i.Top, pack.Top, 0), Width: side(i.Width, pack.Width, 16), Height: side(i.Height, pack.Height, 16)}
		cleaned, err := svg.Clean([]byte(i.Body), box)
		if err != nil {
			t.Errorf("%s:%s is refused: %v", pack.Prefix, name, err)
		}
		raw := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="24" height="24" viewBox="%s">%s</svg>`, box, i.Body)
		list = append(list, drawing{pack.Prefix + ":" + name, []byte(raw), cleaned.SVG})
	}
	return list
}
