package catalog

import (
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/spelling"
)

// Near returns names in the pack that are similar to a name that it lacks. The first is the valid
// name for which another spelling stands.
func (p *Pack) Near(name string) []string {
	a := p.archive.Load()
	if a == nil {
		return nil
	}
	var names icon.NameList = a
	if len(p.withdrawn) > 0 {
		names = shownNames{a, p.withdrawn}
	}
	if icon.ValidKey(name) {
		return icon.Near(names, name)
	}
	return icon.Meant(names, spelling.Mend(name))
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
