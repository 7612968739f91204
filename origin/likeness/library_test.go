package likeness

import (
	"bytes"
	"encoding/json"
	"errors"
	"image/color"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/iconedge/iconedge/icon/raster"
	"github.com/iconedge/iconedge/origin/svg"
)

// A sample is a clean icon of the library.
type sample struct {
	name string
	svg  []byte
}

// library returns about n icons of all packs of the @iconify/json in the folder that
// ICONEDGE_LIBRARY names, the same ones each time.
func library(t testing.TB, n int) (list []sample) {
	folder := os.Getenv("ICONEDGE_LIBRARY")
	if folder == "" {
		t.Skip("ICONEDGE_LIBRARY does not name the folder of @iconify/json")
	}
	files, err := filepath.Glob(filepath.Join(folder, "json", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no packs", err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for i, file := range files {
		list = append(list, samples(t, file, n*(i+1)/len(files)-n*i/len(files), random)...)
	}
	return list
}

// samples returns n icons of a pack that the renderer draws. It leaves out animations, of which a
// browser shows any moment.
func samples(t testing.TB, file string, n int, random *rand.Rand) (list []sample) {
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
	for _, name := range names {
		if len(list) == n {
			break
		}
		i := f.Icons[name]
		clean, err := svg.Clean([]byte(i.Body), svg.Box{Left: first(0, i.Left, f.Left), Top: first(0, i.Top, f.Top),
			Width: first(16, i.Width, f.Width), Height: first(16, i.Height, f.Height)})
		if err != nil || bytes.Contains(clean.SVG, []byte("<animate")) || bytes.Contains(clean.SVG, []byte("<set")) {
			continue // publish leaves it out
		}
		if _, err := raster.Draw(clean.SVG, 16, 16, color.Black); errors.Is(err, raster.ErrUnsupported) {
			continue
		} else if err != nil {
			t.Errorf("%s/%s: %v", f.Prefix, name, err)
		}
		list = append(list, sample{f.Prefix + "/" + name, clean.SVG})
	}
	return list
}

func first(or float64, values ...*float64) float64 {
	for _, v := range values {
		if v != nil {
			return *v
		}
	}
	return or
}
