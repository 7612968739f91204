package api

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/origin/bundle"
	"github.com/iconedge/iconedge/origin/site"
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
func (a *API) sitePage(w http.ResponseWriter, c *call) (*answer, error) {
	p, err := c.route.page.Render(c.Context(), a.Site, &site.Request{
		Params: c.params, Ref: c.route.ref, File: c.route.file, Path: c.URL.Path, Release: c.release, Index: indexOf(c.release),
	})
	if err != nil {
		return nil, err
	}
	if p.Status != http.StatusOK {
		sendPage(w, c, p)
		return nil, nil
	}
	if p.Stream != nil {
		return nil, sendStream(w, c, p)
	}
	ans := &answer{entity: newContent(p.MediaType, p.Body), cacheControl: p.CacheControl, modified: p.Modified, surrogate: p.Keys}
	ans.header = p.Header
	if p.HTML {
		ans.header = site.Fields
	}
	if p.MediaType == "application/zip" || p.MediaType == typePNG { // compressed already
		ans.gzip = func() []byte { return p.Body }
	}
	return ans, nil
}

// wholeWithin is how long a response waits for its archive to be whole. Edges can store one of a
// known length in slices. An archive that takes longer is sent while it is made.
const wholeWithin = 4 * time.Second

// streamTime is how long an archive may take to be sent.
const streamTime = 10 * time.Minute

// sendStream sends a page that is read from a file, with its conditions and ranges. A client that
// has it gets a 304 before the file is made.
func sendStream(w http.ResponseWriter, c *call, p *site.Page) error {
	etag := `"` + p.Stream.Tag + `"`
	var content io.ReadSeeker = strings.NewReader("") // of a 304 or 412
	var made *bundle.File
	if cachepolicy.Precondition(c.Method, etag, time.Time{}, conditions(c.Header)) == http.StatusOK {
		made = p.Stream.Open()
		defer made.Close()
		switch err := made.Begun(c.Context(), wholeWithin); {
		case errors.Is(err, bundle.ErrBusy):
			return problem.New(http.StatusServiceUnavailable, err.Error()).With("Retry-After", retryAfter)
		case err != nil:
			return err
		}
		if whole := made.Whole(); whole != nil {
			content, made = whole, nil
		}
	}
	h := w.Header()
	h.Set("Content-Type", p.MediaType)
	h.Set("Cache-Control", p.CacheControl)
	h.Set("ETag", etag)
	h.Set("Surrogate-Key", p.Keys)
	for _, f := range p.Header {
		h.Set(f[0], f[1])
	}
	http.NewResponseController(w).SetWriteDeadline(c.now.Add(streamTime)) // others have less
	if made == nil {
		http.ServeContent(w, c.Request, "", time.Time{}, content)
		return nil
	}
	if c.Method == http.MethodHead {
		return nil
	}
	if _, err := io.Copy(w, made); err != nil {
		panic(http.ErrAbortHandler) // the client has the head, and sees no other failure
	}
	return nil
}

// refusePage sends the page about a problem, and reports whether there is one. Pages of the site
// have such pages, and so has an address at which nothing is, for a person's browser; other
// addresses answer with problems.
func (a *API) refusePage(w http.ResponseWriter, c *call, p *problem.Problem) bool {
	if c.route.endpoint == nil || c.route.page == nil {
		return a.refuseLost(w, c, p)
	}
	h := w.Header()
	page := a.Site.Error(p)
	// The page of an icon: its name is in the search.
	if ref := c.route.ref; p.Status == http.StatusNotFound && ref.Name != "" && c.release != nil {
		lost, err := a.Site.Lost(c.Context(), &site.Request{Path: "/" + ref.String() + ".svg", Release: c.release,
			Index: indexOf(c.release)}, p.Suggestions...)
		if err == nil {
			page = lost
		}
	}
	switch {
	case page == nil && problem.WantsPage(joined(c.Header, "Accept")):
		h.Set("Vary", "Accept")
		h.Set("Content-Security-Policy", problem.PagePolicy)
		send(w, c.Request, p.Status, "text/html; charset=utf-8", p.Page(""))
		return true
	case page == nil:
		h.Set("Vary", "Accept")
		return false
	}
	sendPage(w, c, page)
	return true
}

// sendPage sends a page that is no 200.
func sendPage(w http.ResponseWriter, c *call, page *site.Page) {
	h := w.Header()
	h.Set("Cache-Control", page.CacheControl)
	if h.Get("Vary") == "" {
		h.Set("Vary", "Accept-Encoding")
	}
	h.Set("Surrogate-Key", page.Keys)
	for _, f := range site.Fields {
		h.Set(f[0], f[1])
	}
	send(w, c.Request, page.Status, page.MediaType, page.Body)
}

// refuseLost sends the page for an address at which nothing is, if a person opens it, and reports
// whether it has. Every answer about such an address has a Vary, because clients get different
// ones.
func (a *API) refuseLost(w http.ResponseWriter, c *call, p *problem.Problem) bool {
	if p.Status != http.StatusNotFound || c.release == nil || c.route.endpoint == iconifyPath {
		return false
	}
	w.Header().Set("Vary", problem.VaryOfPages)
	if !problem.Navigates(joined(c.Header, "Accept"), c.Header.Get("Sec-Fetch-Dest")) {
		return false
	}
	page, err := a.Site.Lost(c.Context(), &site.Request{Path: c.URL.EscapedPath(), Release: c.release, Index: indexOf(c.release)})
	if err != nil {
		return false
	}
	sendPage(w, c, page)
	return true
}
