// Package edge is the caching reverse proxy that people talk to. It serves, on its public listener,
//
//	GET  /{pack}/{name}.svg            an icon (the CDN path)
//	GET  /api/v1/icon/{pack}/{name}    an icon with its metadata
//	GET  /api/v1/search                icons by words
//	GET  /api/v1/suggest               words to go on with, while typing
//	GET  /api/v1/packs[/{pack}]        packs
//	GET  /api/v1/openapi.json          the API, described
//	POST /api/v1/auth/verify           a licence token's validity; never cached
//	GET  /-/release                    what changed, for other edges
//	GET  /-/names                      which icons there are, for them too
//	GET  /, /healthz                   a page; whether the process lives
//
// and on its admin listener /healthz, /readyz, /metrics and POST /purge. Everything else is a problem (RFC 9457), or, with
// --proxy-all, forwarded to the origin and cached by RFC 9111.
//
// A request goes through the steps of serve.go: who asks (client.go), what for (route.go, or pass.go where the path is none of
// ours), within the limit (ratelimit), from the cache or the origin (inquiry.go, find.go, ask.go, entry.go), finished for this
// client (finish.go). Package cachepolicy decides what may be stored and reused; the origin is spoken to over HTTP alone, and need
// not be ours: one of ours tells besides what a new release changed (watch.go) and which drawings may be recoloured here. Of single
// requests nothing is told unless the operator wants it (reports.go): then an access log has a line for each answer, and some are
// traced (follow.go).
package edge

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/files"
)

// Run serves until ctx ends, and then until the requests under way are answered, or cfg.Drain is over. An error is one of
// starting, or of a listener that broke; draining is none.
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
	tiers, err := cfg.Tiers.open(time.Now())
	if err != nil {
		return err
	}
	access, err := cfg.Admin.Open()
	if err != nil {
		return err
	}
	asked := upstream.New(upstream.Config{Origins: cfg.Origins, FirstByte: cfg.OriginTimeout, TLS: tiers.toOrigins, Secret: tiers.secrets.Sent, Log: cfg.Log})
	defer asked.Close()

	life, end := context.WithCancel(context.WithoutCancel(ctx)) // outlives ctx by the drain
	defer end()
	m := newMetrics(cfg.Version)
	h := newHandler(life, cfg, store, asked, m)
	h.tiers = tiers
	warm := store.Stats().DiskEntries > 0 // it can answer something without its origin, and may be needed to
	ready := func() bool { return (warm || h.reached.Load()) && !h.draining.Load() }
	m.watches(store, cfg.CacheBytes, asked, ready)
	m.watchesClients(h.conns, h.waiting)
	m.watchesStreams(h.streams)
	m.watchesTiers(tiers)
	m.watchesAdmin(access)
	m.watchesLimits(h.limiters())
	if err := h.lists.load(); err != nil {
		return fmt.Errorf("reading the lists of addresses: %w", err)
	}
	told := files.Spread(life, cfg.Reload, 5)
	if h.reports, err = cfg.Reports.open(told[3], cfg.Version, cfg.Log); err != nil {
		return err
	}
	defer h.reports.close()
	m.watchesReports(h.reports)
	shared, err := openShared(h, cfg, warm)
	if err != nil {
		return err
	}
	defer shared.close()
	go asked.Run(life)
	go h.watch.run(life)
	go h.sweep(life)
	go returnMemory(life, h.conns.limits.Bodies)
	secured, err := openSecure(ctx, h, cfg)
	if err != nil {
		return err
	}
	defer secured.Close()
	go h.lists.run(life, told[0])
	go secured.run(life, told[1])
	go tiers.Run(life, told[2], cfg.Log)
	go access.Run(life, told[4], cfg.Log)

	broken := make(chan error, 4)
	adminServer := newAdmin(h, access, ready)
	go func() { broken <- adminServer.Serve(admin) }()
	defer adminServer.Close()
	server := newServer(h, cfg.Log)
	go func() { broken <- server.Serve(listener{public, h, nil}) }()
	secured.serve(server, broken)
	cfg.Log.Info("listening", "address", public.Addr().String(), "for", "public")
	cfg.Log.Info("listening", "address", admin.Addr().String(), "for", "admin")
	if !access.Asks() && !onLoopback(admin.Addr()) {
		cfg.Log.Warn("whoever reaches the admin listener can purge: keep it private, or set --admin-token-file", "address", admin.Addr().String())
	}

	select {
	case err := <-broken:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	h.drain(cfg.Drain, cfg.Log, server, public, secured)
	return nil
}

// listen opens the listeners that cfg does not bring.
func listen(ctx context.Context, cfg Config) (public, admin net.Listener, err error) {
	var lc net.ListenConfig
	if public = cfg.Listener; public == nil {
		if public, err = lc.Listen(ctx, "tcp", cfg.Listen); err != nil {
			return nil, nil, fmt.Errorf("listening for the public: %w", err)
		}
	}
	if admin = cfg.AdminListener; admin == nil {
		if admin, err = lc.Listen(ctx, "tcp", cfg.AdminListen); err != nil {
			public.Close()
			return nil, nil, fmt.Errorf("listening for the admin: %w", err)
		}
	}
	return public, admin, nil
}

// maxRequestBody is how long a request's body may be: to our own routes nobody sends much.
func maxRequestBody(proxyAll bool) int {
	if proxyAll {
		return maxForwarded
	}
	return maxBody
}

// newServer is the public server. It sets no deadlines: those are for whole requests and answers, and its connections keep them
// themselves (conns.go). A slow client holds a connection, and nothing else, and not for ever.
func newServer(h *handler, log *slog.Logger) *fasthttp.Server {
	return &fasthttp.Server{
		Handler:                      h.serveH1,
		ErrorHandler:                 h.unreadable,
		HeaderReceived:               received,
		ReadBufferSize:               maxHead,
		WriteBufferSize:              16 << 10,
		MaxRequestBodySize:           maxRequestBody(h.proxyAll),
		NoDefaultServerHeader:        true,
		NoDefaultDate:                true, // answers have one of their own: setDate
		NoDefaultContentType:         true,
		DisablePreParseMultipartForm: true,
		CloseOnShutdown:              true,
		SecureErrorLogMessage:        true, // a request's bytes may hold a token
		Logger:                       serverLog{log},
	}
}

// received takes an expectation out of a request in HTTP/1.0: who sends that does not know a 100 (RFC 9110, section 10.1.1). It takes one
// out of a request with a long body too: that has been met by the connection (h1).
func received(h *fasthttp.RequestHeader) (defaults fasthttp.RequestConfig) {
	if !h.IsHTTP11() || h.ContentLength() > maxBody && strings.EqualFold(string(h.Peek(fasthttp.HeaderExpect)), "100-continue") {
		h.Del(fasthttp.HeaderExpect)
	}
	return defaults
}

type serverLog struct{ log *slog.Logger }

// Printf takes the server's words about connections that went wrong: clients' doing, mostly.
func (l serverLog) Printf(format string, args ...any) {
	l.log.Debug("http server", "said", fmt.Sprintf(format, args...))
}

// sweep lets the limits forget clients that have gone.
func (h *handler) sweep(ctx context.Context) {
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for l := range h.limiters() {
				l.Sweep(now)
			}
		}
	}
}

// limiters are those that are not off.
func (h *handler) limiters() iter.Seq[*ratelimit.Limiter] {
	return func(yield func(*ratelimit.Limiter) bool) {
		for _, l := range slices.AppendSeq(h.limits[:], maps.Values(h.plans)) {
			if l != nil && !yield(l) {
				return
			}
		}
	}
}

// unreadable answers what could not be read as a request. Its connection is closed.
func (h *handler) unreadable(ctx *fasthttp.RequestCtx, err error) {
	r := newRequest(ctx, h.exchangeH1(ctx))
	closeAfter(r)
	p := unreadable(err)
	if r.LongLine && p.Status == fasthttp.StatusRequestHeaderFieldsTooLarge {
		p = longTarget()
	}
	r.now = time.Now()
	if r.unread = p.Status != fasthttp.StatusRequestEntityTooLarge; !r.unread {
		r.Client = h.clients.of(r.Peer, &ctx.Request.Header)
	}
	h.end(r, outcomeRefused, p)
	if r.Bodyless {
		ctx.Response.SkipBody = true
	}
}
