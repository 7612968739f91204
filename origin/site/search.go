package site

import (
	"context"
	"fmt"
	"strconv"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/license"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/search"
)

// onResults is the number of icons on a page of results.
const onResults = 60

type searchView struct {
	frame
	Asked       selection
	Total       int
	Results     []picture
	Suggestions []suggestion
	Packs       []packCard // without a query
	Choices     []choice   // of packs
	Licenses    []*licenseGroup
	Facets      []facet
	Pager       pager
}

// A suggestion is a link to another search.
type suggestion struct{ Text, Address string }

// search renders the results of a search; without one, the form and all packs.
func (s *Site) search(ctx context.Context, q *Request) (*Page, error) {
	v, err := s.results(ctx, q)
	if err != nil {
		return nil, err
	}
	return s.render("search", v, icon.LibraryKey)
}

// results finds the content of the page of a search.
func (s *Site) results(ctx context.Context, q *Request) (*searchView, error) {
	asked, err := parseSelection(q.Params)
	if err != nil {
		return nil, err
	}
	if _, known := q.Release.Pack(asked.Pack); asked.Pack != "" && !known {
		return nil, noPack(q.Release, asked.Pack)
	}
	packs := visiblePacks(q.Release)
	var chips []facet
	if q.Index.HasLooks() {
		chips = facets(asked)
	}
	v := &searchView{Asked: asked, Facets: chips, Licenses: licenseGroups(packs, asked.License)}
	for _, p := range packs {
		v.Choices = append(v.Choices, choice{p.Key, p.Name, p.Key == asked.Pack})
	}
	if asked.Text == "" {
		v.frame = s.frame("Search icons · iconedge", "Search all icons by words.", "")
		for _, p := range packs {
			if (asked.Pack == "" || p.Key == asked.Pack) && asked.shows(p) {
				v.Packs = append(v.Packs, packCard{Pack: p})
			}
		}
		return v, nil
	}
	v.frame = s.frame(asked.Text+" · icons · iconedge", fmt.Sprintf("Icons for %q.", asked.Text), "")
	v.Query = asked.Text
	var hits []search.Hit
	hits, v.Total = q.Index.Search(search.Query{
		Text: asked.Text, Pack: asked.Pack, Limit: onResults, Offset: min((asked.Page-1)*onResults, v.maxOffset()),
		Filter: search.Filter{Style: asked.Style, Grid: asked.Grid, Stroked: asked.Stroked, Category: asked.Category,
			License: asked.License, Commercial: asked.Commercial},
	})
	v.Pager = pager{asked.Page, pages(min(v.Total, icon.MaxOffset), onResults), asked.Address}
	if asked.Page > max(1, v.Pager.Pages) {
		return nil, noPage()
	}
	for _, h := range hits {
		v.Results = append(v.Results, pictureOf(q.Release, h.Ref, foundLook(ctx, q.Release, h)))
	}
	if v.Total == 0 {
		for _, text := range q.Index.Suggest(asked.Text) {
			v.Suggestions = append(v.Suggestions, suggestion{text, selection{Text: text}.Address(1)})
		}
	}
	return v, nil
}

// A facet is a chip that restricts a search to a style, a grid or icons whose strokes can have
// another width, or does not any more.
type facet struct {
	Text, Address string
	Chosen        bool
}

// facets returns the chips of a search.
func facets(asked selection) (chips []facet) {
	for _, look := range search.Looks {
		f := facet{Text: look, Chosen: equalFold(look, asked.Style)}
		next := asked.with(look, asked.Grid)
		if f.Chosen {
			next.Style = ""
		}
		f.Address = next.Address(1)
		chips = append(chips, f)
	}
	for _, size := range search.Grids {
		f := facet{Text: strconv.Itoa(size) + " px", Chosen: size == asked.Grid}
		next := asked.with(asked.Style, size)
		if f.Chosen {
			next.Grid = 0
		}
		f.Address = next.Address(1)
		chips = append(chips, f)
	}
	next := asked.with(asked.Style, asked.Grid)
	next.Stroked = !asked.Stroked
	return append(chips, facet{"any stroke width", next.Address(1), asked.Stroked})
}

// maxOffset is the largest number of results that a page skips.
func (*searchView) maxOffset() int { return icon.MaxOffset }

// Heading returns the heading of the page.
func (v *searchView) Heading() string {
	if v.Asked.Text == "" {
		return "Search icons"
	}
	return "Icons for “" + v.Asked.Text + "”"
}

// Filtered reports whether filters are set, which may be why nothing is found.
func (v *searchView) Filtered() bool { return v.Asked.filtered() }

// Unfiltered returns the address of the same search without filters.
func (v *searchView) Unfiltered() string { return selection{Text: v.Asked.Text}.Address(1) }

// shows reports whether the filters let a pack pass.
func (s selection) shows(p *icon.Pack) bool {
	if s.Commercial && !p.CommercialUse {
		return false
	}
	inCategory := s.Category == "" || equalFold(p.Category, s.Category)
	return inCategory && (s.License == "" || license.Matches(s.License, p.License))
}

// foundLook returns the look of an icon that a search has found.
func foundLook(ctx context.Context, r *catalog.Release, h search.Hit) look {
	if h.Own { // few are
		if ic, err := r.Icon(ctx, h.Ref); err == nil {
			return lookIn(ic)
		}
		return own
	}
	return lookOf(h.Monochrome, "")
}

// pictureOf returns an icon for a list of icons of several packs.
func pictureOf(r *catalog.Release, ref icon.Ref, look look) picture {
	c := picture{Ref: ref, Name: ref.Name, Look: look}
	if p, ok := r.Pack(ref.Pack); ok {
		c.PackName, c.License, c.Restricted = p.Name, p.License, !p.CommercialUse
	}
	return c
}

// pages returns the number of pages of n things.
func pages(n, onPage int) int { return (n + onPage - 1) / onPage }

// noPage returns the 404 for the number of a page that a list does not have.
func noPage() error { return problem.NotFound("the list does not have so many pages") }
