package upstream

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/upstream/balance"
	"github.com/iconedge/iconedge/edge/upstream/names"
	"github.com/iconedge/iconedge/edge/upstream/wire"
)

const defaultConns = 256

// Config configures a Client. Zero fields take the defaults named.
type Config struct {
	Origins   [][]*url.URL       // groups in order of preference; a URL may have a path
	Connect   time.Duration      // for connecting, including TLS; 3 s
	FirstByte time.Duration      // until a response's header fields, over all tries; 10 s
	Idle      time.Duration      // for one read of a body, and for each MiB in Whole; FirstByte
	Whole     time.Duration      // for an exchange, including the body; 15 min
	Check     time.Duration      // between two health checks of an origin; 2 s
	MaxConns  int                // exchanges with one origin at a time (slots.go); 256
	Name      string             // a token for Via, CDN-Loop and User-Agent; iconedge
	TLS       func() *tls.Config // called for each connection; nil: the system's roots
	Secret    func() string      // the tier secret for each request; nil or "": none is sent
	Log       *slog.Logger       // failures at level debug, and changes of the origins' health
	Host      string             // Host of requests that name none; empty: the origin's own
	SNI       string             // name that https origins are verified for; empty: that of Host

	// Policy is the name of the policy in the table of balance that chooses among the healthy
	// origins of a group; empty: the default one. Weights has one number for each of the first
	// group, nil: all are equal.
	Policy  string
	Weights []int
	// Health is the path of health checks, which only a status below 400 passes, also with one
	// origin. Empty: any status below 500 at /healthz, if there are several.
	Health string
	// Bounded makes MaxConns count every exchange to its end, and a request that waits for its turn
	// in vain is answered with 503.
	Bounded bool
	ID      string // of the edge in CDN-Loop, if several Clients share it; empty: a new one

	// Ours is a header field that only origins of our own send; their responses may have a Known.
	// Empty: none does.
	Ours string

	// Lookup looks the names of origins up; zero: the system's resolver.
	Lookup names.Resolver
	// Resolve makes each address of a name an origin of its own, which has its own health, and
	// which the policy chooses. A URL with the scheme srv+http or srv+https always is so.
	Resolve bool
	// Local answers the requests; nil: Origins do.
	Local Local
}

// A Local answers requests in the place of servers, as a folder does with its files. It is safe for
// concurrent use.
type Local interface {
	// Serve returns the response to a request. An error wraps ErrUnreachable.
	Serve(r *Request) (*Response, error)
	// Streams reports whether the body of the response to a GET is long and costs nothing to get
	// again, so that no cache should store it.
	Streams(r *Request) bool
	// Check returns an error if Serve would return one for every request now.
	Check() error
	// String returns its name, for metrics and logs.
	String() string
}

// Patience is how long a request waits for its origin.
type Patience struct {
	FirstByte time.Duration // until a response's header fields, over all tries
	Idle      time.Duration // for one read of a body
	Whole     time.Duration // for an exchange, including the body; 0: without limit
}

// patience returns that of a request.
func (c *Client) patience(r Request) Patience {
	if r.Patience != nil {
		return *r.Patience
	}
	return Patience{c.firstByte, c.idle, c.whole}
}

// maxHead limits the header fields of a response, including 1xx responses, in bytes.
const maxHead = 64 << 10

// idleTimeout is the time after which idle connections are closed. unsafeIdleTimeout is that of the
// connections for requests that may not be repeated. A request that meets the origin's end of an
// idle connection is lost, and only a safe one is sent again. Applications in Node close them after
// five seconds, many in Python after two.
const (
	idleTimeout       = 30 * time.Second
	unsafeIdleTimeout = 1500 * time.Millisecond
)

// A Client sends requests to the origins. It is safe for concurrent use.
type Client struct {
	set                           originSet
	lookup                        names.Resolver
	local                         Local // nil: origins answer
	host, sni                     string
	firstByte, idle, whole, check time.Duration
	identity
	log            *slog.Logger
	secret         func() string
	transport      *http.Transport
	retryTransport *http.Transport // for retries, each on a new connection
	// unsafeTransport is for requests that may not be repeated. It keeps idle connections for a
	// shorter time.
	unsafeTransport *http.Transport
	http2           *http.Transport // for origins that speak HTTP/2
	tunnels         extendedConnect // for upgrades of those
	leanExchanges
	choosing
	stats struct{ requests, failures, timeouts, broken, retries, open atomic.Int64 }
}

// leanExchanges has what lean exchanges need (lean.go).
type leanExchanges struct {
	dial        dial
	ours        string // Config.Ours
	leans       leaning
	quickFields atomic.Pointer[quickFields]
	known       wire.KnownHeads
}

// identity is the name and the ID of the edge.
type identity struct{ name, id string }

// choosing holds how a Client chooses among its origins; see Config.
type choosing struct {
	policy  balance.Policy
	health  string
	bounded bool
}

// New returns a Client. It connects with the first request.
func New(cfg Config) *Client {
	c := &Client{firstByte: or(cfg.FirstByte, 10*time.Second), whole: or(cfg.Whole, 15*time.Minute), check: or(cfg.Check, 2*time.Second),
		identity: identity{or(cfg.Name, "iconedge"), or(cfg.ID, NewID())},
		choosing: choosing{policyOf(cfg.Policy), cfg.Health, cfg.Bounded},
		log:      or(cfg.Log, slog.New(slog.DiscardHandler)), secret: cfg.Secret,
		host: cfg.Host, sni: cfg.SNI,
		leanExchanges: leanExchanges{dial: (&net.Dialer{Timeout: or(cfg.Connect, 3*time.Second)}).DialContext, ours: cfg.Ours}}
	if c.lookup = cfg.Lookup; c.lookup.Addresses == nil {
		c.lookup = names.System()
	}
	c.set.conns, c.set.log, c.set.check, c.set.ready = or(cfg.MaxConns, defaultConns), c.log, c.checkLoop, make(chan struct{})
	if cfg.Health != "" {
		c.set.needs = failedChecks
	}
	if c.secret == nil {
		c.secret = func() string { return "" }
	}
	c.idle, c.local = or(cfg.Idle, c.firstByte), cfg.Local
	for group, urls := range cfg.Origins {
		for _, u := range urls {
			weight := 1
			if at := len(c.set.places); at < len(cfg.Weights) {
				weight = cfg.Weights[at]
			}
			c.set.addPlace(newPlace(u, group, weight, cfg.Resolve))
		}
	}
	c.set.publish()
	if cfg.TLS == nil {
		cfg.TLS = func() *tls.Config { return nil }
	}
	c.transport = c.newTransport(or(cfg.Connect, 3*time.Second), or(cfg.MaxConns, defaultConns), cfg.TLS)
	c.retryTransport = c.transport.Clone()
	c.retryTransport.DisableKeepAlives = true
	c.unsafeTransport = c.transport.Clone()
	c.unsafeTransport.IdleConnTimeout = unsafeIdleTimeout
	c.tunnels = c.newTunnels()
	c.http2 = c.newHTTP2(or(cfg.Connect, 3*time.Second), cfg.TLS)
	return c
}

// policyOf makes the policy of a name. The check of a file has refused unknown ones.
func policyOf(name string) balance.Policy {
	row, ok := balance.Find(name)
	if !ok {
		row, _ = balance.Find(balance.Default)
	}
	return row.New()
}

// NewID returns an ID for CDN-Loop that is unique to this process and that no client can guess.
func NewID() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func (c *Client) newTransport(connect time.Duration, conns int, config func() *tls.Config) *http.Transport {
	dialer := &net.Dialer{Timeout: connect}
	t := &http.Transport{
		DialContext:         c.wrapDial(dialer.DialContext),
		DialTLSContext:      c.wrapDial(dialTLS(dialer, config)),
		DisableCompression:  true, // the caller decides about content codings
		MaxIdleConnsPerHost: conns,
		// Clients may choose TLS names.
		MaxIdleConns:           conns * max(1, 16*int(c.set.pending.Load()), len(c.set.all())),
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHead,
		ExpectContinueTimeout:  uploadContinueTimeout,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	return t
}

// Connect opens a connection to the first origin that accepts one, and closes it. The error is that
// of the last origin. It makes no TLS handshake, because the name for that is known only with a
// client's request.
func (c *Client) Connect(ctx context.Context) (err error) {
	if c.local != nil {
		return c.local.Check()
	}
	err = c.set.await(ctx, c.firstByte)
	for _, o := range c.set.all() {
		var conn net.Conn
		if conn, err = c.transport.DialContext(c.direct(ctx, o, Request{}), "", ""); err == nil {
			return conn.Close()
		}
	}
	return err
}

// or returns v, or def if v is zero.
func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// Stats holds counts for metrics.
type Stats struct {
	Requests, Failures, Timeouts int64 // Failures include Timeouts and Broken
	Broken                       int64 // bodies that ended early
	Retries                      int64 // tries after the first
	Open                         int64 // connections open now
	Origins                      []OriginStats
}

// OriginStats holds counts of one origin, in the order of Config.
type OriginStats struct {
	URL      string
	Healthy  bool  // its health checks succeed and its breaker is closed
	Failures int64 // failed tries: no connection, lost, too late
	Opened   int64 // times that its breaker opened
}

// Stats returns the counts since New, and the number of open connections.
func (c *Client) Stats() Stats {
	s := &c.stats
	all := Stats{s.requests.Load(), s.failures.Load(), s.timeouts.Load(), s.broken.Load(), s.retries.Load(), s.open.Load(), nil}
	for _, o := range c.set.all() {
		all.Origins = append(all.Origins, o.stats())
	}
	if c.local != nil {
		all.Origins = append(all.Origins, OriginStats{URL: c.local.String(), Healthy: c.local.Check() == nil, Failures: all.Failures})
	}
	return all
}

// Close closes idle connections. Requests under way continue.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.unsafeTransport.CloseIdleConnections()
	c.http2.CloseIdleConnections()
	c.tunnels.close()
	for _, o := range c.set.all() {
		o.idle.Close()
	}
}
