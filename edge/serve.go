package edge

import (
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fasthttp/router"
	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/purge"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/problem"
	"github.com/valyala/fasthttp"
)

// A handler answers every request of the public listener.
type handler struct {
	life        context.Context // ends when the edge has drained
	log         *slog.Logger
	hosts       []string
	waitTimeout time.Duration // how long a request waits for a collapsed fetch
	clients     access.Clients
	conns       *conns
	limiter     *concurrencyLimiter
	admission   *access.Admission
	loopLogged  sync.Once // a request loop
	cache       *cache.Cache
	origin      *upstream.Client
	library     *library.Library
	state       *library.OriginState
	publish     string // command by which the operator publishes a release
	table       *router.Router
	page        *cache.Entry
	metrics     *observe.Metrics
	clock       clock

	targets   parsedTargets
	seenHosts knownHosts
	codings   codings
	blocks    blocks
	streams   *h2.Server
	tiers     *access.Credentials
	reports   observe.Reports
	reference *reference // serves HTTP/2 instead of streams; nil: streams does
	redirect  string     // format of the https URL to redirect to; empty: no redirect
	altSvc    string     // Alt-Svc value for HTTP/3 (RFC 7838); empty: no HTTP/3
	doors     doorkeeper

	draining atomic.Bool // the edge ends: the next response of a connection is its last

	proxyAll   bool
	policy     cachepolicy.Policy // cache policy of forwarded paths
	passed     map[string]bool    // request fields that the operator lets through to the origin
	cacheBytes int64
	maxObject  int64 // largest body that is stored, in bytes
}

// newHandler builds the handler of an edge. ctx ends when the edge has drained.
func newHandler(ctx context.Context, cfg Config, c *cache.Cache, o *upstream.Client, m *observe.Metrics, l *access.Lists, share func(string, *ratelimit.Limiter) access.Window, peers *purge.Peers) *handler {
	h := &handler{life: ctx, log: cfg.Log, hosts: cfg.Hosts, waitTimeout: cfg.OriginTimeout + time.Second,
		clients: access.Clients{Trusted: cfg.TrustedProxies}, conns: newConns(cfg), limiter: newConcurrencyLimiter(cfg.MaxWaiting), cache: c, origin: o, page: newPage(), metrics: m,
		proxyAll: cfg.ProxyAll, policy: cfg.Forwarding.policy(), passed: cfg.Forwarding.passed(),
		cacheBytes: cfg.CacheBytes, maxObject: min(cfg.CacheBytes/objectPart, maxObject), tiers: &access.Credentials{}}
	h.admission = access.NewAdmission(access.Options{Limits: cfg.Limits, RequireToken: cfg.RequireToken, TokenTimeout: h.waitTimeout, Clients: h.clients, Lists: l, Share: share, CheckToken: h.checkToken, Observer: m})
	if h.publish = cfg.Publish; h.publish == "" {
		h.publish = "iconedge publish SOURCE"
	}
	h.doors.seed, h.state = maphash.MakeSeed(), &library.OriginState{}
	h.library = library.New(library.Options{Cache: c, CacheBytes: cfg.CacheBytes, State: h.state, ProxyAll: cfg.ProxyAll, Fetch: func(r upstream.Request) (*upstream.WholeResponse, error) { return h.fetchWhole(nil, r) },
		Do: o.Do, Announce: peers.AnnounceRelease, Observer: m, Log: cfg.Log})
	h.table = routes.New(h.answer, h.serveUnknown)
	h.streams = h2.New(h, h, h2.Config{Idle: cfg.IdleTimeout, Receive: cfg.RequestTimeout, Send: cfg.AnswerTimeout, MaxBody: maxRequestBody(cfg.ProxyAll), MaxList: maxHead, Bodies: h.conns.limits.Bodies})
	h.reference = newReference(h, cfg)
	return h
}

const (
	objectPart = 16       // a body may take at most one part in objectPart of the cache
	maxObject  = 64 << 20 // bytes
)

// A request is the record of one request in the pipeline: the exchange that its adapter made, and
// the results of each step.
type request struct {
	*exchange.Request
	ctx    *fasthttp.RequestCtx // the router's context, which also holds the response
	route  routes.Route
	unread bool // the request could not be parsed
	// now is the time for every decision about the request: when it arrived, or when its wait for a
	// collapsed fetch ended.
	now    time.Time
	target routes.Target
	status cachepolicy.CacheStatus // for the field Cache-Status

	pattern   string              // address pattern of its endpoint; empty: no endpoint
	known     string              // for an edge behind this one: the known release on arrival
	forwarded bool                // its path is not one of the edge's own routes
	forward   cachepolicy.Forward // why the origin was asked
	stream    *countedStream      // streamed response body; nil: not streamed

	count access.Count // the limit that counted the request

	traced *traced // its trace; nil: it is not traced
}

// newRequest returns the record of a request that has just arrived. Its client is the peer until
// the fields have been checked.
func newRequest(ctx *fasthttp.RequestCtx, x *exchange.Request) *request {
	x.Client = x.Peer
	return &request{Request: x, ctx: ctx, now: x.Arrived}
}

// ServeRequest answers one request. It refuses malformed requests, finds the client, checks the
// redirect, the access lists and loops, and then calls the endpoint.
func (h *handler) ServeRequest(ctx *fasthttp.RequestCtx, x *exchange.Request) {
	r := newRequest(ctx, x)
	ctx.SetUserValue(recordMark{}, r)
	defer func() {
		if p := recover(); p != nil {
			h.panicked(r, p)
		}
	}()
	x.Conn.Serve(r.now)
	p := refuse(r, h.hosts)
	x.Client = h.clients.Of(x) // refuse has removed trailer fields
	if p != nil {
		h.end(r, exchange.Refused, p)
		return
	}
	if h.redirectToTLS(r) {
		h.end(r, exchange.Own, nil)
		return
	}
	if x.Tier = h.tiers.Prove(r.Request); x.Tier {
		x.Conn.Exempt()
	}
	h.startTrace(r)
	if p := h.admission.Denied(r.Request, string(ctx.URI().PathOriginal())); p != nil {
		h.end(r, exchange.Denied, p)
		return
	}
	if lines := ctx.Request.Header.PeekAll("CDN-Loop"); len(lines) > 0 && h.origin.IsLoop(exchange.Texts(lines)) {
		h.end(r, exchange.Refused, h.looped())
		return
	}
	h.seenHosts.add(ctx.Host())
	h.table.Handler(ctx)
}

// A recordMark is the key of a request's record among the user values of its context.
type recordMark struct{}

// recordOf returns the record of a request. ServeRequest makes it and each step fills it, so that
// the log line has every known detail, whichever step ends the request.
func recordOf(ctx *fasthttp.RequestCtx) *request { return ctx.UserValue(recordMark{}).(*request) }

// panicked answers a request whose handling panicked. It logs the fields of the access log line
// with the panic and the stack.
func (h *handler) panicked(r *request, p any) {
	stack := debug.Stack()
	h.log.Error("panic while answering", append(h.line(r, exchange.Failed).LogAttrs(), "panic", fmt.Sprint(p), "stack", string(stack))...)
	h.end(r, exchange.Failed, fmt.Errorf("panic: %v", p))
}

// answer answers a request for an endpoint, or forwards it if the endpoint leaves the path to
// --proxy-all.
func (h *handler) answer(ctx *fasthttp.RequestCtx, ep *routes.Endpoint) {
	if h.proxyAll && ep.Foreign(string(ctx.URI().PathOriginal())) {
		h.serveForwarded(ctx)
		return
	}
	r := recordOf(ctx)
	r.route, r.pattern = ep.Route, ep.Pattern
	if r.Tier {
		r.known = h.library.Known() // before any lookup
	}
	o, err := h.steps(r, ep)
	h.end(r, o, err)
}

// steps runs the steps of a request for an endpoint: admission, parsing, and the endpoint itself.
// Preflight requests are answered first, without a limit.
func (h *handler) steps(r *request, ep *routes.Endpoint) (exchange.Outcome, error) {
	if r.ctx.IsOptions() {
		r.route = routes.Preflight
		return h.preflight(r, ep.Allow), nil
	}
	if err := h.tiers.Refuse(r.Request, r.route); err != nil {
		return exchange.Refused, err
	}
	var o exchange.Outcome
	var err error
	if r.count, o, err = h.admission.Admit(r.Request, r.route, r.now); err != nil {
		return o, err
	}
	if r.target, err = ep.Parse(r.ctx); err != nil {
		return exchange.Refused, err
	}
	return h.serve(r, ep)
}

// serve answers an admitted request for an endpoint.
func (h *handler) serve(r *request, ep *routes.Endpoint) (exchange.Outcome, error) {
	switch ep.Route {
	case routes.Verify:
		return h.serveVerify(r)
	case routes.Release:
		return h.serveRelease(r)
	case routes.Health:
		return h.serveHealth(r)
	case routes.Page:
		return h.servePage(r)
	}
	return h.serveCached(r, ep)
}

// end writes the problem, if there is an error, then counts, logs and traces the response.
func (h *handler) end(r *request, o exchange.Outcome, err error) {
	if err != nil {
		h.fail(r, problem.From(err))
	}
	if h.altSvc != "" && r.Secure {
		r.ctx.Response.Header.Set("Alt-Svc", h.altSvc)
	}
	if h.draining.Load() {
		closeAfter(r)
	}
	t := h.metrics.Answered(r.Protocol, r.route, o, r.ctx.Response.StatusCode(), time.Since(r.Arrived))
	if r.stream != nil {
		r.stream.to = t // counts the bytes when the stream ends
	}
	t.Send(bodyLength(r))
	h.report(r, o, err)
}

// serveUnknown answers an address that has no endpoint.
func (h *handler) serveUnknown(ctx *fasthttp.RequestCtx) {
	path := string(ctx.URI().PathOriginal())
	if h.proxyAll && path != "*" {
		h.serveForwarded(ctx)
		return
	}
	r := recordOf(ctx)
	switch {
	case ctx.IsOptions() && (path == "*" || len(ctx.Request.Header.Peek(fasthttp.HeaderAccessControlRequestMethod)) > 0):
		r.route = routes.Preflight
		h.end(r, h.preflight(r, routes.AllMethods), nil) // so that a page can read the 404 that follows
	case !routes.WellFormedPath(path):
		h.end(r, exchange.Refused, routes.Malformed())
	default:
		h.end(r, exchange.Refused, routes.NotFound())
	}
}

// serveCached answers from the cache, or with the origin's response.
func (h *handler) serveCached(r *request, ep *routes.Endpoint) (exchange.Outcome, error) {
	f, err := h.find(r, h.ownRequest(r, r.target.Key), h.fetchAndStore)
	if err == nil && r.target.Color != "" && f.entry.Status == fasthttp.StatusOK && f.entry.Monochrome == "" {
		// The response lacks our origin's field, so this is an origin of other software. Only the
		// origin can tell which icons take a colour, so it does the colouring.
		r.target = routes.Target{Key: r.target.Colored(), Form: r.target.Form}
		f, err = h.find(r, h.ownRequest(r, r.target.Key), h.fetchAndStore)
	}
	if err != nil {
		return f.outcome, err
	}
	if ep.Fast(r.target) {
		h.rememberTarget(r)
	}
	h.finish(r, f)
	return f.outcome, nil
}

// serveRelease answers other edges that ask for the release. It names a new release only after this
// edge has dropped the entries that the release changed.
func (h *handler) serveRelease(r *request) (exchange.Outcome, error) {
	f, err := h.find(r, h.ownRequest(r, r.target.Key), h.fetchRelease)
	if err != nil {
		return exchange.Failed, err
	}
	f.aged = false
	h.finish(r, f)
	return f.outcome, nil
}

// servePage answers / with a page that lists the addresses of the edge.
func (h *handler) servePage(r *request) (exchange.Outcome, error) {
	h.finish(r, found{entry: h.page})
	return exchange.Own, nil
}

// serveHealth reports that the process is alive.
func (h *handler) serveHealth(r *request) (exchange.Outcome, error) {
	resp := &r.ctx.Response
	writeFields(resp, everyAnswer)
	setDate(resp, h.clock.date(r.now))
	resp.Header.SetContentType("text/plain; charset=utf-8")
	resp.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	resp.SetBodyString("ok\n")
	return exchange.Own, nil
}
