package publish

import (
	"maps"
	"slices"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/release"
)

const maxSamples = 6 // the number that Iconify shows

// A tally computes the fields of a pack's entry that depend on its icons.
type tally struct {
	entry      *release.PackEntry
	wanted     []string        // the samples that the source names
	visible    map[string]bool // for each wanted sample, whether it is a visible icon or alias
	first      []string        // the first visible icons, for a pack without samples
	categories map[string]int
	heights    map[float64]bool
	seqs       map[int]bool
	coloured   bool
}

func newTally(k *pack) *tally {
	about := k.about()
	k.entry.Pack, k.entry.Hidden = about.pack(), about.Hidden
	t := &tally{
		entry: &k.entry, wanted: about.Samples, visible: map[string]bool{},
		categories: map[string]int{}, heights: map[float64]bool{}, seqs: map[int]bool{},
	}
	for _, name := range t.wanted {
		t.visible[name] = false
	}
	return t
}

func (t *tally) count(m release.Meta) {
	t.seqs[m.Seq] = true
	if m.AliasOf == "" {
		t.entry.Icons++
	} else {
		t.entry.Aliases++
	}
	if m.Hidden {
		return
	}
	if _, wanted := t.visible[m.Name]; wanted {
		t.visible[m.Name] = true
	}
	if m.AliasOf != "" {
		return
	}
	t.entry.Count++
	t.coloured = t.coloured || !m.Monochrome
	t.entry.Palette = t.entry.Palette || !m.Monochrome || m.Color != ""
	t.heights[m.Height] = true
	for _, c := range m.Categories {
		t.categories[c]++
	}
	if len(t.first) < maxSamples {
		t.first = append(t.first, m.Name)
	}
}

func (t *tally) finish() {
	e := t.entry
	e.Monochrome = e.Count > 0 && !t.coloured
	for _, name := range slices.Sorted(maps.Keys(t.categories)) {
		e.Categories = append(e.Categories, icon.Category{Name: name, Count: t.categories[name]})
	}
	for _, name := range t.wanted {
		if t.visible[name] {
			e.Samples = append(e.Samples, name)
			t.visible[name] = false // a source may name a sample twice
		}
	}
	if len(e.Samples) == 0 {
		e.Samples = append(e.Samples, t.first...)
	}
	if len(e.Height) == 0 {
		e.Height = append(e.Height, slices.Sorted(maps.Keys(t.heights))...)
	}
	e.Seqs = slices.Sorted(maps.Keys(t.seqs))
}
