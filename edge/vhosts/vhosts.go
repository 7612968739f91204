// Package vhosts holds the sites of an edge, each with its hosts, its rules and its origins, and
// finds the site of a request. Flags make one site, a configuration file makes several. A Builder
// makes a Set of a file; when the file has changed it makes another one, which shares the clients
// of unchanged origins and the state of unchanged limits.
package vhosts

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/iconedge/iconedge/config"
	"github.com/iconedge/iconedge/config/rules"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/sites"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/hostport"
)

// A Site is a virtual host.
type Site struct {
	*sites.Site
	Name     string
	ProxyAll bool        // paths that are none of the edge's own are forwarded
	Rules    *rules.Site // nil: none
	// Client limits all requests of a client to the site, Forwarded those that the edge forwards.
	// With flags alone Admission limits the latter.
	Client, Forwarded Limit
	// Origins are the upstreams by name. Without rules there is one, of the empty name.
	Origins map[string]*Upstream
}

// Plain reports whether the settings of the site alone decide about the paths that Spares names.
func (s *Site) Plain() bool { return s.Client.Own == nil && (s.Rules == nil || s.Rules.Plain()) }

// Spares reports whether no rule of a plain site can match the path of a target.
func (s *Site) Spares(target string) bool { return s.Rules == nil || s.Rules.Spares(target) }

// ResponseEdits returns the edits of responses by the site itself.
func (s *Site) ResponseEdits() []*config.Edits {
	if s.Rules == nil {
		return nil
	}
	return s.Rules.ResponseEdits()
}

// ClientHost reports whether the origin of a site without rules gets the client's Host.
func (s *Site) ClientHost() bool { return s.Origins[""] != nil && s.Origins[""].ClientHost }

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
	if s.Site.Icons {
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
