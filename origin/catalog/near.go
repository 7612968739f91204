package catalog

import (
	"context"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/spelling"
)

// Near returns names in the pack that are similar to a name that it lacks. The first is the valid
// name for which another spelling stands.
func (c Contents) Near(name string) []string {
	var names icon.NameList = c.archive
	if len(c.withdrawn) > 0 {
		names = shownNames{c.archive, c.withdrawn}
	}
	if icon.ValidKey(name) {
		return icon.Near(names, name)
	}
	return icon.Meant(names, spelling.Mend(name))
}

// Near opens the pack and returns names that are similar to a name; see Contents.Near. It returns
// none if the pack can't be opened.
func (p *Pack) Near(ctx context.Context, name string) []string {
	c, err := p.Open(ctx)
	if err != nil {
		return nil
	}
	return c.Near(name)
}

// Lookup implements icon.NameList.
func (a *archive) Lookup(name string) (there, visible bool) {
	e, there := a.Find(name)
	if !there {
		return false, false
	}
	return true, !a.Hidden(e)
}

// Near returns keys of visible packs that are similar to a key that does not exist.
func (r *Release) Near(key string) []string {
	return icon.NearKeys(func(yield func(string) bool) {
		for _, p := range r.order {
			if !p.Hidden && !yield(p.Pack.Key) {
				return
			}
		}
	}, key)
}
