package proxy

import (
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fasthttp/router"

	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/clock"
	"github.com/iconedge/iconedge/edge/compress"
	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/forwarded"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/hit"
	"github.com/iconedge/iconedge/edge/iconset"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/objects"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/own"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/tunnel"
	"github.com/iconedge/iconedge/edge/vhosts"
)

// Options configures a handler. All components are required; Redirect may be empty.
type Options struct {
	Sites       *vhosts.Set     // decide about requests, by their hosts
	CacheBytes  int64           // limit of the cache in memory
	Ports       map[string]bool // of the public listeners, and the default ports of HTTP
	WaitTimeout time.Duration   // how long a request waits for a collapsed fetch
	Bounds      fetch.Bounds    // of forwarded requests
	Node        string          // the name of this edge in Proxy-Status; empty: iconedge
	Redirect    string          // format of the https URL to redirect to; empty: no redirect
	// AltSvc returns the value of Alt-Svc for a client (RFC 7838); empty: none.
	AltSvc func(client netip.Addr) string

	// Purge purges an address for a client with these Authorization lines; nil: the public listener
	// takes no PURGE.
	Purge func(authorization []string, address string) (entries int, err error)

	// Clock measures ages, freshness lifetimes and the windows of limits.
	Clock     clock.Clock
	Clients   access.Clients
	Admission *access.Admission
	Tiers     *access.Credentials
	Cache     *cache.Cache
	OnDisk    bool // the cache may have entries of an earlier process
	Library   *library.Library
	Origin    *fetch.Fetcher
	// Group invalidates the responses of a URI origin in cache groups.
	Group   func(origin string, names []string, hard bool)
	Metrics *observe.Metrics
	Reports observe.Reports
	Tunnels *tunnel.Set
	Log     *slog.Logger
}

// A Proxy answers every request of the public listeners.
type Proxy struct {
	Options Options

	hits    *hit.Path
	current atomic.Pointer[current]

	Finder       *fetch.Finder // shared by all that answer
	writer       *pipeline.Writer
	own          *own.Answerer
	misses       *own.Misses
	iconSet      *iconset.Answerer
	forwarded    *forwarded.Answerer
	compressor   *compress.Compressor // of stored responses
	dictionaries *dictionaries.Table

	loopLogged sync.Once    // a request loop
	stopLogged atomic.Int64 // the second in which stopped rules were logged last
}

// current is the sites in use.
type current struct {
	*vhosts.Set
	table *router.Router // of the edge's own paths
}

// Answer answers a hit over HTTP/1.1; see h1.Answerer.
func (h *Proxy) Answer(dst []byte, q *request.Request) ([]byte, bool) { return h.hits.Answer(dst, q) }

// AnswerH2 answers a hit over HTTP/2; see h2.Answerer.
func (h *Proxy) AnswerH2(dst []byte, q *request.Request, known *h2.ClientTable) (out []byte, block int, ok bool) {
	return h.hits.AnswerH2(dst, q, known)
}

// AnswerH3 answers a hit over HTTP/3; see h3.Answerer.
func (h *Proxy) AnswerH3(dst []byte, q *request.Request) (out []byte, ok bool) {
	return h.hits.AnswerH3(dst, q)
}

// Fetch begins to fetch an icon over HTTP/1.1; see h1.Fetcher.
func (h *Proxy) Fetch(q *request.Request, client interface{ ClientGone() bool }, ready func(func([]byte) []byte, any)) request.Pending {
	return h.misses.Fetch(q, client, ready)
}

// Sites returns the sites in use.
func (h *Proxy) Sites() *vhosts.Set { return h.current.Load().Set }

// Drain makes every response from now on the last one of its connection.
func (h *Proxy) Drain() { h.hits.Drain() }

// Compression returns the counts of the content codings made of stored responses.
func (h *Proxy) Compression() compress.Stats { return h.compressor.Stats() }

// Dictionaries returns the counts of the dictionaries that clients may have.
func (h *Proxy) Dictionaries() dictionaries.Stats { return h.dictionaries.Stats() }

// Draining reports whether Drain was called.
func (h *Proxy) Draining() bool { return h.hits.Draining() }

// Objects returns the counts of large objects.
func (h *Proxy) Objects() objects.Stats { return h.Finder.Objects.Stats() }
