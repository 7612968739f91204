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

// A sample is an SVG of origin/svg/testdata, before the cleaner and after it (nil: rejected).
type sample struct {
	name       string
	raw, clean []byte
}

func samples(t *testing.T, folder string) (list []sample) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "origin", "svg", "testdata", folder, "*.in.svg"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no SVGs in %s: %v", folder, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d := sample{name: strings.TrimSuffix(filepath.Base(file), ".in.svg"), raw: raw}
		if cleaned, err := svg.CleanDocument(raw, true); err == nil {
			d.clean = cleaned.SVG
		}
		list = append(list, d)
	}
	return list
}

// bomb matches the names of SVGs that would keep a browser busy for minutes.
var bomb = regexp.MustCompile(`^bomb-|laughs|loop|self|quadratic`)

// TestHostileSVGs opens each hostile SVG that survives the cleaner in a browser: no script
// runs, and no request leaves. The same browser also opens the raw SVGs, and sees many of them do
// both, which shows that it would notice. With -short it opens every twelfth SVG.
func TestHostileSVGs(t *testing.T) {
	t.Parallel()
	part, fewScripts, fewRequests := 1, 70, 120
	if testing.Short() {
		part, fewScripts, fewRequests = 12, 5, 8
	}
	browser := harness.Browser(t)
	var raw, clean []sample
	shown := map[string]bool{}
	for i, d := range samples(t, "hostile") {
		if i%part > 0 {
			continue
		}
		if !bomb.MatchString(d.name) {
			raw = append(raw, d)
		}
		if d.clean != nil && !shown[string(d.clean)] { // many consist of one path after cleaning
			shown[string(d.clean)] = true
			clean = append(clean, d)
		}
	}
	t.Run("as they came", func(t *testing.T) {
		scripts, requests := 0, 0
		// a busy browser does not show all of them in time
		for looks := 0; looks < 3 && (scripts < fewScripts || requests < fewRequests); looks++ {
			scripts, requests = countActions(t, browser, raw)
			t.Logf("of %d SVGs, %d ran a script and %d sent a request", len(raw), scripts, requests)
		}
		if scripts < fewScripts || requests < fewRequests {
			t.Error("too few: the test does not notice scripts and requests")
		}
	})
	t.Run("cleaned", func(t *testing.T) {
		stage := newStage(false, ways...)
		for _, d := range clean {
			stage.add(d.clean)
		}
		for n, did := range stage.actions(t, browser) {
			name := "an unknown SVG"
			if n >= 0 {
				name = clean[n].name
			}
			t.Errorf("%s: %q", name, did)
		}
		t.Logf("%d different SVGs, each shown in %d ways", len(clean), len(ways))
	})
}

// countActions counts the raw SVGs that run a script, and those that send a request.
func countActions(t *testing.T, browser string, raw []sample) (scripts, requests int) {
	t.Helper()
	stage := newStage(true, "document")
	for _, d := range raw {
		stage.add(d.raw)
	}
	for n, did := range stage.actions(t, browser) {
		if n >= 0 && ranScript(did) {
			scripts++
		}
		if n >= 0 && sentRequest(did) {
			requests++
		}
	}
	return scripts, requests
}

// allowedDifferences lists the odd SVGs that may look different after cleaning, with the reason.
var allowedDifferences = map[string]string{
	"no-namespace":       "a browser draws nothing for a file that declares no namespace",
	"root-selectors-own": "what the root says of paint moves to a group in it, where selectors such as svg.icon do not look for it",
}

// TestOddSVGs compares the browser's pictures of odd but harmless SVGs before and after the
// cleaner.
func TestOddSVGs(t *testing.T) {
	t.Parallel()
	browser := harness.Browser(t)
	var list []sample
	for _, d := range samples(t, "odd") {
		if allowedDifferences[d.name] == "" {
			list = append(list, d)
		}
	}
	newGallery(list).compare(t, browser)
	t.Logf("%d SVGs look the same before and after the cleaner", len(list))
}

// TestConformanceSVGs compares the browser's pictures of a sample of every pack before and
// after the cleaner: a large sample of the whole library, unpacked in the folder that
// ICONEDGE_LIBRARY names, or else a small sample of the packs that the tests use.
func TestConformanceSVGs(t *testing.T) {
	t.Parallel()
	browser := harness.Browser(t)
	most, pattern := 150, filepath.Join(harness.NPM(t, "@iconify-json"), "*", "icons.json")
	if folder := os.Getenv("ICONEDGE_LIBRARY"); folder != "" {
		most, pattern = 2000, filepath.Join(folder, "json", "*.json")
	} else if testing.Short() {
		most = 60
	}
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no packs as %s: %v", pattern, err)
	}
	random := rand.New(rand.NewPCG(7, 4)) // the same sample each time
	var list []sample
	for _, file := range files {
		list = append(list, sampled(t, file, most/len(files)+1, random)...)
	}
	newGallery(list).compare(t, browser)
	t.Logf("%d SVGs of %d packs look the same before and after the cleaner", len(list), len(files))
}

// sampled picks SVGs of a pack.
func sampled(t *testing.T, file string, most int, random *rand.Rand) (list []sample) {
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
		box := svg.Box{Left: side(i.Left, pack.Left, 0), Top: side(i.Top, pack.Top, 0),
			Width: side(i.Width, pack.Width, 16), Height: side(i.Height, pack.Height, 16)}
		cleaned, err := svg.Clean([]byte(i.Body), box)
		if err != nil {
			t.Errorf("%s:%s is rejected: %v", pack.Prefix, name, err)
		}
		raw := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="24" height="24" viewBox="%s">%s</svg>`, box, i.Body)
		list = append(list, sample{pack.Prefix + ":" + name, []byte(raw), cleaned.SVG})
	}
	return list
}
