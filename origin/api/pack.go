package api

import (
	"net/http"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/catalog"
)

// pack answers GET /api/v1/packs/{pack}, for hidden packs too, because their icons can be fetched
// by name.
func (a *API) pack(_ http.ResponseWriter, c *call) (*answer, error) {
	page, err := c.params.Int("page", 1, icon.MaxPage, icon.DefaultPage)
	if err != nil {
		return nil, err
	}
	perPage, err := c.params.Int("per_page", 1, icon.MaxOnPage, icon.DefaultOnPage)
	if err != nil {
		return nil, err
	}
	p, ok := c.release.Pack(c.route.ref.Pack)
	switch {
	case c.release.IsWithdrawn(c.route.ref.Pack):
		return nil, problem.Withdrawn()
	case !ok:
		return nil, noPack(c.release, c.route.ref.Pack)
	}
	icons, err := p.Open(c.Context())
	if err != nil {
		return nil, err
	}
	return &answer{
		entity: newEntity(onePack(p, icons, page, perPage)), cacheControl: listsCached,
		surrogate: icon.LibraryKey + " pack/" + p.Pack.Key,
	}, nil
}

// onePack describes a pack, with one page of its visible icons and the visible aliases of these
// icons. A page beyond the last is empty.
func onePack(p *catalog.Pack, icons catalog.Contents, page, perPage int) icon.PackAnswer {
	ans := icon.PackAnswer{Pack: filled(*p.Pack), Page: page, PerPage: perPage, Icons: []icon.PackIcon{}, Aliases: map[string]string{}}
	first, n := (page-1)*perPage, 0
	onPage := map[string]bool{}
	for m := range icons.Icons {
		if m.Hidden || m.AliasOf != "" {
			continue
		}
		if n >= first && n < first+perPage {
			ans.Icons = append(ans.Icons, icon.PackIcon{Name: m.Name, Categories: list(m.Categories)})
			onPage[m.Name] = true
			for _, spelling := range m.Spellings() {
				ans.Aliases[spelling] = m.Name
			}
		}
		n++
	}
	for m := range icons.Icons {
		if !m.Hidden && onPage[m.AliasOf] {
			ans.Aliases[m.Name] = m.AliasOf
		}
	}
	ans.Pages = (n + perPage - 1) / perPage
	return ans
}
