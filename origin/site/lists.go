package site

import (
	"context"
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
func (l *lists) icons(ctx context.Context, r *catalog.Release, p *catalog.Pack) ([]listed, error) {
	l.mu.Lock()
	if l.state != r.State() {
		l.state, l.packs = r.State(), map[string][]listed{}
	}
	icons, known := l.packs[p.Key]
	l.mu.Unlock()
	if known {
		return icons, nil
	}
	icons, err := iconsWhere(ctx, p, func(release.Meta) bool { return true })
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == r.State() {
		l.packs[p.Key] = icons
	}
	return icons, nil
}

// inCategory returns the visible icons of a pack in a category.
func inCategory(ctx context.Context, p *catalog.Pack, category string) ([]listed, error) {
	return iconsWhere(ctx, p, func(m release.Meta) bool {
		return slices.ContainsFunc(m.Categories, func(c string) bool { return equalFold(c, category) })
	})
}

func iconsWhere(ctx context.Context, p *catalog.Pack, wanted func(release.Meta) bool) (icons []listed, err error) {
	c, err := p.Open(ctx)
	if err != nil {
		return nil, err
	}
	for m := range c.Icons {
		if !m.Hidden && m.AliasOf == "" && wanted(m) {
			icons = append(icons, listed{m.Name, lookOf(m.Monochrome, m.Color)})
		}
	}
	return slices.Clip(icons), nil
}
