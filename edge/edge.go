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
// New builds the components, from the origin to the client: upstream sends requests to the origin;
// library follows its releases; access decides which clients may proceed; proxy answers requests
// from the cache or the origin; listen serves connections. purge removes stored responses, fleet
// shares limits, purges and releases with other edges, and observe counts, logs and traces.
//
// The edge speaks only HTTP with the origin, and the origin need not be ours.
package edge

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"github.com/iconedge/iconedge/admin"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/fleet"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/proxy"
	"github.com/iconedge/iconedge/edge/purge"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/tunnel"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/files"
)

// A Server is an edge. Its components are built one after another, and each is given the ones that
// it needs.
type Server struct {
	cfg     Config
	life    context.Context // ends when the edge has drained
	signals []chan os.Signal
	closers []func() // in the order of construction
	warm    bool     // the cache was restored from disk

	sockets     *listen.Sockets
	admin       net.Listener
	adminAccess *admin.Access
	metrics     *observe.Metrics
	reports     observe.Reports
	cache       *cache.Cache
	tiers       *access.Credentials
	lists       *access.Lists
	admission   *access.Admission
	upstream    *upstream.Client
	state       *library.OriginState
	origin      *proxy.Fetcher
	library     *library.Library
	peers       *purge.Peers
	purges      *purge.Purger
	proxy       *proxy.Proxy
	tunnels     *tunnel.Set
	listeners   *listen.Server
}

// New builds an edge, and opens its sockets. It reads the files that cfg names, so that its error
// names one that can't be used. The edge serves nothing before Run.
func New(cfg Config) (*Server, error) {
	life, end := context.WithCancel(context.Background())
	s := &Server{cfg: cfg.filled(), life: life, closers: []func(){end}}
	err := s.open()
	if err == nil {
		err = s.build()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// build builds the components, from the origin to the client.
func (s *Server) build() error {
	cfg, m := s.cfg, s.metrics
	s.upstream = upstream.New(upstream.Config{Origins: cfg.Origins, FirstByte: cfg.OriginTimeout, TLS: s.tiers.ToOrigins, Secret: s.tiers.Secrets.Sent, Log: cfg.Log})
	s.closes(s.upstream.Close)
	shared, err := openFleet(cfg, m)
	if err != nil {
		return err
	}
	s.peers = purge.NewPeers(shared, cfg.Log)
	s.closes(s.peers.Close)
	clients := access.Clients{Trusted: cfg.TrustedProxies}
	if s.reports, err = cfg.Reporting.Open(s.signals[3], cfg.Version, cfg.Log, clients.OfEligible); err != nil {
		return err
	}
	s.closes(s.reports.Close)
	s.state = &library.OriginState{}
	s.origin = proxy.NewFetcher(proxy.FetcherOptions{Life: s.life, Client: s.upstream, MaxWaiting: cfg.MaxWaiting, Metrics: m, Tracer: s.reports.Tracer, State: s.state})
	s.library = library.New(library.Options{Cache: s.cache, CacheBytes: cfg.CacheBytes, State: s.state, ProxyAll: cfg.ProxyAll,
		Fetch: s.origin.FetchUntraced, Do: s.upstream.Do, Announce: s.peers.AnnounceRelease, Observer: m, Log: cfg.Log})
	s.purges = purge.New(s.cache, s.library.Negative)
	wait := cfg.OriginTimeout + time.Second
	s.admission = access.NewAdmission(access.Options{Limits: cfg.Limits, RequireToken: cfg.RequireToken, TokenTimeout: wait, Clients: clients, Lists: s.lists,
		Share: windows(shared), CheckToken: s.checkToken, Observer: m})
	s.tunnels = tunnel.NewSet(cfg.Tunnels)
	s.proxy = proxy.New(proxy.Options{
		Hosts: cfg.Hosts, ProxyAll: cfg.ProxyAll, Policy: cfg.Forwarding.Policy(), Passed: cfg.Forwarding.Passed(), CacheBytes: cfg.CacheBytes, WaitTimeout: wait,
		Redirect: cfg.Secure.Redirect(s.sockets), AltSvc: s.sockets.AltSvc(),
		Clients: clients, Admission: s.admission, Tiers: s.tiers, Cache: s.cache, Library: s.library, Origin: s.origin, Metrics: m, Reports: s.reports, Tunnels: s.tunnels, Log: cfg.Log,
	})
	s.closes(s.endTunnels)
	s.listeners, err = listen.New(s.listening(), s.sockets, s.proxy)
	if err != nil {
		return err
	}
	s.closes(func() { s.listeners.Close() })
	s.watch()
	return nil
}

// checkToken asks the origin for its verdict on a licence token.
func (s *Server) checkToken(token string) (plan string, valid bool, err error) {
	return s.origin.CheckToken(token, s.library.MayGetSecret(true))
}

// listening returns the options of the listeners.
func (s *Server) listening() listen.Options {
	return listen.Options{Capacity: s.cfg.Capacity, Secure: s.cfg.Secure, MaxBody: maxRequestBody(s.cfg.ProxyAll), Tunnels: s.cfg.ProxyAll, Clients: access.Clients{Trusted: s.cfg.TrustedProxies},
		AskCertificate: s.tiers.Ask, Observer: s.metrics, Log: s.cfg.Log, Life: s.life}
}

// open opens the sockets and the files of an edge.
func (s *Server) open() (err error) {
	cfg := s.cfg
	if s.sockets, err = cfg.Secure.Open(s.life, cfg.Listen, cfg.Listener); err != nil {
		return err
	}
	s.closes(func() { s.sockets.Close() })
	if s.admin = cfg.AdminListener; s.admin == nil {
		var lc net.ListenConfig
		if s.admin, err = lc.Listen(s.life, "tcp", cfg.AdminListen); err != nil {
			return fmt.Errorf("opening the admin listener: %w", err)
		}
	}
	s.closes(func() { s.admin.Close() })
	if s.cache, err = cache.New(cache.Options{MaxBytes: cfg.CacheBytes, Dir: cfg.CacheDir, DiskBytes: cfg.CacheDiskBytes, Log: cfg.Log.Warn, Restored: proxy.Restored}); err != nil {
		return fmt.Errorf("making the cache: %w", err)
	}
	s.closes(s.cache.Close)
	s.warm = s.cache.Stats().DiskEntries > 0
	if s.tiers, err = cfg.Tiers.Open(time.Now()); err != nil {
		return err
	}
	if s.adminAccess, err = cfg.Admin.Open(); err != nil {
		return err
	}
	s.metrics = observe.NewMetrics(cfg.Version)
	if s.lists, err = access.OpenLists(cfg.AllowFile, cfg.DenyFile, cfg.Log, s.metrics); err != nil {
		return fmt.Errorf("reading the address lists: %w", err)
	}
	s.signals = files.Spread(s.life, cfg.Reload, 5)
	return nil
}

// closes adds a function that Close calls, before those that were added earlier.
func (s *Server) closes(f func()) { s.closers = append(s.closers, f) }

// Close ends everything at once.
func (s *Server) Close() {
	for _, f := range slices.Backward(s.closers) {
		f()
	}
	s.closers = nil
}

// ready reports whether the edge can answer requests. A warm edge can serve some icons without an
// origin, and may need to.
func (s *Server) ready() bool { return (s.warm || s.state.Reached()) && !s.proxy.Draining() }

// Run serves until ctx ends, and then until the requests in flight are answered or cfg.Drain has
// passed. It returns an error if the edge can't start or a listener fails, but none for draining.
func Run(ctx context.Context, cfg Config) error {
	s, err := New(cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Run(ctx)
}

// Run serves until ctx ends; see the function Run.
func (s *Server) Run(ctx context.Context) error {
	log := s.cfg.Log
	s.peers.Follow(s.purges, s.library, s.warm)
	go s.upstream.Run(s.life)
	go s.library.Run(s.life)
	go s.admission.Sweep(s.life)
	go s.lists.Run(s.life, s.signals[0])
	go s.listeners.Reload(s.life, s.signals[1])
	go s.tiers.Run(s.life, s.signals[2], log)
	go s.adminAccess.Run(s.life, s.signals[4], log)

	broken := make(chan error, 4)
	adminServer := newAdmin(s, s.adminAccess, s.purges.Handler(s.adminAccess, s.peers, log))
	go func() { broken <- adminServer.Serve(s.admin) }()
	defer adminServer.Close()
	s.listeners.Serve(broken)
	log.Info("listening", "address", s.admin.Addr().String(), "for", "admin")
	if !s.adminAccess.Asks() && !onLoopback(s.admin.Addr()) {
		log.Warn("admin listener, with purge, reachable from other machines without a token; keep it private, or set --admin-token-file", "address", s.admin.Addr().String())
	}
	select {
	case err := <-broken:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	s.proxy.Drain()
	s.listeners.Drain(s.cfg.Drain)
	return nil
}

// endTunnels cuts the tunnels that are left when the edge has drained, and waits a moment until
// their ends are logged.
func (s *Server) endTunnels() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s.tunnels.Close(ctx)
}

// watch adds the metrics that are read from the components at each scrape.
func (s *Server) watch() {
	m := s.metrics
	m.WatchCache(s.cache.Stats, s.cfg.CacheBytes)
	m.WatchOrigins(s.upstream.Stats)
	m.WatchConns(s.listeners.Stats)
	m.WatchStreams(s.listeners.StreamStats)
	m.WatchTunnels(s.tunnels.Stats)
	m.WatchReports(s.reports)
	m.WatchService(func() observe.ServiceStats {
		return observe.ServiceStats{Ready: s.ready(), Waiting: s.origin.Waiting(), Shed: s.origin.Refused(), LimitClients: s.admission.Windows(),
			TierRequests: s.tiers.Requests.Load(), TokenInUse: s.adminAccess.TokenInUse()}
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

// maxRequestBody returns the maximum length of a request's body. Our own routes need no long ones.
func maxRequestBody(proxyAll bool) int {
	if proxyAll {
		return exchange.MaxForwarded
	}
	return exchange.MaxBody
}
