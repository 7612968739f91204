// Package own answers requests for the edge's own routes: icons, the API, pages of the site, the
// verification of tokens, preflights and health checks. miss.go answers misses of icons on the
// event loops of HTTP/1.1.
package own

import (
	"net/http"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/clock"
	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/hit"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/internal/problem"
)

// An Answerer answers requests for the edge's own routes, besides icon data.
type Answerer struct {
	Clock   clock.Clock
	Cache   *cache.Cache
	Library *library.Library
	Origin  *fetch.Fetcher
	Finder  *fetch.Finder
	Writer  *pipeline.Writer
	Hits    *hit.Path
}

// Answer answers an admitted request for an endpoint.
func (h *Answerer) Answer(r *pipeline.Request, ep *routes.Endpoint) (exchange.Outcome, error) {
	switch ep.Route {
	case routes.Verify:
		return h.serveVerify(r)
	case routes.Release:
		return h.serveRelease(r)
	case routes.Health:
		return h.Health(r)
	}
	return h.ServeCached(r, ep)
}

// ServeCached answers from the cache, or with the origin's response.
func (h *Answerer) ServeCached(r *pipeline.Request, ep *routes.Endpoint) (exchange.Outcome, error) {
	f, err := h.Finder.Find(r, h.Finder.OwnRequest(r, r.Target.Key), h.Finder.FetchAndStore)
	if err == nil && r.Target.Color != "" && f.Entry.Status == fasthttp.StatusOK && f.Entry.Monochrome == "" {
		// The response lacks our origin's field, so this is an origin of other software. Only the
		// origin can tell which icons take a colour, so it does the colouring.
		r.Target = routes.Target{Key: r.Target.Colored(), Form: r.Target.Form}
		f, err = h.Finder.Find(r, h.Finder.OwnRequest(r, r.Target.Key), h.Finder.FetchAndStore)
	}
	lost := err == nil && f.Entry.Status == fasthttp.StatusNotFound && r.MayBeLost()
	switch {
	case err != nil:
		return f.Outcome, err
	case lost && r.Navigates():
		return f.Outcome, routes.NotFound() // the page for the person says the rest
	}
	if ep.Fast(r.Target) && !r.Mounted {
		h.RememberTarget(r)
	}
	if r.Site.CompressesByDictionary(r.Route) {
		r.Dictionary = h.Finder.Dictionaries.Find(dictionaries.Claim{Scope: dictionaries.Library, Target: r.Target.Key,
			Available: []byte(pipeline.Field(r.Ctx, dictionaries.FieldAvailable)), Dest: pipeline.Field(r.Ctx, "Sec-Fetch-Dest")})
	}
	h.Writer.Finish(r, f)
	if lost {
		r.Response.Set(fasthttp.HeaderVary, fasthttp.HeaderAcceptEncoding+", "+problem.VaryOfPages)
	}
	return f.Outcome, nil
}

// RememberTarget stores the parsed form of a target for the hit path.
func (h *Answerer) RememberTarget(r *pipeline.Request) {
	if r.Ctx.IsGet() && r.Target.Spelling == "" { // the next release may lack the spelling
		h.Hits.RememberTarget(r.Ctx.RequestURI(), r.Target.Key, r.Target.Color, r.Route)
	}
}

// serveRelease answers other edges that ask for the release. It names a new release only after this
// edge has dropped the entries that the release changed.
func (h *Answerer) serveRelease(r *pipeline.Request) (exchange.Outcome, error) {
	f, err := h.Finder.Find(r, h.Finder.OwnRequest(r, r.Target.Key), h.fetchRelease)
	if err != nil {
		return exchange.Failed, err
	}
	f.Aged = false
	h.Writer.Finish(r, f)
	return f.Outcome, nil
}

// Health reports that the process is alive.
func (h *Answerer) Health(r *pipeline.Request) (exchange.Outcome, error) {
	out := &r.Response
	out.Add(fasthttp.HeaderContentType, "text/plain; charset=utf-8")
	r.AddFieldsOfEveryAnswer()
	h.Writer.WriteDate(r)
	out.Add(fasthttp.HeaderCacheControl, "no-store")
	r.Ctx.Response.SetBodyString("ok\n")
	return exchange.Own, nil
}

const maxVerifyBody = 4 << 10 // bytes

// serveVerify forwards a licence token to the origin, and returns the origin's response to the
// client. The edge neither stores nor logs their contents.
func (h *Answerer) serveVerify(r *pipeline.Request) (exchange.Outcome, error) {
	body := r.Body()
	if len(body) > maxVerifyBody {
		return exchange.Refused, problem.New(http.StatusRequestEntityTooLarge, "the body may have at most 4096 bytes")
	}
	head := http.Header{"Accept-Encoding": {"identity"}}
	for _, name := range []string{fasthttp.HeaderContentType, fasthttp.HeaderContentEncoding} {
		if v := r.Ctx.Request.Header.Peek(name); len(v) > 0 {
			head.Set(name, string(v))
		}
	}
	a, err := h.Origin.FetchWhole(r.Traced, upstream.Request{Method: http.MethodPost, Target: r.Target.Key,
		Header: h.Finder.Through(r.Ctx, head), Body: body, SendTierSecret: h.Library.MayGetSecret(true), StrictLength: true})
	if err == nil && a.Status >= http.StatusInternalServerError {
		err = fetch.Failed(a.Response)
	}
	if err != nil {
		return exchange.Failed, err
	}
	if a.Status >= http.StatusBadRequest {
		a.Content = fetch.ClientError(a.Response, a.Content, false)
	}
	r.Ctx.Response.SetStatusCode(a.Status)
	out := &r.Response
	if media := a.Header.Get(fasthttp.HeaderContentType); media != "" {
		out.Add(fasthttp.HeaderContentType, media)
	}
	respond.AddFields(out, respond.EveryAnswer)
	h.Writer.WriteDate(r)
	if accept := a.Header.Get(fasthttp.HeaderAccept); accept != "" { // RFC 9110, section 12.5.1
		out.Add(fasthttp.HeaderAccept, accept)
	}
	out.Add(fasthttp.HeaderCacheControl, "no-store")
	respond.SetLimit(&r.Response, &r.Count)
	pipeline.Send(r, a.Content)
	return exchange.Passed, nil
}

// onPreflights is also on the response to a preflight, which clients may cache for a day.
var onPreflights = []cache.Field{
	respond.NewField("Access-Control-Allow-Methods", routes.AllMethods),
	respond.NewField("Access-Control-Allow-Headers", "Authorization, Content-Type, If-Match, If-Modified-Since, "+
		"If-None-Match, If-Range, If-Unmodified-Since, Range"),
	respond.NewField("Access-Control-Max-Age", "86400"),
}

// Preflight answers an OPTIONS request. The response is the same for every path, and counts against
// no limit.
func (h *Answerer) Preflight(r *pipeline.Request, allow string) exchange.Outcome {
	r.Ctx.Response.SetStatusCode(http.StatusNoContent)
	h.Writer.WriteDate(r)
	respond.AddFields(&r.Response, respond.EveryAnswer)
	respond.AddFields(&r.Response, onPreflights)
	r.Response.Add(fasthttp.HeaderAllow, allow)
	return exchange.Own
}

// fetchRelease fetches the response about the release for other edges. If it names another release
// than this edge knows, the edge first drops the changed entries itself, because the other edge
// will then fetch the new ones from here.
func (h *Answerer) fetchRelease(q *fetch.Request, _ *cache.Entry) collapse.Result {
	asked := h.Cache.Generation()
	told, a, err := h.Library.RequestRelease(q.Key, q.Header)
	switch {
	case a == nil:
		return collapse.Result{Err: err}
	case a.Status >= http.StatusInternalServerError:
		return collapse.Result{Err: fetch.Failed(a.Response)}
	case err == nil && told.State != h.Library.Known():
		if err := h.Library.Poll(); err != nil {
			return collapse.Result{Err: err}
		}
		asked = h.Cache.Generation() // the response is newer than the invalidation by look
	}
	e := fetch.NewOwn(q.Key, a.Response, a.Content, nil)
	e.Fields = []cache.Field{respond.NewField("Cache-Control", "no-store")} // in the response
	e.Tags = []string{library.ReleaseTag}
	e.Policy = cachepolicy.Entry{Stored: a.ResponseTime, Lifetime: library.ReleaseLifetime}
	return collapse.Result{Entry: e, Sharing: cachepolicy.Sharing{Storable: true}, Stored: h.Cache.Put(e, asked)}
}
