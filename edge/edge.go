// Package edge is the caching reverse proxy that clients connect to. On its public listener it
// serves
//
//	GET  /{pack}/{name}.svg            an icon (the CDN path)
//	GET  /api/v1/icon/{pack}/{name}    an icon with its metadata
//	GET  /api/v1/search                a search for icons by words
//	GET  /api/v1/suggest               completions of a search while a user types
//	GET  /api/v1/packs[/{pack}]        packs
//	GET  /api/v1/openapi.json          the description of the API
//	POST /api/v1/auth/verify           a licence token's validity; never cached
//	GET  /-/release                    the changes of a release, for other edges
//	GET  /-/names                      the names of all icons, for other edges
//	GET  /, /healthz                   a page; whether the process is alive
//
// and on its admin listener /healthz, /readyz, /metrics and POST /purge. It answers any other path
// with a problem (RFC 9457), or, with --proxy-all, forwards it to the origin and caches the
// response by RFC 9111.
//
// A request takes the steps of serve.go: find its client (client.go) and its route (route.go, or
// forward.go for a path that is none of ours), check the limit (ratelimit), get the response from
// the cache or the origin (fetchrequest.go, find.go, fetch.go, entry.go), and finish it for this
// client (finish.go). Package cachepolicy decides which responses may be stored and reused.
//
// The edge speaks only HTTP with the origin, and the origin need not be ours. An origin of ours
// also reports the changes of a new release (watch.go) and which icons may be recoloured here. The
// edge records single requests only if the operator wants it (reports.go): an access log has a line
// for each response, and some requests are traced (tracing.go).
package edge

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/iconedge/iconedge/admin"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/fleet"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/purge"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/files"
	"github.com/valyala/fasthttp"
)

// Run serves until ctx ends, and then until the requests in flight are answered or cfg.Drain has
// passed. It returns an error if it can't start or a listener fails, but none for draining.
func Run(ctx context.Context, cfg Config) error {
	cfg = cfg.filled()
	public, admin, err := listen(ctx, cfg)
	if err != nil {
		return err
	}
	public = publicListener{public, new(sync.Once)}
	defer public.Close()
	defer admin.Close()
	store, err := cache.New(cache.Options{
		MaxBytes: cfg.CacheBytes, Dir: cfg.CacheDir, DiskBytes: cfg.CacheDiskBytes, Log: cfg.Log.Warn,
		Restored: restored,
	})
	if err != nil {
		return fmt.Errorf("making the cache: %w", err)
	}
	defer store.Close()
	tiers, err := cfg.Tiers.Open(time.Now())
	if err != nil {
		return err
	}
	adminAccess, err := cfg.Admin.Open()
	if err != nil {
		return err
	}
	asked := upstream.New(upstream.Config{Origins: cfg.Origins, FirstByte: cfg.OriginTimeout, TLS: tiers.ToOrigins, Secret: tiers.Secrets.Sent, Log: cfg.Log})
	defer asked.Close()

	life, end := context.WithCancel(context.WithoutCancel(ctx)) // life outlives ctx by the drain
	defer end()
	m := observe.NewMetrics(cfg.Version)
	lists, err := access.OpenLists(cfg.AllowFile, cfg.DenyFile, cfg.Log, m)
	if err != nil {
		return fmt.Errorf("reading the address lists: %w", err)
	}
	fl, err := openFleet(cfg, m)
	if err != nil {
		return err
	}
	peers := purge.NewPeers(fl, cfg.Log)
	h := newHandler(life, cfg, store, asked, m, lists, windows(fl), peers)
	h.tiers = tiers
	// A warm edge can serve some icons without an origin, and may need to.
	warm := store.Stats().DiskEntries > 0
	ready := func() bool { return (warm || h.state.Reached()) && !h.draining.Load() }
	h.watchMetrics(adminAccess, ready)
	told := files.Spread(life, cfg.Reload, 5)
	if h.reports, err = cfg.Reporting.Open(told[3], cfg.Version, cfg.Log, h.clients.OfEligible); err != nil {
		return err
	}
	defer h.reports.Close()
	m.WatchReports(h.reports)
	purges := purge.New(store, h.library.Negative)
	peers.Follow(purges, h.library, warm)
	defer peers.Close()
	go asked.Run(life)
	go h.library.Run(life)
	go h.admission.Sweep(life)
	go returnMemory(life, h.conns.limits.Bodies)
	secured, err := openSecure(ctx, h, cfg)
	if err != nil {
		return err
	}
	defer secured.Close()
	go lists.Run(life, told[0])
	go secured.run(life, told[1])
	go tiers.Run(life, told[2], cfg.Log)
	go adminAccess.Run(life, told[4], cfg.Log)

	broken := make(chan error, 4)
	adminServer := newAdmin(h, adminAccess, ready, purges.Handler(adminAccess, peers, cfg.Log))
	go func() { broken <- adminServer.Serve(admin) }()
	defer adminServer.Close()
	server := newServer(h, cfg.Log)
	go func() { broken <- server.Serve(listener{public, h, nil}) }()
	secured.serve(server, broken)
	cfg.Log.Info("listening", "address", public.Addr().String(), "for", "public")
	cfg.Log.Info("listening", "address", admin.Addr().String(), "for", "admin")
	if !adminAccess.Asks() && !onLoopback(admin.Addr()) {
		cfg.Log.Warn("admin listener, with purge, reachable from other machines without a token; keep it private, or set --admin-token-file", "address", admin.Addr().String())
	}

	select {
	case err := <-broken:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	h.drain(cfg.Drain, cfg.Log, server, public, secured)
	return nil
}

// watchMetrics adds the metrics that are read from the components at each scrape.
func (h *handler) watchMetrics(a *admin.Access, ready func() bool) {
	m := h.metrics
	m.WatchCache(h.cache.Stats, h.cacheBytes)
	m.WatchOrigins(h.origin.Stats)
	m.WatchConns(h.conns.stats)
	m.WatchStreams(h.streams.Stats)
	m.WatchService(func() observe.ServiceStats {
		return observe.ServiceStats{Ready: ready(), Waiting: h.limiter.waiting(), Shed: h.limiter.shed.Load(), LimitClients: h.admission.Windows(),
			TierRequests: h.tiers.Requests.Load(), TokenInUse: a.TokenInUse()}
	})
}

// openFleet connects to Redis, if the operator has configured it; otherwise it returns nil.
func openFleet(cfg Config, m *observe.Metrics) (*fleet.Fleet, error) {
	if cfg.Redis == "" {
		return nil, nil
	}
	f, err := cfg.Sharing.Connect(cfg.Log, m.RedisChecks())
	if err == nil {
		m.WatchFleet(f.Stats)
	}
	return f, err
}

// windows returns the function that shares windows between edges; nil without Redis.
func windows(f *fleet.Fleet) func(name string, own *ratelimit.Limiter) access.Window {
	if f == nil {
		return nil
	}
	return func(name string, own *ratelimit.Limiter) access.Window { return f.SharedWindow(name, own) }
}

// listen opens the listeners that cfg does not provide.
func listen(ctx context.Context, cfg Config) (public, admin net.Listener, err error) {
	var lc net.ListenConfig
	if public = cfg.Listener; public == nil {
		if public, err = lc.Listen(ctx, "tcp", cfg.Listen); err != nil {
			return nil, nil, fmt.Errorf("opening the public listener: %w", err)
		}
	}
	if admin = cfg.AdminListener; admin == nil {
		if admin, err = lc.Listen(ctx, "tcp", cfg.AdminListen); err != nil {
			public.Close()
			return nil, nil, fmt.Errorf("opening the admin listener: %w", err)
		}
	}
	return public, admin, nil
}

// maxRequestBody returns the maximum length of a request's body. Our own routes need no long ones.
func maxRequestBody(proxyAll bool) int {
	if proxyAll {
		return maxForwarded
	}
	return maxBody
}

// newServer returns the public HTTP/1.1 server. It sets no deadlines, because its connections
// (conns.go) enforce those for whole requests and responses. A slow client occupies a connection
// for a bounded time, and nothing else.
func newServer(h *handler, log *slog.Logger) *fasthttp.Server {
	return &fasthttp.Server{
		Handler:                      h.serveH1,
		ErrorHandler:                 h.unreadable,
		HeaderReceived:               received,
		ReadBufferSize:               maxHead,
		WriteBufferSize:              16 << 10,
		MaxRequestBodySize:           maxRequestBody(h.proxyAll),
		NoDefaultServerHeader:        true,
		NoDefaultDate:                true, // setDate writes it
		NoDefaultContentType:         true,
		DisablePreParseMultipartForm: true,
		CloseOnShutdown:              true,
		SecureErrorLogMessage:        true, // the bytes of a request may contain a token
		Logger:                       serverLog{log},
	}
}

// received removes Expect from a request in HTTP/1.0, whose client does not know a 100 (RFC 9110,
// section 10.1.1). It also removes it from a request with a long body, because the connection (h1)
// has already sent the 100.
func received(h *fasthttp.RequestHeader) (defaults fasthttp.RequestConfig) {
	if !h.IsHTTP11() || h.ContentLength() > maxBody && strings.EqualFold(string(h.Peek(fasthttp.HeaderExpect)), "100-continue") {
		h.Del(fasthttp.HeaderExpect)
	}
	return defaults
}

type serverLog struct{ log *slog.Logger }

// Printf logs the server's messages about broken connections. Most of them are caused by clients.
func (l serverLog) Printf(format string, args ...any) {
	l.log.Debug("http server", "said", fmt.Sprintf(format, args...))
}

// unreadable answers a request that the server could not parse, and closes its connection.
func (h *handler) unreadable(ctx *fasthttp.RequestCtx, err error) {
	r := newRequest(ctx, h.exchangeH1(ctx))
	closeAfter(r)
	p := unreadable(err)
	if r.LongTarget && p.Status == fasthttp.StatusRequestHeaderFieldsTooLarge {
		p = longTarget()
	}
	r.now = time.Now()
	if r.unread = p.Status != fasthttp.StatusRequestEntityTooLarge; !r.unread {
		r.Client = h.clients.Of(r.Request)
	}
	h.end(r, exchange.Refused, p)
	if r.Bodyless {
		ctx.Response.SkipBody = true
	}
}
