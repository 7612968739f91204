package fetch

import (
	"log/slog"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/clock"
	"github.com/iconedge/iconedge/edge/dictionaries"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/objects"
	"github.com/iconedge/iconedge/edge/upstream"
	"github.com/iconedge/iconedge/edge/vhosts"
)

// Options has the components of a finder.
type Options struct {
	CacheBytes  int64         // limit of the cache in memory
	WaitTimeout time.Duration // how long a request waits for a collapsed fetch
	Bounds      Bounds        // of forwarded requests
	Clock       clock.Clock   // of ages and freshness lifetimes
	Cache       *cache.Cache
	Library     *library.Library
	Origin      *Fetcher
	Draining    func() bool
	// Dictionaries keeps the responses that clients may use as dictionaries; nil: none.
	Dictionaries *dictionaries.Table
	Log          *slog.Logger
}

// A Finder finds the responses to requests: in the cache, or by requests to the origin.
type Finder struct {
	Options
	doors   *Doorkeeper
	dates   recentDates    // of origins' responses
	Objects *objects.Store // large objects in transfer
}

// NewFinder returns a finder. doors say which responses on our own routes are stored.
func NewFinder(o Options, doors *Doorkeeper) *Finder {
	return &Finder{Options: o, doors: doors, Objects: objects.New(o.Cache.SliceStore())}
}

// Bounds limits forwarded requests.
type Bounds struct {
	MaxBody          int64 // bytes of a request's body; 0: any
	MaxObject        int64 // bytes of a stored body; 0: the default
	Patience         upstream.Patience
	Hold, Hesitation time.Duration // see forwarded.Forwarding
}

// clientFor returns the client of the origin of q.
func (h *Finder) clientFor(q *Request) *upstream.Client {
	if q.Ruled == nil {
		return h.Origin.options.Client
	}
	return q.Ruled.From.Client
}

// Streams reports whether the response to a GET should come from the origin of q each time.
func Streams(h *Finder, q *Request) bool {
	if q.Ruled == nil || !q.Ruled.From.Client.IsLocal() || h.Lookup(q).Entry != nil {
		return false
	}
	u := q.Upstream(nil)
	return q.Ruled.From.Client.Streams(&u)
}

// Send sends a request to the origin of q.
func (h *Finder) Send(q *Request, u upstream.Request) (*upstream.Response, error) {
	a, err := h.Origin.roundTripTo(h.clientFor(q), q.Traced, u)
	if err == nil && q.Ruled != nil {
		vhosts.StripResponse(a.Header, &q.Ruled.Decision)
	}
	return a, err
}
