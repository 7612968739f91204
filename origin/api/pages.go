package api

import (
	"net/http"

	"github.com/iconedge/iconedge/origin/site"
	"github.com/iconedge/iconedge/problem"
)

// pages maps the addresses of the site to endpoints. All have one name in metrics.
var pages = func() map[*site.Address]*endpoint {
	all := map[*site.Address]*endpoint{}
	for _, a := range site.Addresses {
		all[a] = &endpoint{"page", a.Pattern, get, a.Params, !a.Always, (*API).sitePage, a}
	}
	return all
}()

// findPage finds the route of a well-formed path of the site.
func findPage(path string) (route, bool) {
	a, ref, file := site.Find(path)
	if a == nil {
		return route{}, false
	}
	return route{endpoint: pages[a], ref: ref, file: file}, true
}

// sitePage answers with a page of the site.
func (a *API) sitePage(_ http.ResponseWriter, c *call) (*answer, error) {
	p, err := c.route.page.Render(c.Context(), a.Site, &site.Request{
		Params: c.params, Ref: c.route.ref, File: c.route.file, Path: c.URL.Path, Release: c.release, Index: indexOf(c.release),
	})
	if err != nil {
		return nil, err
	}
	ans := &answer{entity: newContent(p.MediaType, p.Body), cacheControl: p.CacheControl, modified: p.Modified, surrogate: p.Keys}
	ans.header = p.Header
	if p.HTML {
		ans.header = site.Fields
	}
	if p.MediaType == "application/zip" || p.MediaType == "image/png" { // compressed already
		ans.gzip = func() []byte { return p.Body }
	}
	return ans, nil
}

// refusePage sends the page about a problem, and reports whether there is one. Only pages of the
// site have such pages; other addresses answer with problems.
func (a *API) refusePage(w http.ResponseWriter, c *call, p *problem.Problem) bool {
	if c.route.endpoint == nil || c.route.page == nil {
		return false
	}
	h := w.Header()
	page := a.Site.Error(p)
	switch {
	case page == nil && problem.WantsPage(joined(c.Header, "Accept")):
		h.Set("Vary", "Accept")
		h.Set("Content-Security-Policy", problem.PagePolicy)
		send(w, c.Request, p.Status, "text/html; charset=utf-8", p.Page())
		return true
	case page == nil:
		h.Set("Vary", "Accept")
		return false
	}
	h.Set("Cache-Control", page.CacheControl)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Surrogate-Key", page.Keys)
	for _, f := range site.Fields {
		h.Set(f[0], f[1])
	}
	send(w, c.Request, page.Status, page.MediaType, page.Body)
	return true
}
