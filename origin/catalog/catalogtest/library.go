// Package catalogtest publishes small libraries, for tests of packages that read releases. It is a
// simple substitute for package publish: it does not clean SVGs, and does not rotate or flip
// aliases.
package catalogtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/release"
)

// A Library holds packs by key.
type Library map[string]*Pack

// A Pack is a pack with its icons by name. Publish fills in its counts and categories.
type Pack struct {
	icon.Pack
	Hidden bool
	Icons  map[string]Icon
}

// An Icon is an icon or an alias, without its Seq.
type Icon struct {
	Meta release.Meta
	SVG  string
}

// Square makes a monochrome icon of size by size pixels with that path.
func Square(name, path string, size float64) Icon {
	return draw(name, fmt.Sprintf(`<path fill="currentColor" d="%s"/>`, path), size, size, false)
}

func draw(name, body string, width, height float64, palette bool) Icon {
	box := fmt.Sprintf("0 0 %v %v", width, height)
	m, root := release.Meta{Name: name, Width: width, Height: height, ViewBox: box, Monochrome: !palette}, ""
	if literal := string(icon.Literal([]byte(body))); palette && strings.Count(body, literal) == strings.Count(body, "#") {
		m.Monochrome, root = true, fmt.Sprintf(` color="%s"`, literal)
		m.Color, _ = icon.ParseColor(literal)
	}
	if _, after, found := strings.Cut(body, `stroke-width="`); found {
		width, _, _ := strings.Cut(after, `"`)
		m.Stroke, _ = strconv.ParseFloat(width, 64)
	}
	m.TwoTone = m.Monochrome && strings.Contains(body, ` opacity="`)
	return Icon{m, fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%v" height="%v" viewBox="%s"%s>%s</svg>`,
		width, height, box, root, body)}
}

// Add adds an icon to a pack of the library. If there is no such pack, Add makes one with the MIT
// licence.
func (l Library) Add(pack string, d Icon) {
	p := l[pack]
	if p == nil {
		p = &Pack{Pack: icon.Pack{Key: pack, Name: "Pack " + pack}, Icons: map[string]Icon{}}
		p.SetLicense(icon.License{SPDX: "MIT", Title: "MIT License", URL: "https://spdx.org/licenses/MIT.html"})
		l[pack] = p
	}
	p.Icons[d.Meta.Name] = d
}

// packFile and info are the parts of IconifyJSON and IconifyInfo (@iconify/types) that Read uses.
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

// Read reads a folder in the form of the npm package @iconify/json.
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
		p := &Pack{Hidden: in.Hidden, Icons: f.icons(in.Palette), Pack: icon.Pack{
			Key: key, Name: in.Name, Author: in.Author.Name, AuthorURL: in.Author.URL, Version: in.Version, Category: in.Category,
			Samples: in.Samples, Height: []float64{in.Height}, Monochrome: !in.Palette, Palette: in.Palette,
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

func (f *packFile) icons(palette bool) map[string]Icon {
	orElse := func(n ...float64) float64 { return n[slices.IndexFunc(n, func(n float64) bool { return n != 0 })] }
	all := map[string]Icon{}
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

// names returns the names of the pack's icons, sorted.
func (p *Pack) names() []string { return slices.Sorted(maps.Keys(p.Icons)) }

// described returns the pack with the fields that follow from its icons.
func (p *Pack) described() icon.Pack {
	d, counts := p.Pack, map[string]int{}
	d.Count = 0
	for _, i := range p.Icons {
		if i.Meta.Hidden || i.Meta.AliasOf != "" {
			continue
		}
		d.Count++
		for _, c := range i.Meta.Categories {
			counts[c]++
		}
	}
	d.Categories = nil
	for _, name := range slices.SortedFunc(maps.Keys(counts), strings.Compare) {
		d.Categories = append(d.Categories, icon.Category{Name: name, Count: counts[name]})
	}
	return d
}
