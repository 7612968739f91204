package hit

import (
	"net/netip"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/clock"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/pieces"
	"github.com/iconedge/iconedge/edge/represent"
	"github.com/iconedge/iconedge/edge/respond"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/hostport"
)

// Options has the components of a Path.
type Options struct {
	Node      string // the name of this edge in Proxy-Status; empty: iconedge
	Redirects bool   // requests without TLS are redirected
	// AltSvc returns the value of Alt-Svc for a client (RFC 7838); empty: none.
	AltSvc func(client netip.Addr) string

	// Clock measures ages, freshness lifetimes and the windows of limits.
	Clock      clock.Clock
	Clients    access.Clients
	Admission  *access.Admission
	Cache      *cache.Cache
	Library    *library.Library
	Origin     *upstream.Client // knows the requests that have passed this edge before
	Compressor *compress.Compressor
	// Dictionaries has the differences to stored responses; nil: none.
	Dictionaries *dictionaries.Table
	Pieces       *pieces.Table
	Doors        Doors
	Metrics      *observe.Metrics
	Reports      observe.Reports
}

// Doors remember the targets that were requested once.
type Doors interface {
	// Knows reports whether a target was requested before, and returns its hash for Record.
	Knows(target []byte) (sum uint64, known bool)
	Record(sum uint64)
}

// A Path is the hit path of an edge. It is safe for concurrent use.
type Path struct {
	Options
	current  atomic.Pointer[plan]
	draining atomic.Bool // the edge ends: the next response of a connection is its last

	targets    parsedTargets
	codings    represent.Codings
	normalised normalised
	encodings  normalised // of Accept-Encoding, as origins get it
	blocks     respond.Blocks
	sections   respond.Sections
	dates      respond.Dates // of the responses that the edge makes itself
}

// New returns a hit path that answers nothing before Use is called.
func New(o Options) *Path {
	p := &Path{Options: o}
	p.current.Store(&plan{})
	return p
}

// A plan is what the settings in use say about hits. It never changes, but for the hosts that it
// remembers.
type plan struct {
	set   *vhosts.Set
	sites map[*vhosts.Site]*site
	hosts hosts
}

// A site is a site of the plan.
type site struct {
	*vhosts.Site
	hits    observe.SiteHits
	queries *cache.QuerySite
}

// Use makes the sites of set those of all requests from now on.
func (p *Path) Use(set *vhosts.Set) {
	next := &plan{set: set, sites: map[*vhosts.Site]*site{}}
	for _, s := range set.All() {
		next.sites[s] = &site{Site: s, queries: p.Cache.Queries.Site(s.Name)}
		if s.Name != "" {
			next.sites[s].hits = p.Metrics.SiteHits(s.Name)
		}
	}
	p.current.Store(next)
}

// RememberHost records that requests with a Host, which is valid, are for a site of set. port says
// whether the edge forwards requests with its port.
func (p *Path) RememberHost(set *vhosts.Set, text []byte, of *vhosts.Site, mounted, port bool) {
	current := p.current.Load()
	s := current.sites[of]
	if current.set != set || s == nil {
		return
	}
	if known := current.hosts.of(text); known != nil && known.site == s && known.mounted == mounted && known.port == port {
		return
	}
	h := host{text: string(text), site: s, mounted: mounted, port: port}
	h.names = [2]string{hostport.CanonicalHost(h.text, "http"), hostport.CanonicalHost(h.text, "https")}
	h.bare, _ = hostport.SplitHost(h.names[0])
	current.hosts.add(h)
}

// KnowsIcons reports whether requests with a Host are for the icons of an edge without a file of
// sites.
func (p *Path) KnowsIcons(text []byte) bool {
	h := p.current.Load().hosts.of(text)
	return h != nil && h.site.Icons && h.site.Name == "" && !h.mounted
}

// Drain makes the pipeline answer all requests from now on, which closes their connections.
func (p *Path) Drain() { p.draining.Store(true) }

// Draining reports whether Drain was called.
func (p *Path) Draining() bool { return p.draining.Load() }

// RememberTarget stores the parsed form of a target with a query.
func (p *Path) RememberTarget(raw []byte, key string, color icon.Color, route routes.Route) {
	p.targets.remember(raw, key, color, route)
}
