package edge

import (
	"context"
	"fmt"
	"hash/maphash"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/problem"
)

// A handler answers every request of the public listener.
type handler struct {
	life        context.Context // ends when the edge has drained
	log         *slog.Logger
	hosts       []string
	patience    time.Duration // of a caller that waits for a flight
	clients     clients
	conns       *conns
	waiting     *waitingRoom
	lists       *lists                      // nil: none
	limits      [classes]*ratelimit.Limiter // nil: off
	plans       plans
	tokens      *tokens // nil: nobody looks at any
	cache       *cache.Cache
	origin      *upstream.Client
	watch       *watch
	release     atomic.Pointer[string]   // of the origin, as far as is known; nil: unknown, or the origin is not ours
	names       atomic.Pointer[nameList] // of that release; nil: there is no list, or not yet
	reached     atomic.Bool              // the origin has answered something other than a failure
	unpublished atomic.Bool              // it said last that it has no release yet
	publish     string                   // how the operator gives it one
	routes      *router.Router
	page        *cache.Entry
	metrics     *metrics
	clock       clock

	shortcuts  shortcuts
	knownHosts knownHosts
	codings    codings
	blocks     blocks
	streams    *h2.Server
	tiers      *tiers
	progress   *progress
	shared     *shared // what edges share; nil: nothing
	reports    reports
	reference  *reference // serves HTTP/2 instead; nil: streams does
	redirect   string     // where the plain listener sends all: scheme, a place for the host, and port; empty: nowhere
	altSvc     string     // tells of HTTP/3 (RFC 7838); empty: there is none
	doors      doorkeeper
	missing    missing
	hints      rate

	requireToken bool
	draining     atomic.Bool // the edge ends: each connection has its last answer

	proxyAll  bool
	policy    cachepolicy.Policy // of forwarded paths
	passed    map[string]bool    // fields of clients that the operator passes to the origin
	maxObject int64              // bytes of the largest body that is stored
}

func newHandler(ctx context.Context, cfg Config, c *cache.Cache, o *upstream.Client, m *metrics) *handler {
	h := &handler{life: ctx, log: cfg.Log, hosts: cfg.Hosts, patience: cfg.OriginTimeout + time.Second,
		clients: clients{cfg.TrustedProxies}, conns: newConns(cfg), waiting: newWaitingRoom(cfg.MaxWaiting), lists: newLists(cfg.AllowFile, cfg.DenyFile, cfg.Log, m), cache: c, origin: o, page: newPage(), metrics: m,
		proxyAll: cfg.ProxyAll, policy: cfg.Forwarding.policy(), passed: cfg.Forwarding.passed(),
		maxObject: min(cfg.CacheBytes/objectPart, maxObject), tiers: &tiers{}}
	for c := classSearch; c < classes; c++ {
		h.limits[c] = newLimiter(cfg.Limits.of(c))
	}
	if h.plans, h.requireToken = newPlans(cfg.Limits), cfg.RequireToken; h.requireToken || len(h.plans) > 0 {
		h.tokens = newTokens(h.askToken)
	}
	if h.publish = cfg.Publish; h.publish == "" {
		h.publish = "iconedge publish SOURCE"
	}
	h.progress = newProgress(c)
	h.watch, h.doors.seed = newWatch(h), maphash.MakeSeed()
	h.missing.init(cfg.CacheBytes)
	h.routes = newRoutes(h.answer, h.nothing)
	h.streams = h2.New(h, h, h2.Config{Idle: cfg.IdleTimeout, Receive: cfg.RequestTimeout, Send: cfg.AnswerTimeout, MaxBody: maxRequestBody(cfg.ProxyAll), MaxList: maxHead, Bodies: h.conns.limits.Bodies})
	h.reference = newReference(h, cfg)
	return h
}

const (
	objectPart = 16       // no body takes more than one part in so many of the cache
	maxObject  = 64 << 20 // bytes
)

// A request is the record of one request on its way through the edge: the exchange that its adapter made, and the results of
// each step.
type request struct {
	*exchange.Request
	ctx    *fasthttp.RequestCtx // of the router, which holds the response, too
	route  route
	unread bool      // it is no request that could be read
	now    time.Time // the one time that every decision about it rests on: when it came, or when it had waited for another's response
	target target
	status cachepolicy.CacheStatus // what the cache did

	pattern   string              // of its address; empty: none of ours
	known     string              // release of the origin when it came, where an edge asks
	forwarded bool                // its path is none of ours
	forward   cachepolicy.Forward // why the origin is asked
	stream    *countedStream      // its answer's body; nil: it is no stream

	counted  class           // as what
	limit    ratelimit.Limit // that it was counted against; off: none
	decision ratelimit.Decision

	followed *followed // its trace; nil: it has none
}

// newRequest returns the record of a request that has just arrived. Its client is the peer until the fields have been checked.
func newRequest(ctx *fasthttp.RequestCtx, x *exchange.Request) *request {
	x.Client = x.Peer
	return &request{Request: x, ctx: ctx, now: x.Arrived}
}

// ServeRequest is one request through the edge: what is wrong with it as HTTP, then its endpoint.
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
	x.Client = h.clients.of(x.Peer, &ctx.Request.Header) // not before: refuse takes out fields that came as trailers
	if p != nil {
		h.end(r, outcomeRefused, p)
		return
	}
	if h.toSecure(r) {
		h.end(r, outcomeOwn, nil)
		return
	}
	if x.Tier = h.tiers.proven(r); x.Tier {
		x.Conn.Exempt()
	}
	h.follow(r)
	if p := h.barred(r); p != nil {
		h.end(r, outcomeDenied, p)
		return
	}
	if lines := ctx.Request.Header.PeekAll("CDN-Loop"); len(lines) > 0 && h.origin.Looped(texts(lines)) {
		h.end(r, outcomeRefused, h.looped())
		return
	}
	h.knownHosts.add(ctx.Host())
	h.routes.Handler(ctx)
}

// A recordMark marks the record of a request among the values of its context.
type recordMark struct{}

// recordOf is the one record of a request, which ServeRequest makes and each step fills: whatever becomes of the request is told with what is known by then.
func recordOf(ctx *fasthttp.RequestCtx) *request { return ctx.UserValue(recordMark{}).(*request) }

// panicked answers a request whose steps panicked, and logs what the access log would tell of it, with the stack.
func (h *handler) panicked(r *request, p any) {
	stack := debug.Stack()
	h.log.Error("panic while answering", append(h.line(r, outcomeError).Told(), "panic", fmt.Sprint(p), "stack", string(stack))...)
	h.end(r, outcomeError, fmt.Errorf("panic: %v", p))
}

// answer is a request for an endpoint.
func (h *handler) answer(ctx *fasthttp.RequestCtx, ep *endpoint) {
	if h.proxyAll && ep.others != nil && ep.others(string(ctx.URI().PathOriginal())) {
		h.pass(ctx)
		return
	}
	r := recordOf(ctx)
	r.route, r.pattern = ep.route, ep.pattern
	if r.Tier {
		r.known = h.watch.known() // before anything is looked up
	}
	o, err := h.steps(r, ep)
	h.end(r, o, err)
}

// steps are those of every request: preflights are free; then it is admitted, understood, and answered.
func (h *handler) steps(r *request, ep *endpoint) (outcome, error) {
	if r.ctx.IsOptions() {
		r.route = routePreflight
		return h.preflight(r, ep.allow), nil
	}
	if err := h.tiersOnly(r); err != nil {
		return outcomeRefused, err
	}
	if o, err := h.admit(r); err != nil {
		return o, err
	}
	var err error
	if r.target, err = parse(r.ctx, ep); err != nil {
		return outcomeRefused, err
	}
	return ep.serve(h, r)
}

// end writes what went wrong, if anything did, and counts the request.
func (h *handler) end(r *request, o outcome, err error) {
	if err != nil {
		h.fail(r, problem.From(err))
	}
	if h.altSvc != "" && r.Secure {
		r.ctx.Response.Header.Set("Alt-Svc", h.altSvc)
	}
	if h.draining.Load() {
		closeAfter(r)
	}
	t := h.metrics.answered(r.Protocol, r.route, o, r.ctx.Response.StatusCode(), time.Since(r.Arrived))
	if r.stream != nil {
		r.stream.to = t // when it ends
	}
	t.send(bodyLength(r))
	h.report(r, o, err)
}

// nothing answers an address that no endpoint has.
func (h *handler) nothing(ctx *fasthttp.RequestCtx) {
	path := string(ctx.URI().PathOriginal())
	if h.proxyAll && path != "*" {
		h.pass(ctx)
		return
	}
	r := recordOf(ctx)
	switch {
	case ctx.IsOptions() && (path == "*" || len(ctx.Request.Header.Peek(fasthttp.HeaderAccessControlRequestMethod)) > 0):
		r.route = routePreflight
		h.end(r, h.preflight(r, allMethods), nil) // so that a page can read the 404 that follows
	case !wellFormed(path):
		h.end(r, outcomeRefused, malformed())
	default:
		h.end(r, outcomeRefused, notHere())
	}
}

// cached answers from the cache, or with what the origin says now.
func (h *handler) cached(r *request) (outcome, error) {
	f, err := h.find(r, h.ownInquiry(r, r.target.key), h.ask)
	if err == nil && r.target.color != "" && f.entry.Status == fasthttp.StatusOK && f.entry.Monochrome == "" {
		// No origin of ours: it alone knows what can be coloured.
		r.target = target{key: r.target.colored(), form: r.target.form}
		f, err = h.find(r, h.ownInquiry(r, r.target.key), h.ask)
	}
	if err != nil {
		return f.outcome, err
	}
	h.remember(r)
	h.finish(r, f)
	return f.outcome, nil
}

// tellRelease answers other edges, with no newer release than this edge has itself made room for.
func (h *handler) tellRelease(r *request) (outcome, error) {
	f, err := h.find(r, h.ownInquiry(r, r.target.key), h.watch.ask)
	if err != nil {
		return outcomeError, err
	}
	f.aged = false
	h.finish(r, f)
	return f.outcome, nil
}

// start answers / with a page that shows what is here.
func (h *handler) start(r *request) (outcome, error) {
	h.finish(r, found{entry: h.page})
	return outcomeOwn, nil
}

// healthz says that the process lives.
func (h *handler) healthz(r *request) (outcome, error) {
	resp := &r.ctx.Response
	writeFields(resp, everyAnswer)
	setDate(resp, h.clock.date(r.now))
	resp.Header.SetContentType("text/plain; charset=utf-8")
	resp.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	resp.SetBodyString("ok\n")
	return outcomeOwn, nil
}
