package site

import (
	"context"
	"strings"

	"github.com/iconedge/iconedge/icon"
)

type packsView struct {
	frame
	Asked    selection
	Packs    []packCard
	Icons    int
	Licenses []*licenseGroup
	Groups   []choice // the categories of packs
}

// packs renders the list of all packs.
func (s *Site) packs(ctx context.Context, q *Request) (*Page, error) {
	asked, err := parseSelection(q.Params)
	if err != nil {
		return nil, err
	}
	all := visiblePacks(q.Release)
	v := packsView{Asked: asked, Licenses: licenseGroups(all, asked.License)}
	seen := map[string]bool{}
	for _, p := range all {
		if p.Category != "" && !seen[p.Category] {
			seen[p.Category] = true
			v.Groups = append(v.Groups, choice{p.Category, p.Category, equalFold(p.Category, asked.Category)})
		}
		if asked.shows(p) {
			v.Icons += p.Count
			v.Packs = append(v.Packs, card(ctx, q.Release, p))
		}
	}
	v.frame = s.frame("Icon packs · iconedge", "All icon packs, with their licences, and samples of their icons.", "/packs")
	return s.render("packs", v, icon.LibraryKey)
}

func equalFold(a, b string) bool { return strings.EqualFold(a, b) }
