package site

import (
	"slices"
	"sync"

	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/release"
)

// A listed icon is one that the page of its pack shows.
type listed struct {
	name string
	look look
}

// lists hold the icons of packs for their pages, because reading the metadata of 30,000 icons takes
// longer than making a page of 200. They are of one release at a time.
type lists struct {
	mu    sync.Mutex
	state string // of the release
	packs map[string][]listed
}

// icons returns the visible icons of a pack, without aliases, by name.
func (l *lists) icons(r *catalog.Release, p *catalog.Pack) []listed {
	l.mu.Lock()
	if l.state != r.State() {
		l.state, l.packs = r.State(), map[string][]listed{}
	}
	icons, known := l.packs[p.Key]
	l.mu.Unlock()
	if known {
		return icons
	}
	icons = iconsWhere(p, func(release.Meta) bool { return true })
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == r.State() {
		l.packs[p.Key] = icons
	}
	return icons
}

// inCategory returns the visible icons of a pack in a category.
func inCategory(p *catalog.Pack, category string) []listed {
	return iconsWhere(p, func(m release.Meta) bool {
		return slices.ContainsFunc(m.Categories, func(c string) bool { return equalFold(c, category) })
	})
}

func iconsWhere(p *catalog.Pack, wanted func(release.Meta) bool) (icons []listed) {
	p.Icons(func(m release.Meta) bool {
		if !m.Hidden && m.AliasOf == "" && wanted(m) {
			icons = append(icons, listed{m.Name, lookOf(m.Monochrome, m.Color)})
		}
		return true
	})
	return slices.Clip(icons)
}
