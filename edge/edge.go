package edge

import (
	"fmt"
	"time"

	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/proxy"
	"github.com/iconedge/iconedge/edge/purge"
	"github.com/iconedge/iconedge/edge/tunnel"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/files"
)

// A Server is an edge. Its components are listed in the order of their construction, and each is
// given the ones that it needs.
type Server struct {
	cfg  Config
	life *lifecycle // ends when the edge has drained
	reloading
	warm bool // the cache was restored from disk

	sockets   *listen.Sockets      // of the public listeners
	admin     *adminListener       // health, readiness, metrics and purges
	cache     *cache.Cache         // the stored responses
	tiers     *access.Credentials  // how edges and origins authenticate to each other
	metrics   *observe.Metrics     // counts what happens
	upstream  *upstream.Client     // sends requests to the origins
	peers     *purge.Peers         // the other edges; nil: none
	reports   observe.Reports      // the access log and traces
	state     *library.OriginState // whether an origin has answered, and has a release
	origin    *fetch.Fetcher       // fetches for the pipeline, bounded and recorded
	library   *library.Library     // the release of the origin, and its names
	purges    *purge.Purger        // removes stored responses
	admission *access.Admission    // decides which requests may proceed
	proxy     *proxy.Proxy         // answers requests from the cache or the origin
	memory    *bodies.Budget       // bounds the memory that clients take
	listeners *listen.Server       // serves connections
}

// New builds an edge. It opens the sockets and the files that cfg names, so that its error names
// one that can't be used. The edge serves nothing before Run.
func New(cfg Config) (*Server, error) {
	s := &Server{cfg: cfg.filled(), life: newLifecycle()}
	if err := s.build(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// build builds the components, from the origin to the client.
func (s *Server) build() (err error) {
	cfg, log := s.cfg, s.cfg.Log
	lists, err := s.open()
	if err != nil {
		return err
	}
	shared, err := s.openFleet()
	if err != nil {
		return err
	}
	own, forwarded := cfg.originTimeouts()
	set, err := s.makeSites(upstream.Config{
		Origins: cfg.Origins, Connect: cfg.ConnectTimeout, FirstByte: own, MaxConns: cfg.OriginConns, Check: cfg.OriginCheck,
		TLS: s.tiers.ToOrigins, Secret: s.tiers.Secrets.Sent, Log: log,
		Host: cfg.HostName(), SNI: cfg.OriginSNI, Ours: icon.FieldRelease,
	}, windows(shared))
	if err != nil {
		return err
	}
	s.peers = purge.NewPeers(shared, log)
	s.life.onEnd(s.peers.Close)
	if s.reports, err = cfg.Reporting.Open(s.reload[reloadAccessLog], cfg.Version, log, cfg.Clients().OfEligible); err != nil {
		return err
	}
	s.life.onEnd(s.reports.Close)

	s.state = &library.OriginState{}
	s.origin = fetch.NewFetcher(fetch.FetcherOptions{
		Life: s.life, Client: s.upstream, MaxWaiting: cfg.MaxWaiting, Metrics: s.metrics, Tracer: s.reports.Tracer,
		IDs: s.reports.IDs, State: s.state, Clock: cfg.Clock,
	})
	s.library = library.New(library.Options{
		Cache: s.cache, CacheBytes: cfg.CacheBytes, State: s.state, ProxyAll: cfg.ProxyAll, NoIcons: set.Icons == nil, Connect: s.connect(),
		Fetch: s.origin.FetchUntraced, Do: s.upstream.Do, Announce: s.peers.AnnounceRelease, Observer: s.metrics, Log: log,
	})
	s.purges = purge.New(s.cache, s.library.Negative, s.forwardedTarget(), cfg.Clock)

	wait := own + time.Second
	rules := cfg.Rules
	rules.Limits = set.Limits // without those of flags that each site of a file counts by itself
	s.admission = access.NewAdmission(access.Options{
		Rules: rules, Lists: lists, Share: windows(shared), CheckToken: s.checkToken, TokenTimeout: wait,
		Observer: s.metrics, Clock: cfg.Clock,
	})
	s.proxy = proxy.New(proxy.Options{
		Node: cfg.Node, Sites: set, Ports: s.sockets.Ports(), Purge: s.purgeMethod(),
		CacheBytes: cfg.CacheBytes, WaitTimeout: wait, Bounds: cfg.Forwarding.Bounds(forwarded),
		Redirect: cfg.Secure.Redirect(s.sockets), AltSvc: s.sockets.Offer.AltSvc,
		Clock: cfg.Clock, Clients: cfg.Clients(), Admission: s.admission, Tiers: s.tiers, Cache: s.cache, OnDisk: cfg.CacheDir != "",
		Library: s.library, Origin: s.origin, Group: purge.NewGroups(s.purges, s.peers).Invalidate,
		Metrics: s.metrics, Reports: s.reports, Tunnels: tunnel.NewSet(cfg.Tunnels), Log: log,
	})
	s.memory = cfg.Memory()
	s.life.onEnd(s.endTunnels)
	if s.listeners, err = listen.New(s.listening(), s.sockets, s.proxy); err != nil {
		return err
	}
	s.life.onEnd(func() { s.listeners.Close() })
	s.connectSites()
	s.watch()
	return nil
}

// open opens the sockets, the cache and the files of an edge.
func (s *Server) open() (lists *access.Lists, err error) {
	cfg := &s.cfg
	if s.sockets, err = cfg.Secure.Open(s.life, &cfg.Addresses); err != nil {
		return nil, err
	}
	s.life.onEnd(func() { s.sockets.Close() })
	if s.admin, err = openAdmin(s.life, cfg.AdminListen, cfg.AdminListener); err != nil {
		return nil, err
	}
	s.life.onEnd(func() { s.admin.Close() })
	if s.cache, err = cfg.Caching.open(cfg.Log); err != nil {
		return nil, err
	}
	s.life.onEnd(s.cache.Close)
	s.warm = s.cache.Stats().DiskEntries > 0
	if s.tiers, err = cfg.Tiers.Open(time.Now()); err != nil {
		return nil, err
	}
	if s.admin.access, err = cfg.Admin.Open(); err != nil {
		return nil, err
	}
	s.metrics = observe.NewMetrics(cfg.Version)
	if lists, err = cfg.OpenLists(cfg.Log, s.metrics); err != nil {
		return nil, fmt.Errorf("reading the address lists: %w", err)
	}
	s.reload = files.Spread(s.life, cfg.Reload, reloads)
	return lists, nil
}
