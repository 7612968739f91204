package proxy

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/forwarded"
	"github.com/iconedge/iconedge/edge/hit"
	"github.com/iconedge/iconedge/edge/iconset"
	"github.com/iconedge/iconedge/edge/own"
	"github.com/iconedge/iconedge/edge/pieces"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/internal/hostport"
	"github.com/iconedge/iconedge/internal/problem"
)

// New returns a handler that answers requests by the components of o.
func New(o Options) *Proxy {
	h := &Proxy{Options: o, compressor: compress.New(o.Cache, o.Log)}
	doors, known := fetch.NewDoorkeeper(), pieces.NewTable(o.CacheBytes/recentPart)
	kept := dictionaries.New(o.Cache, h.compressor, o.CacheBytes/dictionaryPart)
	h.dictionaries = kept
	h.hits = hit.New(hit.Options{Redirects: o.Redirect != "", AltSvc: o.AltSvc, Clock: o.Clock, Clients: o.Clients,
		Admission: o.Admission, Cache: o.Cache, Library: o.Library, Origin: o.Origin.Client(),
		Node: o.Node, Compressor: h.compressor, Dictionaries: kept, Pieces: known, Doors: doors, Metrics: o.Metrics, Reports: o.Reports})
	h.Finder = fetch.NewFinder(fetch.Options{CacheBytes: o.CacheBytes, WaitTimeout: o.WaitTimeout, Bounds: o.Bounds,
		Clock: o.Clock, Cache: o.Cache, Library: o.Library, Origin: o.Origin,
		Draining: h.hits.Draining, Dictionaries: kept, Log: o.Log}, doors)
	h.writer = pipeline.NewWriter(h.compressor, o.Log)
	h.writer.Dictionaries = kept
	h.writer.Node, h.writer.Trusts = o.Node, o.Admission.Exempt
	h.own = &own.Answerer{Clock: o.Clock, Cache: o.Cache, Library: o.Library, Origin: o.Origin, Finder: h.Finder,
		Writer: h.writer, Hits: h.hits}
	h.misses = &own.Misses{MissOptions: own.MissOptions{Redirects: o.Redirect != "", AltSvc: o.AltSvc,
		WaitTimeout: o.WaitTimeout, Clock: o.Clock, Clients: o.Clients, Admission: o.Admission, Library: o.Library,
		Metrics: o.Metrics, Reports: o.Reports}, Finder: h.Finder, Hits: h.hits}
	h.iconSet = &iconset.Answerer{WaitTimeout: o.WaitTimeout, Clock: o.Clock, Cache: o.Cache, Library: o.Library,
		Origin: o.Origin, Doors: doors, Joined: cache.NewShare(o.Cache, o.CacheBytes/joinedPart), Pieces: known,
		Compressor: h.compressor, Finder: h.Finder, Writer: h.writer, Own: h.own}
	h.forwarded = &forwarded.Answerer{Options: forwarded.Options{Bounds: o.Bounds, Clock: o.Clock, Clients: o.Clients,
		Cache: o.Cache, OnDisk: o.OnDisk, Library: o.Library, Admission: o.Admission, Tunnels: o.Tunnels, Sites: h.Sites,
		Group: o.Group}, Finder: h.Finder, Writer: h.writer}
	h.Use(o.Sites)
	return h
}

// Use makes the sites of set those of all requests from now on.
func (h *Proxy) Use(set *vhosts.Set) {
	h.current.Store(&current{set, routes.New(h.answer, h.serveUnknown, set.Icons != nil && set.Icons.Iconify)})
	for _, name := range set.Names() {
		h.Options.Metrics.SiteUsed(name)
	}
	h.hits.Use(set)
}

// joinedPart is the part of the cache for joined responses. Their pieces are stored anyway.
const joinedPart = 16

// dictionaryPart is the part that dictionaries, and the differences to them, may take, on top of
// the cache.
const dictionaryPart = 8

// recentPart is the part that recently used pieces may take, on top of the cache.
const recentPart = 16

// newRequest returns the record of a request that has just arrived. Its client is the peer until
// the fields have been checked.
func (h *Proxy) newRequest(ctx *fasthttp.RequestCtx, x *exchange.Request) *pipeline.Request {
	x.Client = x.Peer
	sites := h.current.Load()
	site := sites.Only()
	if site == nil {
		site, _ = sites.Find(pipeline.HostName(string(ctx.Host())))
	}
	return &pipeline.Request{Request: x, Ctx: ctx, Site: site, Now: h.Options.Clock.At(x.Arrived)}
}

// ServeRequest answers one request. It refuses malformed requests, finds the client, checks the
// redirect, the access lists and loops, and then calls the endpoint.
func (h *Proxy) ServeRequest(ctx *fasthttp.RequestCtx, x *exchange.Request) {
	r := h.newRequest(ctx, x)
	pipeline.Attach(ctx, r)
	defer func() {
		if p := recover(); p != nil {
			h.panicked(r, p)
		}
	}()
	x.Conn.Serve(x.Arrived)
	readTarget(ctx)
	sites := h.current.Load()
	p := refuse(r, sites.Set)
	x.Client = h.Options.Clients.Of(x) // refuse has removed trailer fields
	if p != nil {
		h.end(r, exchange.Refused, p)
		return
	}
	if x.Tier = h.Options.Tiers.Prove(r.Request); x.Tier {
		x.Conn.Exempt()
	}
	r.ID = h.idOf(r)
	r.Public = h.Options.Clients.Forwarded(x, string(ctx.Host()), hostport.ValidHost)
	r.Public.Host = hostport.CanonicalHost(r.Public.Host, r.Public.Scheme)
	own := r.Site // by the request's own host
	if sites.Only() == nil && !strings.EqualFold(r.Public.Host, string(ctx.Host())) {
		if site, ok := sites.Find(pipeline.HostName(r.Public.Host)); ok {
			r.Site = site // a trusted proxy names another host
		}
	}
	if h.redirectToTLS(r) {
		h.end(r, exchange.Own, nil)
		return
	}
	h.startTrace(r)
	if p := h.Options.Admission.Denied(r.Request, r.IsHealthCheck()); p != nil {
		h.end(r, exchange.Denied, p)
		return
	}
	if lines := ctx.Request.Header.PeekAll("CDN-Loop"); len(lines) > 0 && h.Options.Origin.IsLoop(lines) {
		h.end(r, exchange.Refused, h.looped())
		return
	}
	r.ForeignPort = h.isForeignPort(sites.Set, r.Public.Host)
	r.Mounted = r.Site.Icons && r.Site.IsMount(pipeline.HostName(string(ctx.Host())))
	// HTTP/1.1 forbids an empty host, HTTP/1.0 does not.
	if host := ctx.Host(); len(host) > 0 && own == r.Site && r.Public.Host == hostport.CanonicalHost(string(host), x.Scheme()) {
		if own.Icons || !r.ForeignPort {
			h.hits.RememberHost(sites.Set, host, own, r.Mounted, !r.ForeignPort)
		}
	}
	switch {
	case h.Options.Purge != nil && string(ctx.Method()) == pipeline.MethodPurge:
		o, err := h.servePurge(r)
		h.end(r, o, err)
	case sites.Only() == nil && !r.IsHealthCheck() && (h.isClosed(r) || h.decide(r)):
	case r.Mounted:
		h.serveMounted(ctx)
	case r.Site.Icons:
		sites.table.Handler(ctx)
	case r.IsHealthCheck():
		r.Route = routes.Health
		o, err := h.serveHealthPath(r)
		h.end(r, o, err)
	default:
		h.serveForwarded(ctx)
	}
}

// ServeRefused answers a request that its protocol has refused with this status.
func (h *Proxy) ServeRefused(ctx *fasthttp.RequestCtx, x *exchange.Request, status int) {
	x.Client = h.Options.Clients.Of(x)
	h.end(h.newRequest(ctx, x), exchange.Refused, pipeline.RefusedAs(status))
}

// ServeUnreadable answers a request that the server could not parse, and closes its connection.
func (h *Proxy) ServeUnreadable(ctx *fasthttp.RequestCtx, x *exchange.Request, err error) {
	r := h.newRequest(ctx, x)
	closeAfter(r)
	p := pipeline.Unreadable(err)
	if r.LongTarget && p.Status == fasthttp.StatusRequestHeaderFieldsTooLarge {
		p = longTarget()
	}
	r.Now = h.Options.Clock.Now()
	if r.Unread = p.Status != fasthttp.StatusRequestEntityTooLarge; !r.Unread {
		r.Client = h.Options.Clients.Of(r.Request)
	}
	h.end(r, exchange.Refused, p)
	if r.Bodyless {
		ctx.Response.SkipBody = true
	}
}

// panicked answers a request whose handling panicked. It logs the fields of the access log line
// with the panic and the stack.
func (h *Proxy) panicked(r *pipeline.Request, p any) {
	stack := debug.Stack()
	h.Options.Log.Error("panic while answering", append(h.line(r, exchange.Failed).LogAttrs(), "panic", fmt.Sprint(p),
		"stack", string(stack))...)
	h.end(r, exchange.Failed, fmt.Errorf("panic: %v", p))
}

// answer answers a request for an endpoint, or forwards it if the endpoint leaves the path to
// --proxy-all.
func (h *Proxy) answer(ctx *fasthttp.RequestCtx, ep *routes.Endpoint) {
	path, query := string(ctx.URI().PathOriginal()), string(ctx.URI().QueryString())
	r := pipeline.Of(ctx)
	route := ep.RouteOf(path, query)
	switch {
	case route.OfSite() && !r.Site.Pages:
		h.serveUnknown(ctx)
		return
	case r.Site.ProxyAll && ep.Foreign(path, query):
		h.serveForwarded(ctx)
		return
	}
	r.Route, r.Pattern = route, ep.Pattern
	if r.Tier {
		r.Known = h.Options.Library.Known() // before any lookup
	}
	o, err := h.steps(r, ep)
	h.end(r, o, err)
}

// serveMounted answers on a host that is the mount of Iconify's API.
func (h *Proxy) serveMounted(ctx *fasthttp.RequestCtx) {
	if !routes.Mounted.Owns(string(ctx.URI().PathOriginal())) {
		r := pipeline.Of(ctx)
		h.end(r, exchange.Refused, routes.NotFound())
		return
	}
	h.answer(ctx, routes.Mounted)
}

// steps runs the steps of a request for an endpoint: admission, parsing, and the endpoint itself.
// Preflight requests are answered first, without a limit.
func (h *Proxy) steps(r *pipeline.Request, ep *routes.Endpoint) (exchange.Outcome, error) {
	if r.Ctx.IsOptions() {
		r.Route = routes.Preflight
		return h.own.Preflight(r, ep.Allow), nil
	}
	if err := h.Options.Tiers.Refuse(r.Request, r.Route); err != nil {
		return exchange.Refused, err
	}
	var o exchange.Outcome
	var err error
	if r.Count, o, err = h.Options.Admission.Admit(r.Request, r.Route, r.Now); err != nil {
		return o, err
	}
	if r.Target, err = ep.Parse(r.Ctx); err != nil {
		return exchange.Refused, err
	}
	return h.serve(r, ep)
}

// serve answers an admitted request for an endpoint.
func (h *Proxy) serve(r *pipeline.Request, ep *routes.Endpoint) (exchange.Outcome, error) {
	if r.Target.Spelling != "" {
		if near, has := h.Options.Library.Spelled(r.Target.Spelling, r.Now); !has {
			return exchange.Refused, routes.Misspelt(string(r.Ctx.URI().PathOriginal()), near)
		}
	}
	if r.Target.Foreign != "" {
		if err := h.Options.Library.Identify(); err != nil {
			return exchange.Failed, err
		}
		if h.Options.Library.IsForeign() {
			r.Target = r.Target.AtForeign()
		}
	}
	switch {
	case r.Target.Icons != nil:
		return h.iconSet.Answer(r, ep)
	case ep.Streamed:
		return h.forwarded.AnswerOwn(r)
	}
	return h.own.Answer(r, ep)
}

// serveUnknown answers an address that has no endpoint.
func (h *Proxy) serveUnknown(ctx *fasthttp.RequestCtx) {
	path := string(ctx.URI().PathOriginal())
	r := pipeline.Of(ctx)
	if r.Site.ProxyAll && path != "*" {
		h.serveForwarded(ctx)
		return
	}
	switch {
	case ctx.IsOptions() && (path == "*" || len(ctx.Request.Header.Peek(fasthttp.HeaderAccessControlRequestMethod)) > 0):
		r.Route = routes.Preflight
		// A page can then read the 404 that follows.
		h.end(r, h.own.Preflight(r, routes.AllMethods), nil)
	case !routes.WellFormedPath(path):
		h.end(r, exchange.Refused, routes.Malformed())
	default:
		h.end(r, exchange.Refused, routes.NotFound())
	}
}

// looped returns the problem for a request that has passed through this edge before. It warns the
// operator only once, because every further request would repeat the warning.
func (h *Proxy) looped() *problem.Problem {
	h.loopLogged.Do(func() {
		h.Options.Log.Warn("request loop: some --origin leads back to this edge; answering such requests with 508")
	})
	return problem.New(http.StatusLoopDetected,
		"this request has passed through this server before: the origin of some server leads back to it").
		OfType(problem.ProxyLoopDetected)
}

// serveForwarded answers a request for a path outside our own routes (--proxy-all).
func (h *Proxy) serveForwarded(ctx *fasthttp.RequestCtx) {
	r := pipeline.Of(ctx)
	r.Route, r.Forwarded = routes.Forwarded, true
	o, err := exchange.Refused, error(nil)
	if !serves(h.Sites(), pipeline.HostName(r.Public.Host)) {
		err = misdirected()
	} else if r.ForeignPort {
		err = refusedPort()
	} else {
		o, err = h.forwarded.Answer(r)
	}
	h.end(r, o, err)
}
