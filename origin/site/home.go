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

// onHome is the number of packs on the home page.
const onHome = 12

type homeView struct {
	frame
	IconCount, PackCount int
	Examples             []string
	Sample               *picture // shown with its address
	Packs                []packCard
}

// home renders the home page.
func (s *Site) home(ctx context.Context, q *Request) (*Page, error) {
	packs := visiblePacks(q.Release)
	v := homeView{Examples: examples, PackCount: len(packs)}
	for _, p := range packs {
		v.IconCount += p.Count
	}
	for _, p := range firstOf(packs) {
		v.Packs = append(v.Packs, card(ctx, q.Release, p))
	}
	if len(v.Packs) > 0 && len(v.Packs[0].Samples) > 0 {
		samples := v.Packs[0].Samples
		v.Sample = &samples[len(samples)/3]
	}
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

// firstOf returns the packs for the home page: the featured ones, then the largest.
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
	return packs[:min(len(packs), onHome)]
}

// A packCard shows a pack in a list, by its own samples.
type packCard struct {
	*icon.Pack
	Samples []picture
}

// Restricted reports whether the licence of the pack allows no commercial use.
func (c packCard) Restricted() bool { return !c.CommercialUse }

// onCard is the number of icons on the card of a pack.
const onCard = 6

// card returns the card of a pack. Samples that the release does not have, or that are withdrawn,
// are left out; a pack without samples shows its first icons.
func card(ctx context.Context, r *catalog.Release, p *icon.Pack) packCard {
	c := packCard{Pack: p}
	add := func(name string) bool {
		ref := icon.Ref{Pack: p.Key, Name: name}
		if ic, err := r.Icon(ctx, ref); err == nil && len(c.Samples) < onCard {
			c.Samples = append(c.Samples, picture{Ref: ref, Name: name, Monochrome: ic.Monochrome})
		}
		return len(c.Samples) < onCard
	}
	for _, name := range p.Samples {
		add(name)
	}
	if len(c.Samples) > 0 {
		return c
	}
	if pack, ok := r.Pack(p.Key); ok {
		pack.Names(func(name string, hidden bool) bool { return hidden || add(name) })
	}
	return c
}
