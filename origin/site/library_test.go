package site

import (
	"encoding/json"
	"errors"
	"image/color"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/raster"
	"github.com/iconedge/iconedge/origin/bag"
	"github.com/iconedge/iconedge/origin/svg"
)

// TestLibraryFiles draws icons of every pack of an @iconify/json, whose folder ICONEDGE_LIBRARY
// names, and makes sprites of them.
func TestLibraryFiles(t *testing.T) {
	folder := os.Getenv("ICONEDGE_LIBRARY")
	if folder == "" {
		t.Skip("ICONEDGE_LIBRARY does not name the folder of @iconify/json")
	}
	files, err := filepath.Glob(filepath.Join(folder, "json", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no packs", err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	all, refused := 0, map[string]int{}
	for _, file := range files {
		var f struct {
			Prefix string
			Icons  map[string]struct {
				Body                     string
				Left, Top, Width, Height *float64
			}
			Left, Top, Width, Height *float64
		}
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, &f)
		}
		if err != nil {
			t.Fatal(err)
		}
		names := slices.Sorted(maps.Keys(f.Icons))
		random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		pack := &icon.Pack{Key: f.Prefix}
		var items []bag.Item
		for _, name := range names[:min(len(names), 25)] {
			i := f.Icons[name]
			clean, err := svg.Clean([]byte(i.Body), svg.Box{Left: first(0, i.Left, f.Left), Top: first(0, i.Top, f.Top),
				Width: first(16, i.Width, f.Width), Height: first(16, i.Height, f.Height)})
			if err != nil {
				continue // publish leaves it out
			}
			all++
			if _, err := raster.Draw(clean.SVG, 96, 96, color.Black); errors.Is(err, raster.ErrUnsupported) {
				refused[err.Error()]++
			} else if err != nil {
				t.Errorf("%s/%s: %v", f.Prefix, name, err)
			}
			items = append(items, bag.Item{Ref: icon.Ref{Pack: f.Prefix, Name: name}, Pack: pack, SVG: clean.SVG})
		}
		if _, err := bag.Sprite(items); err != nil {
			t.Errorf("%s: %v", f.Prefix, err)
		}
	}
	n := 0
	for _, k := range refused {
		n += k
	}
	t.Logf("%d icons, %d not drawn: %v", all, n, refused)
	if n*50 > all {
		t.Errorf("%d of %d icons are not drawn, want at most 2 %%", n, all)
	}
}

func first(or float64, values ...*float64) float64 {
	for _, v := range values {
		if v != nil {
			return *v
		}
	}
	return or
}
