package svg

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/iconedge/iconedge/icon"
)

// iconSet is the part of a file of @iconify/json that the tests need.
type iconSet struct {
	Prefix string
	Info   struct{ Palette *bool }
	Icons  map[string]struct {
		Body                     string
		Left, Top, Width, Height *float64
	}
	Left, Top, Width, Height *float64
}

func (s *iconSet) box(name string) Box {
	pick := func(def float64, given ...*float64) float64 {
		for _, g := range given {
			if g != nil {
				return *g
			}
		}
		return def
	}
	i := s.Icons[name]
	return Box{Left: pick(0, i.Left, s.Left), Top: pick(0, i.Top, s.Top), Width: pick(16, i.Width, s.Width),
		Height: pick(16, i.Height, s.Height)}
}

// TestLibrary cleans the whole of @iconify/json, unpacked in the folder that ICONEDGE_LIBRARY
// names. No icon may be refused, and no tree may change. It logs the time, and the packs whose own
// palette flag differs from the result.
func TestLibrary(t *testing.T) {
	folder := os.Getenv("ICONEDGE_LIBRARY")
	if folder == "" {
		t.Skip("ICONEDGE_LIBRARY is not set")
	}
	files, err := filepath.Glob(filepath.Join(folder, "json", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no packs in %s: %v", folder, err)
	}
	var took time.Duration
	icons, size, refused, changed, own := 0, 0, 0, 0, 0
	for _, file := range files {
		var set iconSet
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &set); err != nil {
			t.Fatal(err)
		}
		var mono, other []string
		for name, i := range set.Icons {
			icons++
			size += len(i.Body)
			start := time.Now()
			d, err := Clean([]byte(i.Body), set.box(name))
			took += time.Since(start)
			if err != nil {
				refused++
				t.Errorf("%s:%s is refused: %v", set.Prefix, name, err)
				if !errors.Is(err, ErrUnclean) {
					t.Errorf("%s:%s: the error does not wrap ErrUnclean", set.Prefix, name)
				}
				continue
			}
			if d.Color != "" {
				own++
			}
			if d.Monochrome {
				mono = append(mono, name)
			} else {
				other = append(other, name)
			}
			r := root{xlink: true, width: d.Width, height: d.Height, box: set.box(name)}
			if d.Color != "" {
				r.color = string(icon.Literal(d.SVG))
			}
			want, err1 := outline(r.around([]byte(i.Body)))
			got, err2 := outline(d.SVG)
			if err1 != nil || err2 != nil || got != want {
				changed++
				t.Errorf("%s:%s is changed: %v %v\n%s\n%s", set.Prefix, name, err1, err2, i.Body, d.SVG)
			}
		}
		if palette := set.Info.Palette; palette != nil && (*palette && len(mono) > 0 || !*palette && len(other) > 0) {
			slices.Sort(mono)
			slices.Sort(other)
			odd := other
			if *palette {
				odd = mono
			}
			t.Logf("%s: palette %v, %d monochrome, %d not, such as %v", set.Prefix, *palette, len(mono), len(other), odd[:min(4, len(odd))])
		}
	}
	t.Logf("%d icons, %d bytes, cleaned in %v; %d refused, %d changed, %d in one colour of their own", icons, size, took, refused,
		changed, own)
}
