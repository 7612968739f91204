package catalog

import "github.com/iconedge/iconedge/icon"

// Near returns names in the pack that are similar to a name that it lacks.
func (p *Pack) Near(name string) []string {
	a := p.archive.Load()
	if a == nil {
		return nil
	}
	if len(p.withdrawn) > 0 {
		return icon.Near(shownNames{a, p.withdrawn}, name)
	}
	return icon.Near(a, name)
}

// Lookup implements icon.NameList.
func (a *archive) Lookup(name string) (there, visible bool) {
	e, there := a.Find(name)
	if !there {
		return false, false
	}
	m, err := a.Meta(e)
	return true, err == nil && !m.Hidden
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
