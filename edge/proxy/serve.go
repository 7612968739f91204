// Package proxy answers requests: from the cache, or with the origin's response.
//
// A request takes the steps of serve.go: find its client, check the redirect, the lists and loops,
// find its endpoint, check its limit, look it up in the cache (fetchrequest.go, find.go), join or
// begin a fetch from the origin (find.go, fetch.go, fetcher.go, entry.go), and finish the response
// for this client (finish.go, head.go). states.go decides which step of find follows another.
// forward.go handles paths that are none of the edge's own (--proxy-all). The hit path (package
// hit) answers eligible requests for fresh responses with the same bytes.
package proxy

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/clock"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/eligible"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/hit"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/objects"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/pieces"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/tunnel"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/hostport"
	"github.com/iconedge/iconedge/problem"
)

// Options configures a handler. All components are required; Redirect and AltSvc may be empty.
type Options struct {
	Sites       *vhosts.Set     // decide about requests, by their hosts
	CacheBytes  int64           // limit of the cache in memory
	Ports       map[string]bool // of the public listeners, and the default ports of HTTP
	WaitTimeout time.Duration   // how long a request waits for a collapsed fetch
	Bounds      Bounds          // of forwarded requests
	Redirect    string          // format of the https URL to redirect to; empty: no redirect
	AltSvc      string          // Alt-Svc value for HTTP/3 (RFC 7838); empty: no HTTP/3

	// Purge purges an address for a client with these Authorization lines; nil: the public listener
	// takes no PURGE.
	Purge func(authorization []string, address string) (entries int, err error)

	// Clock measures ages, freshness lifetimes and the windows of limits.
	Clock     clock.Clock
	Clients   access.Clients
	Admission *access.Admission
	Tiers     *access.Credentials
	Cache     *cache.Cache
	Library   *library.Library
	Origin    *Fetcher
	Metrics   *observe.Metrics
	Reports   observe.Reports
	Tunnels   *tunnel.Set
	Log       *slog.Logger
}

// A Proxy answers every request of the public listeners.
type Proxy struct {
	Options Options
	doors   doorkeeper
	clock   dateClock

	hits    *hit.Path
	current atomic.Pointer[current]
	dates   recentDates // of origins' responses

	objects    *objects.Store       // large objects in transfer
	joined     *cache.Share         // responses joined from pieces of icon data
	pieces     *pieces.Table        // of icon data
	compressor *compress.Compressor // of stored responses of forwarded paths

	loopLogged sync.Once    // a request loop
	stopLogged atomic.Int64 // the second in which stopped rules were logged last
}

// New returns a handler that answers requests by the components of o.
func New(o Options) *Proxy {
	h := &Proxy{Options: o, objects: objects.New(o.Cache), joined: cache.NewShare(o.Cache, o.CacheBytes/joinedPart), pieces: pieces.NewTable(o.CacheBytes / recentPart), doors: doorkeeper{seed: maphash.MakeSeed()}, compressor: compress.New(o.Cache, o.Log)}
	h.hits = hit.New(hit.Options{Redirects: o.Redirect != "", AltSvc: o.AltSvc, Clock: o.Clock, Clients: o.Clients, Admission: o.Admission, Cache: o.Cache, Library: o.Library,
		Compressor: h.compressor, Pieces: h.pieces, Doors: &h.doors, Metrics: o.Metrics, Reports: o.Reports})
	h.Use(o.Sites)
	return h
}

// current is the sites in use.
type current struct {
	*vhosts.Set
	table *router.Router // of the edge's own paths
}

// Use makes the sites of set those of all requests from now on.
func (h *Proxy) Use(set *vhosts.Set) {
	h.current.Store(&current{set, routes.New(h.answer, h.serveUnknown, set.Icons != nil && set.Icons.Iconify)})
	for _, name := range set.Names() {
		h.Options.Metrics.SiteUsed(name)
	}
	h.hits.Use(set)
}

// Answer answers a hit over HTTP/1.1; see h1.Answerer.
func (h *Proxy) Answer(dst []byte, q *eligible.Request) ([]byte, bool) { return h.hits.Answer(dst, q) }

// AnswerH2 answers a hit over HTTP/2; see h2.Answerer.
func (h *Proxy) AnswerH2(dst []byte, q *eligible.Request, known *h2.ClientTable) (out []byte, block int, ok bool) {
	return h.hits.AnswerH2(dst, q, known)
}

// AnswerH3 answers a hit over HTTP/3; see h3.Answerer.
func (h *Proxy) AnswerH3(dst []byte, q *eligible.Request) (out []byte, ok bool) {
	return h.hits.AnswerH3(dst, q)
}

// Sites returns the sites in use.
func (h *Proxy) Sites() *vhosts.Set { return h.current.Load().Set }

// joinedPart is the part of the cache for joined responses. Their pieces are stored anyway.
const joinedPart = 16

// recentPart is the part that recently used pieces may take, on top of the cache.
const recentPart = 16

// Drain makes every response from now on the last one of its connection.
func (h *Proxy) Drain() { h.hits.Drain() }

// Compression returns the counts of the content codings made of stored responses.
func (h *Proxy) Compression() compress.Stats { return h.compressor.Stats() }

// Draining reports whether Drain was called.
func (h *Proxy) Draining() bool { return h.hits.Draining() }

// Objects returns the counts of large objects.
func (h *Proxy) Objects() objects.Stats { return h.objects.Stats() }

// maxObject returns the length of the largest body that is stored in one piece, in bytes.
func (h *Proxy) maxObject() int64 {
	return min(h.Options.CacheBytes/objectPart, cmp.Or(h.Options.Bounds.MaxObject, maxObject), maxObject)
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
	site   *vhosts.Site
	ruled  *ruled // the decision of the site's rules; nil: none yet, or no rules
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
	tell      *func(bytes int)    // reports the response when its tunnel has ended; nil: no tunnel

	count access.Count // the limit that counted the request

	// public describes the request to the origin of a forwarded path. Its scheme and Host are those
	// of the client's request, as a trusted proxy or an edge behind this one names them.
	public upstream.Forwarded

	traced *traced // its trace; nil: it is not traced

	mounted bool // its host is the mount of Iconify's API
}

// newRequest returns the record of a request that has just arrived. Its client is the peer until
// the fields have been checked.
func (h *Proxy) newRequest(ctx *fasthttp.RequestCtx, x *exchange.Request) *request {
	x.Client = x.Peer
	sites := h.current.Load()
	site := sites.Only()
	if site == nil {
		site, _ = sites.Find(hostName(string(ctx.Host())))
	}
	return &request{Request: x, ctx: ctx, site: site, now: h.Options.Clock.At(x.Arrived)}
}

// hostName returns the name in a Host, in canonical form.
func hostName(host string) string {
	name, _ := hostport.SplitHost(host)
	return hostport.CanonicalName(name)
}

// ServeRequest answers one request. It refuses malformed requests, finds the client, checks the
// redirect, the access lists and loops, and then calls the endpoint.
func (h *Proxy) ServeRequest(ctx *fasthttp.RequestCtx, x *exchange.Request) {
	r := h.newRequest(ctx, x)
	ctx.SetUserValue(recordMark{}, r)
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
	r.public = h.Options.Clients.Forwarded(x, string(ctx.Host()), hostport.ValidHost)
	r.public.Host = hostport.CanonicalHost(r.public.Host, r.public.Scheme)
	own := r.site // by the request's own host
	if sites.Only() == nil && !strings.EqualFold(r.public.Host, string(ctx.Host())) {
		if site, ok := sites.Find(hostName(r.public.Host)); ok {
			r.site = site // a trusted proxy names another host
		}
	}
	if h.redirectToTLS(r) {
		h.end(r, exchange.Own, nil)
		return
	}
	h.startTrace(r)
	if p := h.Options.Admission.Denied(r.Request, r.isHealthCheck()); p != nil {
		h.end(r, exchange.Denied, p)
		return
	}
	if lines := ctx.Request.Header.PeekAll("CDN-Loop"); len(lines) > 0 && h.Options.Origin.options.Client.IsLoop(exchange.Texts(lines)) {
		h.end(r, exchange.Refused, h.looped())
		return
	}
	r.mounted = r.site.Icons && r.site.IsMount(hostName(string(ctx.Host())))
	// HTTP/1.1 forbids an empty host, HTTP/1.0 does not.
	if host := ctx.Host(); len(host) > 0 && own == r.site && r.public.Host == hostport.CanonicalHost(string(host), x.Scheme()) && (own.Icons || h.refusePort(r) == nil) {
		h.hits.RememberHost(sites.Set, host, own, r.mounted)
	}
	switch {
	case h.Options.Purge != nil && string(ctx.Method()) == methodPurge:
		o, err := h.servePurge(r)
		h.end(r, o, err)
	case sites.Only() == nil && !r.isHealthCheck() && h.decide(r):
	case r.mounted:
		h.serveMounted(ctx)
	case r.site.Icons:
		sites.table.Handler(ctx)
	case r.isHealthCheck():
		r.route = routes.Health
		o, err := h.serveHealthPath(r)
		h.end(r, o, err)
	default:
		h.serveForwarded(ctx)
	}
}

// isHealthCheck reports whether the path of a request is that of the public health check.
func (r *request) isHealthCheck() bool {
	return r.site.IsHealthPath(string(r.ctx.URI().PathOriginal()))
}

// ServeRefused answers a request that its protocol has refused with this status.
func (h *Proxy) ServeRefused(ctx *fasthttp.RequestCtx, x *exchange.Request, status int) {
	x.Client = h.Options.Clients.Of(x)
	h.end(h.newRequest(ctx, x), exchange.Refused, refusedAs(status))
}

// ServeUnreadable answers a request that the server could not parse, and closes its connection.
func (h *Proxy) ServeUnreadable(ctx *fasthttp.RequestCtx, x *exchange.Request, err error) {
	r := h.newRequest(ctx, x)
	closeAfter(r)
	p := unreadable(err)
	if r.LongTarget && p.Status == fasthttp.StatusRequestHeaderFieldsTooLarge {
		p = longTarget()
	}
	r.now = h.Options.Clock.Now()
	if r.unread = p.Status != fasthttp.StatusRequestEntityTooLarge; !r.unread {
		r.Client = h.Options.Clients.Of(r.Request)
	}
	h.end(r, exchange.Refused, p)
	if r.Bodyless {
		ctx.Response.SkipBody = true
	}
}

// A recordMark is the key of a request's record among the user values of its context.
type recordMark struct{}

// recordOf returns the record of a request. ServeRequest makes it and each step fills it, so that
// the log line has every known detail, whichever step ends the request.
func recordOf(ctx *fasthttp.RequestCtx) *request { return ctx.UserValue(recordMark{}).(*request) }

// panicked answers a request whose handling panicked. It logs the fields of the access log line
// with the panic and the stack.
func (h *Proxy) panicked(r *request, p any) {
	stack := debug.Stack()
	h.Options.Log.Error("panic while answering", append(h.line(r, exchange.Failed).LogAttrs(), "panic", fmt.Sprint(p), "stack", string(stack))...)
	h.end(r, exchange.Failed, fmt.Errorf("panic: %v", p))
}

// answer answers a request for an endpoint, or forwards it if the endpoint leaves the path to
// --proxy-all.
func (h *Proxy) answer(ctx *fasthttp.RequestCtx, ep *routes.Endpoint) {
	path, query := string(ctx.URI().PathOriginal()), string(ctx.URI().QueryString())
	r := recordOf(ctx)
	route := ep.RouteOf(path, query)
	switch {
	case route.OfSite() && !r.site.Pages:
		h.serveUnknown(ctx)
		return
	case r.site.ProxyAll && ep.Foreign(path, query):
		h.serveForwarded(ctx)
		return
	}
	r.route, r.pattern = route, ep.Pattern
	if r.Tier {
		r.known = h.Options.Library.Known() // before any lookup
	}
	o, err := h.steps(r, ep)
	h.end(r, o, err)
}

// serveMounted answers on a host that is the mount of Iconify's API.
func (h *Proxy) serveMounted(ctx *fasthttp.RequestCtx) {
	if !routes.Mounted.Owns(string(ctx.URI().PathOriginal())) {
		r := recordOf(ctx)
		h.end(r, exchange.Refused, routes.NotFound())
		return
	}
	h.answer(ctx, routes.Mounted)
}

// steps runs the steps of a request for an endpoint: admission, parsing, and the endpoint itself.
// Preflight requests are answered first, without a limit.
func (h *Proxy) steps(r *request, ep *routes.Endpoint) (exchange.Outcome, error) {
	if r.ctx.IsOptions() {
		r.route = routes.Preflight
		return h.preflight(r, ep.Allow), nil
	}
	if err := h.Options.Tiers.Refuse(r.Request, r.route); err != nil {
		return exchange.Refused, err
	}
	var o exchange.Outcome
	var err error
	if r.count, o, err = h.Options.Admission.Admit(r.Request, r.route, r.now); err != nil {
		return o, err
	}
	if r.target, err = ep.Parse(r.ctx); err != nil {
		return exchange.Refused, err
	}
	return h.serve(r, ep)
}

// serve answers an admitted request for an endpoint.
func (h *Proxy) serve(r *request, ep *routes.Endpoint) (exchange.Outcome, error) {
	switch ep.Route {
	case routes.Verify:
		return h.serveVerify(r)
	case routes.Release:
		return h.serveRelease(r)
	case routes.Health:
		return h.serveHealth(r)
	}
	if r.target.Foreign != "" {
		if err := h.Options.Library.Identify(); err != nil {
			return exchange.Failed, err
		}
		if h.Options.Library.IsForeign() {
			r.target = r.target.AtForeign()
		}
	}
	if r.target.Icons != nil {
		return h.serveIconData(r, ep)
	}
	return h.serveCached(r, ep)
}

// end writes the problem, if there is an error, then counts, logs and traces the response.
func (h *Proxy) end(r *request, o exchange.Outcome, err error) {
	r.Interims.Close()
	if err != nil {
		h.fail(r, problem.From(err))
	}
	if h.Options.AltSvc != "" && r.Secure {
		r.Response.Set("Alt-Svc", h.Options.AltSvc)
	}
	r.editResponse()
	if h.hits.Draining() {
		closeAfter(r)
	}
	took := time.Since(r.Arrived)
	t := h.Options.Metrics.Answered(r.Protocol, r.route, o, r.ctx.Response.StatusCode(), took)
	if id := r.traced.span().Trace(); id != "" {
		h.Options.Metrics.Traced(r.route, took, id)
	}
	if r.stream != nil {
		r.stream.to = t // counts the bytes when the stream ends
	}
	t.Send(bodyLength(r))
	if r.site.Name != "" {
		h.Options.Metrics.SiteAnswered(r.site.Name, o, r.ctx.Response.StatusCode())
	}
	h.report(r, o, err)
}

// serveUnknown answers an address that has no endpoint.
func (h *Proxy) serveUnknown(ctx *fasthttp.RequestCtx) {
	path := string(ctx.URI().PathOriginal())
	r := recordOf(ctx)
	if r.site.ProxyAll && path != "*" {
		h.serveForwarded(ctx)
		return
	}
	switch {
	case ctx.IsOptions() && (path == "*" || len(ctx.Request.Header.Peek(fasthttp.HeaderAccessControlRequestMethod)) > 0):
		r.route = routes.Preflight
		// A page can then read the 404 that follows.
		h.end(r, h.preflight(r, routes.AllMethods), nil)
	case !routes.WellFormedPath(path):
		h.end(r, exchange.Refused, routes.Malformed())
	default:
		h.end(r, exchange.Refused, routes.NotFound())
	}
}

// serveCached answers from the cache, or with the origin's response.
func (h *Proxy) serveCached(r *request, ep *routes.Endpoint) (exchange.Outcome, error) {
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
	if ep.Fast(r.target) && !r.mounted {
		h.rememberTarget(r)
	}
	h.finish(r, f)
	return f.outcome, nil
}

// rememberTarget stores the parsed form of a target for the hit path.
func (h *Proxy) rememberTarget(r *request) {
	if r.ctx.IsGet() {
		h.hits.RememberTarget(r.ctx.RequestURI(), r.target.Key, r.target.Color, r.route)
	}
}

// serveRelease answers other edges that ask for the release. It names a new release only after this
// edge has dropped the entries that the release changed.
func (h *Proxy) serveRelease(r *request) (exchange.Outcome, error) {
	f, err := h.find(r, h.ownRequest(r, r.target.Key), h.fetchRelease)
	if err != nil {
		return exchange.Failed, err
	}
	f.aged = false
	h.finish(r, f)
	return f.outcome, nil
}

// serveHealth reports that the process is alive.
func (h *Proxy) serveHealth(r *request) (exchange.Outcome, error) {
	out := &r.Response
	out.Add(fasthttp.HeaderContentType, "text/plain; charset=utf-8")
	r.addFieldsOfEveryAnswer()
	h.writeDate(r)
	out.Add(fasthttp.HeaderCacheControl, "no-store")
	r.ctx.Response.SetBodyString("ok\n")
	return exchange.Own, nil
}

// closeAfter closes the connection of a request after its response.
func closeAfter(r *request) {
	r.ctx.SetConnectionClose()
	r.Conn.CloseAfter()
}
