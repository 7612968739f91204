package site

import (
	"context"
	"fmt"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/icon/license"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/search"
	"github.com/iconedge/iconedge/problem"
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
	Pager       pager
}

// A suggestion is a link to another search.
type suggestion struct{ Text, Address string }

// search renders the results of a search; without one, the form and all packs.
func (s *Site) search(_ context.Context, q *Request) (*Page, error) {
	asked, err := parseSelection(q.Params)
	if err != nil {
		return nil, err
	}
	if _, known := q.Release.Pack(asked.Pack); asked.Pack != "" && !known {
		return nil, noPack(q.Release, asked.Pack)
	}
	packs := visiblePacks(q.Release)
	v := searchView{Asked: asked, Licenses: licenseGroups(packs, asked.License)}
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
		return s.render("search", v, icon.LibraryKey)
	}
	v.frame = s.frame(asked.Text+" · icons · iconedge", fmt.Sprintf("Icons for %q.", asked.Text), "")
	v.Query = asked.Text
	var hits []search.Hit
	hits, v.Total = q.Index.Search(search.Query{
		Text: asked.Text, Pack: asked.Pack, Limit: onResults, Offset: min((asked.Page-1)*onResults, v.maxOffset()),
		Filter: search.Filter{Style: asked.Style, Category: asked.Category, License: asked.License, Commercial: asked.Commercial},
	})
	v.Pager = pager{asked.Page, pages(min(v.Total, icon.MaxOffset), onResults), asked.Address}
	if asked.Page > max(1, v.Pager.Pages) {
		return nil, noPage()
	}
	for _, h := range hits {
		v.Results = append(v.Results, pictureOf(q.Release, h.Ref, h.Monochrome))
	}
	if v.Total == 0 {
		for _, text := range q.Index.Suggest(asked.Text) {
			v.Suggestions = append(v.Suggestions, suggestion{text, selection{Text: text}.Address(1)})
		}
	}
	return s.render("search", v, icon.LibraryKey)
}

// maxOffset is the largest number of results that a page skips.
func (searchView) maxOffset() int { return icon.MaxOffset }

// Filtered reports whether filters are set, which may be why nothing is found.
func (v searchView) Filtered() bool { return v.Asked.filtered() }

// Unfiltered returns the address of the same search without filters.
func (v searchView) Unfiltered() string { return selection{Text: v.Asked.Text}.Address(1) }

// shows reports whether the filters let a pack pass.
func (s selection) shows(p *icon.Pack) bool {
	return (s.Category == "" || equalFold(p.Category, s.Category)) && (s.License == "" || license.Matches(s.License, p.License)) &&
		(!s.Commercial || p.CommercialUse)
}

// pictureOf returns an icon for a list of icons of several packs.
func pictureOf(r *catalog.Release, ref icon.Ref, monochrome bool) picture {
	c := picture{Ref: ref, Name: ref.Name, Monochrome: monochrome}
	if p, ok := r.Pack(ref.Pack); ok {
		c.PackName, c.License, c.Restricted = p.Name, p.License, !p.CommercialUse
	}
	return c
}

// pages returns the number of pages of n things.
func pages(n, onPage int) int { return (n + onPage - 1) / onPage }

// noPage returns the 404 for the number of a page that a list does not have.
func noPage() error { return problem.NotFound("the list does not have so many pages") }
