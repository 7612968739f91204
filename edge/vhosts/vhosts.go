// Package vhosts holds the sites of an edge, each with its hosts, its rules and its origins, and
// finds the site of a request. Flags make one site, a configuration file makes several. Settings
// are what an operator sets about a site in either way, and Settings.Site makes the Site that the
// pipeline reads: which paths are the edge's own, how long responses are fresh or may be served
// stale, what the cache key leaves out, and which requests bypass the cache.
//
// A Builder makes a Set of a file; when the file has changed it makes another one, which shares the
// clients of unchanged origins and the state of unchanged limits.
package vhosts

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/internal/hostport"
)

// A Limit counts requests of a site. If it is off, Own is nil.
type Limit struct {
	Own    *ratelimit.Limiter
	Window Window // Own, or a window that edges share
}

// A Window counts requests: in this edge's memory, or in the memory that edges share.
type Window interface {
	Allow(client netip.Addr, now time.Time) ratelimit.Decision
}

// An Upstream is an origin of a site.
type Upstream struct {
	Client     *upstream.Client
	ClientHost bool          // requests carry the client's Host
	FirstByte  time.Duration // until a response begins; 0: as for every forwarded path
}

// A Set has all sites of an edge. It never changes.
type Set struct {
	Icons  *Site         // the site with the edge's own paths; nil: none
	Limits access.Limits // of the edge's own paths
	table  *rules.Table
	by     map[*rules.Site]*Site
	one    *Site               // of flags; nil: the sites are those of table
	hosts  map[string][]string // names of one, with the ports listed for each; none: any
	none   *Site               // for requests whose host has no site
	hash   string
	text   []byte
}

// Single returns the Set of one site, which answers for hosts, NAME or NAME:PORT, or if there are
// none, for any.
func Single(s *Site, hosts []string) *Set {
	set := &Set{one: s, hosts: map[string][]string{}}
	for _, host := range hosts {
		name, port := hostport.SplitHost(hostport.CanonicalHost(host, ""))
		set.hosts[name] = append(set.hosts[name], port)
	}
	if s.Icons {
		set.Icons = s
	}
	return set
}

// Find returns the site of a host, which has no port. If it is not ok, the edge does not answer for
// the host, and the site is one without any paths.
func (s *Set) Find(host string) (site *Site, ok bool) {
	if s.one != nil {
		_, known := s.hosts[strings.ToLower(host)]
		return s.one, known || len(s.hosts) == 0
	}
	if r := s.table.Find(host); r != nil {
		return s.by[r], true
	}
	return s.none, false
}

// TakesPort reports whether the operator lets requests for a host have a port: the port is listed
// with the host, or the host is served because every host is. Both are in canonical form.
func (s *Set) TakesPort(host, port string) bool {
	if s.one != nil {
		return len(s.hosts) == 0 || slices.Contains(s.hosts[host], port)
	}
	return s.table.TakesPort(host, port)
}

// Only returns the one site of flags; nil: the sites are those of a file.
func (s *Set) Only() *Site { return s.one }

// All returns every site.
func (s *Set) All() (all []*Site) {
	if s.one != nil {
		return []*Site{s.one}
	}
	for _, r := range s.table.Sites {
		all = append(all, s.by[r])
	}
	return all
}

// Names returns the names of the sites of a file.
func (s *Set) Names() (names []string) {
	if s.table != nil {
		for _, r := range s.table.Sites {
			names = append(names, r.Name)
		}
	}
	return names
}

// SHA256 returns the hash of the file; empty: there is none.
func (s *Set) SHA256() string { return s.hash }

// Text returns the file without secrets.
func (s *Set) Text() []byte { return s.text }

// CacheTargets returns the targets by which responses to a target are stored, as far as the target
// alone decides, and the name of the site of the host; empty: there is none. The host has no port;
// an empty one stands for every site.
func (s *Set) CacheTargets(host, target string) (all []string, site string) {
	if s.one != nil {
		return []string{s.one.Key(target)}, ""
	}
	all = []string{target}
	for _, r := range s.table.Sites {
		if host != "" && s.table.Find(host) != r {
			continue
		}
		q := rules.Request{Method: http.MethodGet, Host: strings.ToLower(host), Target: target, Header: http.Header{}, Unanswered: true}
		d := r.Decide(&q)
		if key := r.CacheTarget(&d, &q); !slices.Contains(all, key) {
			all = append(all, key)
		}
		if host != "" {
			site = r.Name
		}
	}
	return all, site
}
