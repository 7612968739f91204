package site

import (
	"context"
	"fmt"
	"strings"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/catalog"
)

// onPack is the number of icons on a page of a pack.
const onPack = 200

type packView struct {
	frame
	Pack     *icon.Pack
	Category string
	Total    int // icons in the category
	Icons    []picture
	Pager    pager
}

// Credited reports whether the licence requires a credit where an icon is shown.
func (v packView) Credited() bool { return credited(v.Pack.License) }

// pack renders a page of a pack.
func (s *Site) pack(ctx context.Context, q *Request) (*Page, error) {
	asked, err := parseSelection(q.Params)
	if err != nil {
		return nil, err
	}
	p, err := packOf(ctx, q)
	if err != nil {
		return nil, err
	}
	v := packView{Pack: p.Pack, Category: asked.Category}
	var icons []listed
	if asked.Category != "" {
		icons, err = inCategory(ctx, p, asked.Category)
	} else {
		icons, err = s.lists.icons(ctx, q.Release, p)
	}
	if err != nil {
		return nil, err
	}
	v.Total = len(icons)
	first := min((asked.Page-1)*onPack, v.Total)
	for _, i := range icons[first:min(first+onPack, v.Total)] {
		v.Icons = append(v.Icons, picture{Ref: icon.Ref{Pack: p.Key, Name: i.name}, Name: i.name, Look: i.look})
	}
	v.Pager = pager{asked.Page, pages(v.Total, onPack), packAddress(p.Key, asked.Category)}
	if asked.Page > max(1, v.Pager.Pages) {
		return nil, noPage()
	}
	title := p.Name
	if asked.Category != "" {
		title += ": " + asked.Category
	}
	if asked.Page > 1 {
		title += fmt.Sprintf(", page %d", asked.Page)
	}
	v.frame = s.frame(title+" · iconedge", fmt.Sprintf("%s: %d icons, licence %s.", title, v.Total, p.License), v.Pager.address(asked.Page))
	return s.render("pack", v, icon.LibraryKey, "pack/"+p.Key)
}

// packAddress returns the function that makes the addresses of the pages of a pack.
func packAddress(key, category string) func(page int) string {
	return func(page int) string {
		var b query
		b.add("category", category)
		b.addPage(page)
		return "/pack/" + key + b.String()
	}
}

// noPack returns the 404 for an unknown pack, with similar ones.
func noPack(r *catalog.Release, key string) error {
	if !icon.ValidKey(key) {
		return problem.NotFound("there is no such pack")
	}
	return problem.NotFound("there is no such pack", prefixed("/pack/", r.Near(key))...)
}

// packOf returns the pack that a request names, or the problem that there is none.
func packOf(ctx context.Context, q *Request) (*catalog.Pack, error) {
	p, ok := q.Release.Pack(q.Ref.Pack)
	switch {
	case q.Release.IsWithdrawn(q.Ref.Pack):
		return nil, withdrawn(ctx, q.Release, q.Ref)
	case !ok:
		return nil, noPack(q.Release, q.Ref.Pack)
	}
	return p, nil
}

// withdrawn returns the 410 for a withdrawn icon or pack, with similar ones.
func withdrawn(ctx context.Context, r *catalog.Release, ref icon.Ref) error {
	gone := problem.Withdrawn()
	if p, ok := r.Pack(ref.Pack); ok {
		gone.Suggestions = prefixed("/icon/"+ref.Pack+"/", p.Near(ctx, ref.Name))
	} else {
		gone.Suggestions = prefixed("/pack/", r.Near(ref.Pack))
	}
	return gone
}

// prefixed returns addresses: each name after a path.
func prefixed(path string, names []string) (addresses []string) {
	for _, name := range names {
		addresses = append(addresses, path+name)
	}
	return addresses
}

// label returns the name at the end of an address.
func label(address string) string { return address[strings.LastIndexByte(address, '/')+1:] }
