// Package catalogtest publishes small libraries for tests of what reads releases: it is to publish what a sketch is to a
// drawing. It takes drawings as they are, uncleaned, and knows no turned aliases.
package catalogtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/release"
)

// A Library is packs by their keys.
type Library map[string]*Pack

// A Pack is a pack and its drawings by name. Its counts and categories are filled in when it is published.
type Pack struct {
	icon.Pack
	Hidden   bool
	Drawings map[string]Drawing
}

// A Drawing is an icon or an alias, without its Seq.
type Drawing struct {
	Meta release.Meta
	SVG  string
}

// Square makes a monochrome drawing of size by size pixels with that path.
func Square(name, path string, size float64) Drawing {
	return draw(name, fmt.Sprintf(`<path fill="currentColor" d="%s"/>`, path), size, size, false)
}

func draw(name, body string, width, height float64, palette bool) Drawing {
	box := fmt.Sprintf("0 0 %v %v", width, height)
	return Drawing{
		Meta: release.Meta{Name: name, Width: width, Height: height, ViewBox: box, Monochrome: !palette},
		SVG:  fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%v" height="%v" viewBox="%s">%s</svg>`, width, height, box, body),
	}
}

// Add puts a drawing into a pack of the library, which is made, with the MIT licence, when there is none.
func (l Library) Add(pack string, d Drawing) {
	p := l[pack]
	if p == nil {
		p = &Pack{Pack: icon.Pack{Pack: pack, Name: "Pack " + pack}, Drawings: map[string]Drawing{}}
		p.SetLicense(icon.License{SPDX: "MIT", Title: "MIT License", URL: "https://spdx.org/licenses/MIT.html"})
		l[pack] = p
	}
	p.Drawings[d.Meta.Name] = d
}

// The parts of IconifyJSON and IconifyInfo (@iconify/types) that Read knows.
type (
	packFile struct {
		Icons map[string]struct {
			Body          string
			Width, Height float64
			Hidden        bool
		}
		Aliases map[string]struct {
			Parent string
			Hidden bool
		}
		Categories    map[string][]string
		Width, Height float64
	}
	info struct {
		Name    string
		Author  struct{ Name, URL string }
		License struct{ Title, SPDX, URL string }

		Version, Category string
		Samples           []string
		Height            float64
		Palette, Hidden   bool
	}
)

// Read reads a folder in the form of the npm package of @iconify/json.
func Read(dir string) (Library, error) {
	var infos map[string]info
	if err := readJSON(filepath.Join(dir, "collections.json"), &infos); err != nil {
		return nil, err
	}
	l := Library{}
	for key, in := range infos {
		var f packFile
		if err := readJSON(filepath.Join(dir, "json", key+".json"), &f); err != nil {
			return nil, err
		}
		p := &Pack{Hidden: in.Hidden, Drawings: f.drawings(in.Palette), Pack: icon.Pack{
			Pack: key, Name: in.Name, Author: in.Author.Name, AuthorURL: in.Author.URL, Version: in.Version, Category: in.Category,
			Samples: in.Samples, Height: []float64{in.Height}, Monochrome: !in.Palette,
		}}
		if in.License.URL == "" {
			in.License.URL = "https://spdx.org/licenses/" + in.License.SPDX + ".html"
		}
		p.SetLicense(icon.License{SPDX: in.License.SPDX, Title: in.License.Title, URL: in.License.URL})
		l[key] = p
	}
	return l, nil
}

func readJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

func (f *packFile) drawings(palette bool) map[string]Drawing {
	orElse := func(n ...float64) float64 { return n[slices.IndexFunc(n, func(n float64) bool { return n != 0 })] }
	all := map[string]Drawing{}
	for name, i := range f.Icons {
		d := draw(name, i.Body, orElse(i.Width, f.Width, 16), orElse(i.Height, f.Height, 16), palette)
		d.Meta.Hidden = i.Hidden
		for category, names := range f.Categories {
			if slices.Contains(names, name) {
				d.Meta.Categories = append(d.Meta.Categories, category)
			}
		}
		slices.Sort(d.Meta.Categories)
		all[name] = d
	}
	for name, a := range f.Aliases {
		d := all[a.Parent]
		d.Meta.Name, d.Meta.AliasOf, d.Meta.Hidden = name, a.Parent, a.Hidden
		all[name] = d
	}
	return all
}

// names are those of the pack's drawings, sorted.
func (p *Pack) names() []string { return slices.Sorted(maps.Keys(p.Drawings)) }

// described fills in what follows from the drawings.
func (p *Pack) described() icon.Pack {
	d, counts := p.Pack, map[string]int{}
	d.Count = 0
	for _, drawing := range p.Drawings {
		if drawing.Meta.Hidden || drawing.Meta.AliasOf != "" {
			continue
		}
		d.Count++
		for _, c := range drawing.Meta.Categories {
			counts[c]++
		}
	}
	d.Categories = nil
	for _, name := range slices.SortedFunc(maps.Keys(counts), strings.Compare) {
		d.Categories = append(d.Categories, icon.Category{Name: name, Count: counts[name]})
	}
	return d
}
