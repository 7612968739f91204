// Package upstream is the way from an edge to its origins: requests made afresh, answers checked and streamed, or an error
// that is itself an answer (502, 504). It follows no redirect, decodes no coding, keeps nothing.
//
// Underneath is net/http's Transport. What it adds: which of several origins is asked (origins.go), whether it is worth
// asking (breaker.go, health.go); deadlines for the header fields, for every read and for the whole exchange; hop-by-hop fields stay on their hop; a request
// that was lost is sent to one or two others at most (way.go); what an edge proves itself by goes to its origins alone; and bytes that nobody asked for never become the beginning of the next answer (conn.go).
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
)

// Config says where the origins are and how long and how much may be waited for. Zero fields take the defaults named.
type Config struct {
	Origins   [][]*url.URL       // groups in order of preference; http or https; a path in one comes before every target
	Connect   time.Duration      // of connecting, TLS included; 3 s
	FirstByte time.Duration      // until an answer's header fields, a second try included; 10 s
	Idle      time.Duration      // of one read of a body, and of each MiB of one that is waited for whole; FirstByte
	Whole     time.Duration      // of an exchange, body included; 15 min
	Check     time.Duration      // between two health checks of an origin, where there are several origins; 2 s
	MaxConns  int                // open at a time to one origin; later requests wait for one; 256
	Name      string             // a token: in Via, CDN-Loop and, where the request has none, User-Agent; iconedge
	TLS       func() *tls.Config // for https, asked for each connection; nil: the system's roots
	Secret    func() string      // by which the edge proves itself to its origins, asked for each request; nil, or empty: it does not
	Log       *slog.Logger       // failures, at level debug: their causes are in the errors too; origins that fail and come back
}

// maxHead bounds the header fields of an answer, 1xx ones included, in bytes.
const maxHead = 64 << 10

// A Client asks the origins. It is safe for concurrent use.
type Client struct {
	origins                       []*origin
	firstByte, idle, whole, check time.Duration
	name, id                      string
	log                           *slog.Logger
	secret                        func() string
	transport                     *http.Transport
	again                         *http.Transport // of second tries: each on a new connection
	stats                         struct{ requests, failures, timeouts, retries, open atomic.Int64 }
}

// New makes a Client. It connects when first asked.
func New(cfg Config) *Client {
	c := &Client{firstByte: or(cfg.FirstByte, 10*time.Second), whole: or(cfg.Whole, 15*time.Minute), check: or(cfg.Check, 2*time.Second),
		name: or(cfg.Name, "iconedge"), id: newID(), log: or(cfg.Log, slog.New(slog.DiscardHandler)), secret: cfg.Secret}
	if c.secret == nil {
		c.secret = func() string { return "" }
	}
	c.idle = or(cfg.Idle, c.firstByte)
	for group, urls := range cfg.Origins {
		for _, u := range urls {
			c.origins = append(c.origins, newOrigin(u, group, c.log))
		}
	}
	if len(c.origins) == 1 {
		c.origins[0].alone = true
	}
	c.transport = c.newTransport(or(cfg.Connect, 3*time.Second), or(cfg.MaxConns, 256), cfg.TLS)
	c.again = c.transport.Clone()
	c.again.DisableKeepAlives = true
	return c
}

// newID is for CDN-Loop: no other process has it, and no client can guess it.
func newID() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func (c *Client) newTransport(connect time.Duration, conns int, config func() *tls.Config) *http.Transport {
	dialer := &net.Dialer{Timeout: connect}
	if config == nil {
		config = func() *tls.Config { return nil }
	}
	secure := func(ctx context.Context, network, address string) (net.Conn, error) {
		d := tls.Dialer{NetDialer: dialer, Config: config()} // the timeout is for its handshake too
		return d.DialContext(ctx, network, address)
	}
	t := &http.Transport{
		DialContext:            c.watch(dialer.DialContext),
		DialTLSContext:         c.watch(secure),
		DisableCompression:     true, // what the caller accepts is what is asked for, and passed on as it comes
		MaxConnsPerHost:        conns,
		MaxIdleConnsPerHost:    conns,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxHead,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	return t
}

// or is v, or def where v is zero.
func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// Stats are plain counts, for metrics.
type Stats struct {
	Requests, Failures, Timeouts int64 // timeouts are among the failures
	Retries                      int64 // requests that were tried a second time
	Open                         int64 // connections open now
	Origins                      []OriginStats
}

// OriginStats are of one origin, in the order of Config.
type OriginStats struct {
	URL      string
	Well     bool  // its checks succeed and its breaker is closed
	Failures int64 // tries that it failed: no connection, lost, too late
	Opened   int64 // times that its breaker opened
}

// Stats counts what c has done, and its connections.
func (c *Client) Stats() Stats {
	s := &c.stats
	all := Stats{s.requests.Load(), s.failures.Load(), s.timeouts.Load(), s.retries.Load(), s.open.Load(), nil}
	for _, o := range c.origins {
		all.Origins = append(all.Origins, o.stats())
	}
	return all
}

// Close closes the connections that are idle; requests under way go on.
func (c *Client) Close() { c.transport.CloseIdleConnections() }
