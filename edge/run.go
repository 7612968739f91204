package edge

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/fleet"
	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/ratelimit"
)

// The receivers of the signal that reloads files.
const (
	reloadLists = iota
	reloadCertificates
	reloadTiers
	reloadAccessLog
	reloadAdmin
	reloadSites
	reloadFleet
	reloads
)

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
	s.runSites()
	go s.library.Run(s.life)
	go s.admission.Sweep(s.life)
	go s.admission.Lists.Run(s.life, s.reload[reloadLists])
	go s.listeners.Reload(s.life, s.reload[reloadCertificates])
	go s.tiers.Run(s.life, s.reload[reloadTiers], log)
	go s.admin.access.Run(s.life, s.reload[reloadAdmin], log)

	broken := make(chan error, 4)
	adminServer := newAdmin(s, s.admin.access, s.purges.Handler(s.admin.access, s.peers, log))
	go func() { broken <- adminServer.Serve(s.admin) }()
	defer adminServer.Close()
	s.listeners.Serve(broken)
	s.admin.announce(log)
	select {
	case err := <-broken:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	s.leave()
	s.proxy.Drain()
	s.listeners.Drain(s.cfg.Drain)
	return nil
}

// Close ends everything at once.
func (s *Server) Close() { s.life.end() }

// A lifecycle is a context that ends when end is called.
type lifecycle struct {
	context.Context
	enders  []func()    // in the order of construction
	leaving atomic.Bool // the edge has received the signal to stop
}

func newLifecycle() *lifecycle {
	ctx, end := context.WithCancel(context.Background())
	return &lifecycle{Context: ctx, enders: []func(){end}}
}

// onEnd adds a function that end calls, before those that were added earlier.
func (l *lifecycle) onEnd(f func()) { l.enders = append(l.enders, f) }

// end ends the lifecycle. The context ends last.
func (l *lifecycle) end() {
	for _, f := range slices.Backward(l.enders) {
		f()
	}
	l.enders = nil
}

// ready reports whether the edge can answer requests. A warm edge can serve some icons without an
// origin, and may need to.
func (s *Server) ready() bool { return (s.warm || s.state.Reached()) && !s.life.leaving.Load() }

// checkToken asks the origin for its verdict on a licence token.
func (s *Server) checkToken(token string) (plan string, valid bool, err error) {
	return s.origin.CheckToken(token, s.library.MayGetSecret(true))
}

// forwards reports whether the edge may have to forward requests: with a file, a reload may bring a
// site that does.
func (s *Server) forwards() bool { return s.cfg.ProxyAll || s.cfg.Load != nil }

// forwardedTarget returns the function that gives the targets by which a forwarded response may be
// stored, and its site; nil, if the edge forwards nothing.
func (s *Server) forwardedTarget() func(host, target string) (targets []string, site string) {
	if !s.forwards() {
		return nil
	}
	return func(host, target string) ([]string, string) { return s.proxy.Sites().CacheTargets(host, target) }
}

// purgeMethod returns the function that answers PURGE; nil, if the edge does not take it.
func (s *Server) purgeMethod() func(authorization []string, address string) (int, error) {
	if !s.cfg.PurgeMethod {
		return nil
	}
	return s.purges.Method(s.admin.access, s.peers, s.cfg.Log)
}

// listening returns the options of the listeners.
func (s *Server) listening() listen.Options {
	return listen.Options{Capacity: s.cfg.Capacity, Memory: s.memory, Secure: s.cfg.Secure, MaxBody: exchange.MaxBody,
		Uploads: s.forwards(), Tunnels: s.forwards(), Clients: s.cfg.Clients(),
		AskCertificate: s.tiers.Ask, Now: s.cfg.Clock.Now, Observer: s.metrics, Log: s.cfg.Log, Life: s.life}
}

// watch adds the metrics that are read from the components at each scrape.
func (s *Server) watch() {
	m := s.metrics
	m.WatchCache(s.cache.Stats, s.cfg.CacheBytes)
	m.WatchOrigins(s.originStats())
	m.WatchConns(s.listeners.Stats)
	m.WatchStreams(s.listeners.StreamStats)
	m.WatchTunnels(s.proxy.Options.Tunnels.Stats)
	m.WatchObjects(s.proxy.Objects)
	m.WatchCompression(s.proxy.Compression)
	observe.WatchDictionaries(m, s.proxy.Dictionaries)
	m.WatchReports(s.reports)
	m.WatchService(func() observe.ServiceStats {
		return observe.ServiceStats{Ready: s.ready(), Waiting: s.origin.Waiting(), Shed: s.origin.Refused(),
			LimitClients: s.admission.Windows(),
			TierRequests: s.tiers.Requests.Load(), TokenInUse: s.admin.access.TokenInUse(), Passwords: s.admission.PasswordStats()}
	})
}

// openFleet connects to Redis, if the operator has configured it; otherwise it returns nil.
func (s *Server) openFleet() (*fleet.Fleet, error) {
	if s.cfg.Redis == "" {
		return nil, nil
	}
	f, err := s.cfg.Sharing.Connect(s.life, s.reload[reloadFleet], s.cfg.Log, s.metrics.RedisChecks())
	if err == nil {
		s.metrics.WatchFleet(f.Stats)
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

// endTunnels cuts the tunnels that are left when the edge has drained, and waits a moment until
// their ends are logged.
func (s *Server) endTunnels() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s.proxy.Options.Tunnels.Close(ctx)
}
