// Package api handles the requests to the origin: the CDN path, search, icons, packs, licence
// tokens, the OpenAPI description and, for edges, the release. Each endpoint has a file, and its
// handler turns a call into an answer or an error. write.go adds everything that answers have in
// common: problems, CORS and security fields, entity tags, conditions (RFC 9110, section 13), one
// byte range, gzip.
//
// The package decides the content of answers and how long caches may store them. Package catalog
// finds the icon of a name, search the icons of a query, and token verifies tokens. Rate limits and
// caching belong to the edge.
package api

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/catalog"
	"github.com/iconedge/iconedge/origin/picture"
	"github.com/iconedge/iconedge/origin/site"
)

// Options configures an API.
type Options struct {
	Catalog      *catalog.Catalog // opened with Prepare
	Tokens       Verifier
	CDNURL       string // address of the CDN in answers, without a slash at the end
	SiteURL      string // address of the site in its pages; empty: CDNURL
	CacheControl string // of the CDN path, and of icons
	Version      string // of the program
	Log          *slog.Logger
}

// An API is the handler of the origin's public listener.
type API struct {
	Options
	Site    *site.Site
	Painter *picture.Painter
	openapi *entity
}

// New makes the handler. It ignores a trailing slash of CDNURL.
func New(o Options) *API {
	o.CDNURL = strings.TrimRight(o.CDNURL, "/")
	return &API{
		Options: o,
		Site: site.New(site.Options{CDNURL: o.CDNURL, SiteURL: o.SiteURL, Version: o.Version,
			TempFile: o.Catalog.TempFile}),
		Painter: picture.NewPainter(),
		openapi: newEntity(Document(o.CDNURL)),
	}
}

// A call is one request and the data that its handler needs.
type call struct {
	*http.Request
	now     time.Time
	release *catalog.Release // the current release; nil if there is none yet
	held    *catalog.Release // an earlier release that the call uses
	route   route
	params  icon.Params
}

// An answer is the result of a handler: a 200.
type answer struct {
	*entity
	cacheControl string
	modified     time.Time // zero: unknown
	surrogate    string    // Surrogate-Key
	header       [][2]string
}

// ServeHTTP answers r.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{Request: r, now: time.Now()}
	c.release = a.Catalog.Current()
	if c.release != nil {
		defer c.release.Done()
	}
	defer func() { // the answer may read from its release until it is sent
		if c.held != nil {
			c.held.Done()
		}
	}()
	common(w.Header(), c.release)
	ans, err := a.answer(w, c)
	switch {
	case err != nil:
		a.refuse(w, c, err)
	case ans != nil:
		a.write(w, c, ans)
	}
}

// answer finds the route and calls its handler. If it returns neither an answer nor an error, it
// has already answered the call.
func (a *API) answer(w http.ResponseWriter, c *call) (*answer, error) {
	var err error
	if c.route, err = parseRoute(c.Request); err != nil {
		return nil, err
	}
	e := c.route.endpoint
	if c.Method == http.MethodOptions {
		preflight(w.Header(), e)
		w.WriteHeader(http.StatusNoContent)
		return nil, nil
	}
	if err := e.checkMethod(c.Method); err != nil {
		return nil, err
	}
	if e.needsRelease && c.release == nil {
		return nil, errNoRelease()
	}
	if c.params, err = parseParams(c.URL.RawQuery, e.params); err != nil {
		return nil, err
	}
	return e.serve(a, w, c)
}
