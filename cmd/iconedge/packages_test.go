package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/svg"
	"github.com/iconedge/iconedge/test/harness"
)

// packages has packages of icons in the folder that ICONEDGE_PACKAGES names, by the keys of their
// packs. Together they have what real folders have: colours of their own, variables with fallbacks,
// names in capitals, folders of styles, sprites, fonts, percentages.
var packages = map[string]string{
	"aws": "aws-icons", "brands": "simple-icons", "coins": "cryptocurrency-icons", "coreui": "@coreui/icons",
	"fa": "@fortawesome/fontawesome-free", "files": "material-icon-theme", "flags": "flag-icons", "health": "healthicons",
	"lucide": "lucide-static", "pay": "payment-icons",
}

// TestConformancePackages publishes real packages as their owners ship them. At most one file in a
// hundred is refused. A sample of each pack looks as its files do, alone and all in one page, and
// each icon of one colour takes another.
func TestConformancePackages(t *testing.T) {
	root := os.Getenv("ICONEDGE_PACKAGES")
	if root == "" {
		t.Skip("ICONEDGE_PACKAGES is not set")
	}
	browser := harness.Browser(t)
	home := t.TempDir()
	args := []string{"publish"}
	for key, name := range packages {
		args = append(args, key+"="+filepath.Join(root, filepath.FromSlash(name)))
	}
	out := harness.Must(t, home, args...)
	base := "http://" + harness.Start(t, home, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0").Ready().Address("public")
	var plain, inline []sample
	red := 0
	for key, name := range packages {
		files := filesBySVG(t, filepath.Join(root, filepath.FromSlash(name)))
		names := namesOf(t, base, key)
		if refused := strings.Count(out, "left out "+key+"/"); refused*100 > len(names) {
			t.Errorf("%s: %d files are refused, and %d icons published:\n%s", name, refused, len(names), out)
		}
		random := rand.New(rand.NewPCG(40, 1)) // the same sample each time
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for _, one := range names[:min(40, len(names))] {
			served := fetched(t, base+"/"+key+"/"+one+".svg")
			file, known := files[string(served)]
			if !known {
				t.Errorf("%s/%s is none of the files of %s", key, one, name)
				continue
			}
			plain = append(plain, sample{key + "/" + one, file.raw, served})
			if !strings.Contains(string(file.raw), "<filter") {
				inline = append(inline, plain[len(plain)-1])
			}
			if file.monochrome {
				red++
				colored := fetched(t, base+"/"+key+"/"+one+".svg?color="+url.QueryEscape("#ff0000"))
				if want := icon.Recolour(served, "#ff0000"); string(colored) == string(served) || string(colored) != string(want) {
					t.Errorf("%s/%s in red is %s", key, one, colored)
				}
			}
		}
	}
	newGallery(plain).compare(t, browser)
	// Chromium draws filters of a picture otherwise than those of a page, also for the files.
	newWall(t, inline).compare(t, browser, "inline")
	t.Logf("%d icons of %d packages look as their files do, %d of them take a colour\n%s", len(plain), len(packages), red, out)
}

// A shipped icon is a file of a package.
type shipped struct {
	raw        []byte
	monochrome bool
}

// filesBySVG returns the SVG files of a package by their clean forms.
func filesBySVG(t *testing.T, folder string) map[string]shipped {
	t.Helper()
	files := map[string]shipped{}
	in := os.DirFS(folder)
	err := fs.WalkDir(in, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".svg" {
			return err
		}
		raw, err := fs.ReadFile(in, path)
		if err != nil {
			return err
		}
		if cleaned, err := svg.CleanDocument(raw, false); err == nil {
			files[string(cleaned.SVG)] = shipped{raw, cleaned.Monochrome}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// namesOf returns the names of the icons of a pack, sorted.
func namesOf(t *testing.T, base, key string) (names []string) {
	t.Helper()
	for page := 1; ; page++ {
		var a icon.PackAnswer
		address := fmt.Sprintf("%s/api/v1/packs/%s?page=%d&per_page=%d", base, key, page, icon.MaxOnPage)
		if err := json.Unmarshal(fetched(t, address), &a); err != nil {
			t.Fatal(err)
		}
		for _, i := range a.Icons {
			names = append(names, i.Name)
		}
		if page >= a.Pages {
			slices.Sort(names)
			return names
		}
	}
}
