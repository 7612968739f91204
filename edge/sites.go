package edge

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/iconedge/iconedge/config/flags"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/edge/vhosts"
)

// reloading is everything that can be read again while the edge runs.
type reloading struct {
	reload []chan os.Signal // by receiver: reloadLists and the constants after it
	sites  *vhosts.Reloader // of the configuration file; nil: there is none
}

// keepClients is how long the connections to an origin stay when no site uses it any more.
const keepClients = 15 * time.Minute

// makeSites makes the sites of the flags or of the file, and the client of the main origin.
// share returns the window that edges share under a name; nil: they share none.
func (s *Server) makeSites(c upstream.Config, share func(name string, own *ratelimit.Limiter) access.Window) (set *vhosts.Set, err error) {
	if s.cfg.Load == nil {
		s.upstream = upstream.New(c)
		s.life.onEnd(s.upstream.Close)
		site := s.cfg.Forwarding.Site()
		site.Origins = map[string]*vhosts.Upstream{"": {Client: s.upstream, ClientHost: s.cfg.ClientHost()}}
		set = vhosts.Single(site, s.cfg.served())
		set.Limits = s.cfg.Limits
		return set, nil
	}
	c.ID = upstream.NewID()
	s.sites = &vhosts.Reloader{Builder: vhosts.Builder{Life: s.life, Upstream: c, Drain: keepClients, Log: s.cfg.Log,
		Clock: s.cfg.Clock, SignOns: s.metrics.SignOns}, Load: s.cfg.Load, Record: s.metrics.ConfigReloaded}
	if share != nil {
		s.sites.Share = func(name string, own *ratelimit.Limiter) vhosts.Window { return share(name, own) }
	}
	s.life.onEnd(s.sites.Close)
	set, s.upstream, err = s.sites.Start()
	return set, err
}

// runSites checks the origins, and reloads the file on a signal.
func (s *Server) runSites() {
	if s.sites == nil {
		go s.upstream.Run(s.life)
		return
	}
	go s.sites.Run(s.life, s.reload[reloadSites])
}

// connectSites tells the reloader of a file where its sites and their certificates go.
func (s *Server) connectSites() {
	if s.sites == nil {
		return
	}
	s.sites.Use = func(set *vhosts.Set) {
		s.admission.Use(set.Limits)
		s.proxy.Use(set)
	}
	// If the certificates in use are not those of the file, flags have replaced them for good.
	c := s.sites.Certificates()
	if s.listeners.Secured() && slices.Equal(c.Certs, s.cfg.TLSCerts) && slices.Equal(c.ACMEHosts, s.cfg.ACMEHosts) {
		s.sites.Certify = func(c flags.Certificates) error {
			secure := s.cfg.Secure
			secure.TLSCerts, secure.TLSKeys, secure.ACMEHosts = c.Certs, c.Keys, c.ACMEHosts
			return s.listeners.Certify(secure)
		}
	}
}

// connect returns the function that opens a connection to an origin, and closes it.
func (s *Server) connect() func(context.Context) error {
	if s.sites == nil {
		return s.upstream.Connect
	}
	return s.sites.Connect
}

// originStats returns the function that counts requests to all origins.
func (s *Server) originStats() func() upstream.Stats {
	if s.sites == nil {
		return s.upstream.Stats
	}
	return s.sites.Stats
}
