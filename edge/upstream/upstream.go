// Package upstream is the way from an edge to its origin: one request at a time made afresh, one answer read whole and
// checked, or an error that is itself an answer (502, 504). It follows no redirect, decodes no coding, keeps nothing.
//
// Underneath is net/http's Transport. What it adds: the deadline is for the whole exchange, not for a read; hop-by-hop fields
// stay on their hop; a lost request is sent once more at most; and bytes that nobody asked for never become
// the beginning of the next answer (conn.go).
package upstream

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Config says where the origin is and how long and how much may be waited for. Zero fields take the defaults named.
type Config struct {
	Origin   *url.URL      // http or https; a path in it comes before every target
	Timeout  time.Duration // of a whole exchange, a second try included; 10 s
	Connect  time.Duration // of connecting, TLS included; 3 s
	MaxConns int           // open at a time; later requests wait for one; 256
	MaxBody  int64         // of an answer, in bytes; 64 MiB
	Name     string        // in Via and, where the request has none, User-Agent; iconedge
	TLS      *tls.Config   // for https; nil: the system's roots
	Log      *slog.Logger  // failures, at level debug: their causes are in the errors too
}

// maxHead bounds the header fields of an answer, 1xx ones included, in bytes.
const maxHead = 64 << 10

// A Client asks one origin. It is safe for concurrent use.
type Client struct {
	origin    *url.URL
	timeout   time.Duration
	maxBody   int64
	name      string
	log       *slog.Logger
	transport *http.Transport
	stats     struct{ requests, failures, timeouts, retries, open atomic.Int64 }
}

// Stats are plain counts, for metrics.
type Stats struct {
	Requests, Failures, Timeouts int64 // timeouts are among the failures
	Retries                      int64 // requests that were sent a second time
	Open                         int64 // connections open now
}

// New makes a Client. It connects when first asked.
func New(cfg Config) *Client {
	c := &Client{origin: cfg.Origin, timeout: or(cfg.Timeout, 10*time.Second), maxBody: or(cfg.MaxBody, 64<<20),
		name: or(cfg.Name, "iconedge"), log: or(cfg.Log, slog.New(slog.DiscardHandler))}
	dialer := &net.Dialer{Timeout: or(cfg.Connect, 3*time.Second)}
	secure := &tls.Dialer{NetDialer: dialer, Config: cfg.TLS}
	conns := or(cfg.MaxConns, 256)
	c.transport = &http.Transport{
		DialContext:            c.watch(dialer.DialContext),
		DialTLSContext:         c.watch(within(dialer.Timeout, secure.DialContext)),
		DisableCompression:     true, // what the caller accepts is what is asked for, and kept as it comes
		MaxConnsPerHost:        conns,
		MaxIdleConns:           conns,
		MaxIdleConnsPerHost:    conns,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxHead,
		Protocols:              new(http.Protocols),
	}
	c.transport.Protocols.SetHTTP1(true)
	return c
}

// or is v, or def where v is zero.
func or[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}

// A Request is what is asked of the origin.
type Request struct {
	Method string
	Target string      // path and query, canonical: visible ASCII that begins with one slash
	Header http.Header // hop-by-hop fields, Host, and what tells of the client's address are not passed on
	Body   []byte
}

// An Answer is a whole one. Content-Length stays in Header as the origin sent it, which for a HEAD is the only sign of it.
type Answer struct {
	Status       int // 200 to 599
	Header       http.Header
	Body         []byte
	RequestTime  time.Time // when it was asked for: before the first try
	ResponseTime time.Time // when its header fields had come
}

// Fetch asks the origin. Every error is a *problem.Problem, 504 where time ran out and 502 else, that wraps one of
// ErrTimeout, ErrUnreachable, ErrAnswer, ErrTooLarge or ErrRequest.
func (c *Client) Fetch(ctx context.Context, r Request) (*Answer, error) {
	c.stats.requests.Add(1)
	a, err := c.exchange(ctx, r)
	if err == nil {
		return a, nil
	}
	p := c.problem(err)
	c.log.Debug("asking the origin", "err", p.Err)
	return nil, p
}

func (c *Client) exchange(ctx context.Context, r Request) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := c.request(c.onceMore(ctx), r)
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() // before its end: the connection is not used again
	a := &Answer{Status: resp.StatusCode, Header: resp.Header, RequestTime: asked, ResponseTime: time.Now()}
	if err := checkHead(resp, req); err != nil {
		return nil, err
	}
	if a.Body, err = readBody(resp, c.maxBody); err != nil {
		return nil, err
	}
	dropHopByHop(a.Header)
	return a, nil
}

// request makes the request afresh: nothing of what the client sent but what is named here reaches the origin.
func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	if !safeTarget(r.Target) {
		return nil, ErrRequest
	}
	path, query, has := strings.Cut(r.Target, "?")
	req, err := http.NewRequestWithContext(ctx, r.Method, c.origin.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, ErrRequest
	}
	// Opaque goes out byte for byte; a Path would be decoded and encoded again.
	req.URL = &url.URL{Scheme: c.origin.Scheme, Host: c.origin.Host,
		Opaque: strings.TrimSuffix(c.origin.EscapedPath(), "/") + path, RawQuery: query, ForceQuery: has && query == ""}
	req.Header = requestHeader(r.Header, c.name)
	return req, nil
}

// Stats counts what c has done, and its connections.
func (c *Client) Stats() Stats {
	s := &c.stats
	return Stats{s.requests.Load(), s.failures.Load(), s.timeouts.Load(), s.retries.Load(), s.open.Load()}
}

// Close closes the connections that are idle; requests under way go on.
func (c *Client) Close() { c.transport.CloseIdleConnections() }
