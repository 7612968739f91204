// Package api answers the calls of the origin: the CDN path, search, icons, packs, licence tokens, the description of it all (OpenAPI), and, for edges, the
// release. A file an endpoint: each turns a call into an answer or an error. What every answer has in common is done in
// one place, write.go: problems, CORS and security fields, entity tags, conditions (RFC 9110, section 13), one byte range, gzip.
//
// It decides what an answer says and how long it may be kept. Which drawing a name means is catalog's to say, what a query finds is search's,
// whether a token is good is token's; limits and caching are an edge's.
package api

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/origin/catalog"
)

// Options are what an API answers from, and what its answers name.
type Options struct {
	Catalog      *catalog.Catalog // opened with Prepare
	Tokens       Verifier
	CDNURL       string // what answers name as the CDN's address, without a slash at its end
	CacheControl string // of the CDN path, and of icons
	Log          *slog.Logger
}

// An API is the handler of the origin's public listener.
type API struct {
	Options
	openapi *entity
}

// New makes the handler. A trailing slash of CDNURL does no harm.
func New(o Options) *API {
	o.CDNURL = strings.TrimRight(o.CDNURL, "/")
	return &API{Options: o, openapi: newEntity(Document(o.CDNURL))}
}

// A call is one request on its way through a handler.
type call struct {
	*http.Request
	now     time.Time
	release *catalog.Release // the current one; nil where there is none yet
	held    *catalog.Release // an earlier one that the call uses
	route   route
	params  icon.Params
}

// An answer is what a handler makes of a call: a 200.
type answer struct {
	*entity
	cacheControl string
	modified     time.Time // zero: not known
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
	defer func() { // an answer may read from its release until it is sent
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

// answer finds the route and calls its handler. Without an answer and an error, the call is answered already.
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
	if err := e.takes(c.Method); err != nil {
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
