package site

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/catalog"
)

// featured lists packs for the home page, in this order, if the release has them.
var featured = []string{
	"mdi", "lucide", "tabler", "ph", "material-symbols", "fluent", "solar", "heroicons", "simple-icons", "twemoji", "logos", "noto",
	"bi", "ri", "carbon", "mingcute", "flag", "devicon",
}

// examples are queries for the home page.
var examples = []string{"home", "arrow left", "user", "calendar", "github", "weather", "shopping cart", "heart"}

const (
	onHome = 12 // packs
	onWall = 18 // icons, each of another pack
)

type homeView struct {
	frame
	IconCount, PackCount int
	Examples             []string
	Wall                 []picture
	Packs                []packCard
}

// home renders the home page.
func (s *Site) home(ctx context.Context, q *Request) (*Page, error) {
	packs := visiblePacks(q.Release)
	v := homeView{Examples: examples, PackCount: len(packs)}
	for _, p := range packs {
		v.IconCount += p.Count
	}
	first := firstOf(packs)
	for _, p := range first[:min(len(first), onHome)] {
		v.Packs = append(v.Packs, card(ctx, q.Release, p))
	}
	v.Wall = wall(ctx, q.Release, first)
	v.frame = s.frame("iconedge: every open-source icon, at an address",
		fmt.Sprintf("Search %d open-source icons of %d packs. Copy an address, and use the icon anywhere.", v.IconCount, v.PackCount), "/")
	return s.render("home", v, icon.LibraryKey)
}

// visiblePacks returns the packs that lists show.
func visiblePacks(r *catalog.Release) []*icon.Pack {
	var packs []*icon.Pack
	for _, p := range r.Packs() {
		if !p.Hidden {
			packs = append(packs, p.Pack)
		}
	}
	return packs
}

// wall returns icons that show at once what the library is: one of each pack, in turn the first,
// the second and so on of its samples.
func wall(ctx context.Context, r *catalog.Release, packs []*icon.Pack) (icons []picture) {
	for n, p := range packs {
		if len(icons) == onWall {
			break
		}
		if samples := sampled(ctx, r, p); len(samples) > 0 {
			ic := samples[n%len(samples)]
			icons = append(icons, picture{Ref: ic.Ref, Name: ic.Ref.Name, Look: lookIn(ic), PackName: p.Name})
		}
	}
	return icons
}

// firstOf returns packs in the order of the home page: the featured ones, then the largest.
func firstOf(packs []*icon.Pack) []*icon.Pack {
	rank := func(p *icon.Pack) int {
		if i := slices.Index(featured, p.Key); i >= 0 {
			return i
		}
		return len(featured)
	}
	packs = slices.Clone(packs)
	slices.SortStableFunc(packs, func(a, b *icon.Pack) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.Count, a.Count))
	})
	return packs
}
