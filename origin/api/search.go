package api

import (
	"errors"
	"net/http"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/search"
)

// search answers GET /api/v1/search.
func (a *API) search(_ http.ResponseWriter, c *call) (*answer, error) {
	q, err := parseSearch(c.params)
	if err != nil {
		return nil, err
	}
	if _, known := c.release.Pack(q.Pack); q.Pack != "" && !known {
		return nil, noPack(c.release, q.Pack)
	}
	index := preparedOf(c.release).index
	if err := a.checkSimilar(c, q.Similar); err != nil {
		return nil, err
	}
	hits, total := index.Search(q)
	found := icon.SearchAnswer{
		Query: q.Text, Similar: orEmpty(q.Similar), Pack: orNull(q.Pack), Limit: q.Limit, Offset: q.Offset, Total: total,
		Results: make([]icon.Result, 0, len(hits)), Suggestions: []string{}, License: icon.LicenseEach,
	}
	for _, h := range hits {
		r, err := a.result(c, h)
		if err != nil {
			return nil, err
		}
		found.Results = append(found.Results, r)
	}
	if total == 0 && q.Similar == (icon.Ref{}) {
		found.Suggestions = list(index.Suggest(q.Text))
	}
	ans := &answer{entity: newEntity(found), cacheControl: listsCached, surrogate: icon.LibraryKey}
	if q.Explain {
		ans.cacheControl = noStore
	}
	return ans, nil
}

// checkSimilar returns an error if there is no such icon, or if it is withdrawn.
func (a *API) checkSimilar(c *call, ref icon.Ref) error {
	if ref == (icon.Ref{}) {
		return nil
	}
	_, err := findIcon(c.Context(), c.release, ref)
	return err
}

// orEmpty returns "" for the zero Ref.
func orEmpty(ref icon.Ref) string {
	if ref == (icon.Ref{}) {
		return ""
	}
	return ref.String()
}

func parseSearch(p icon.Params) (q search.Query, err error) {
	if q.Similar, err = icon.ParamSimilar(p); err != nil {
		return q, err
	}
	if q.Similar == (icon.Ref{}) {
		if q.Text, err = text(p); err != nil {
			return q, err
		}
	}
	if q.Explain, err = p.Bool("explain"); err != nil {
		return q, err
	}
	if q.Limit, err = p.Int("limit", 1, icon.MaxLimit, icon.DefaultLimit); err != nil {
		return q, err
	}
	if q.Offset, err = p.Int("offset", 0, icon.MaxOffset, 0); err != nil {
		return q, err
	}
	if q.Commercial, err = p.Bool("commercial"); err != nil {
		return q, err
	}
	if q.Stroked, err = p.Bool("stroke"); err != nil {
		return q, err
	}
	q.Style, q.Category, q.License = p["style"], p["category"], p["license"]
	q.Pack, err = p.Key("pack")
	return q, err
}

// result makes a result from a hit and its pack. The error is catalog.ErrNotOpen.
func (a *API) result(c *call, h search.Hit) (icon.Result, error) {
	r := c.release
	res := icon.Result{
		Pack: h.Ref.Pack, Name: h.Ref.Name, URL: a.url(h.Ref), Width: h.Width, Height: h.Height,
		Monochrome: h.Monochrome, AliasOf: orNull(h.AliasOf), Also: []icon.Also{},
	}
	// Always true, because the index belongs to the same release.
	if p, ok := r.Pack(h.Ref.Pack); ok {
		res.License, res.CommercialUse, res.Attribution, res.PackName = p.License, p.CommercialUse, p.Attribution, p.Name
	}
	if h.Own { // few icons, so the index need not have their colours
		ic, err := r.Icon(c.Context(), h.Ref)
		if errors.Is(err, catalog.ErrNotOpen) {
			return res, err
		}
		if err == nil {
			res.Color = orNull(ic.Meta().Color)
		}
	}
	for _, ref := range h.Also {
		also := icon.Also{Pack: ref.Pack, Name: ref.Name, URL: a.url(ref)}
		if p, ok := r.Pack(ref.Pack); ok {
			also.License = p.License
		}
		res.Also = append(res.Also, also)
	}
	if h.Matched != nil {
		res.Matched = make([]icon.Match, 0, len(h.Matched))
	}
	for _, m := range h.Matched {
		res.Matched = append(res.Matched, icon.Match{Word: m.Word, By: string(m.By), Through: m.Through})
	}
	return res, nil
}
