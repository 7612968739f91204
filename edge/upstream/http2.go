package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/iconedge/iconedge/tier"
)

// An origin may speak HTTP/2 (RFC 9113): over TLS (h2), or without it, by prior knowledge (h2c).
// net/http's Transport multiplexes the requests on few connections. Such an origin gets no
// upgrades.

// pingAfter is the silence after which the edge asks an origin whether it still lives, because
// requests would wait for a lost connection until their own deadlines.
const pingAfter = 15 * time.Second

// newHTTP2 returns the Transport for HTTP/2.
func (c *Client) newHTTP2(connect time.Duration, config func() *tls.Config) *http.Transport {
	dialer := &net.Dialer{Timeout: connect}
	plain := func(ctx context.Context, _, _ string) (net.Conn, error) {
		raw, err := c.connect(ctx, dialer.DialContext)
		if err != nil {
			return nil, err
		}
		return &countedConn{Conn: raw, closed: sync.OnceFunc(func() { c.stats.open.Add(-1) })}, nil
	}
	t := &http.Transport{
		DialContext: plain,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, connect)
			defer cancel()
			raw, err := plain(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return handshake(ctx, raw, config)
		},
		DisableCompression:     true,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: maxHead,
		ExpectContinueTimeout:  uploadContinueTimeout,
		Protocols:              new(http.Protocols),
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingAfter / 3},
	}
	t.Protocols.SetHTTP2(true)
	t.Protocols.SetUnencryptedHTTP2(true)
	return t
}

// handshake makes the connection one of TLS with an origin that speaks HTTP/2.
func handshake(ctx context.Context, raw net.Conn, config func() *tls.Config) (net.Conn, error) {
	to := destinationOf(ctx)
	own := to.config(config)
	own.NextProtos = []string{"h2"}
	secure := tls.Client(raw, own)
	if err := secure.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, to.classifyDial(err)
	}
	if secure.ConnectionState().NegotiatedProtocol != "h2" {
		raw.Close()
		return nil, fmt.Errorf("%w: it does not speak HTTP/2", ErrUnreachable)
	}
	return secure, nil
}

// A countedConn counts as an open connection until it is closed.
type countedConn struct {
	net.Conn
	closed func()
}

func (c *countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// http2 reports whether the origin speaks HTTP/2.
func (o *origin) http2() bool { return o.url.Scheme == "h2" || o.url.Scheme == "h2c" }

// header returns the fields of a request in the form for this origin. HTTP/2 has no Upgrade, and
// says that it takes trailer fields, without which gRPC's servers refuse requests.
func (o *origin) header(h http.Header) http.Header {
	if !o.http2() {
		return h
	}
	h = h.Clone()
	delete(h, "Connection")
	delete(h, "Upgrade")
	h["Te"] = []string{"trailers"}
	return h
}

// classifyHTTP2 returns why there is no response over HTTP/2, and whether the origin has failed.
func classifyHTTP2(ctx context.Context, err error) (outcome, error) {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, ErrTimeout):
		return failure, cause
	case cause != nil:
		return inconclusive, cause
	case errors.Is(err, ErrUnreachable):
		return failure, fmt.Errorf("%w: %w", errUnsent, err)
	}
	return failure, fmt.Errorf("%w: %w", errLost, err)
}

// passableTrailer returns the trailer fields that may be passed on: none that concerns one hop, the
// framing, or how the response is to be cached (RFC 9110, section 6.5.1).
func passableTrailer(h http.Header) http.Header {
	passed := http.Header{}
	for name, lines := range h {
		if !endToEnd[name] && name != "Set-Cookie" && name != tier.Field && cleanLines(lines) {
			passed[name] = lines
		}
	}
	dropHopByHop(passed)
	return passed
}

// endsWithHead reports whether the header fields of a response over HTTP/2 were also its end.
// Clients of gRPC read the status of such a response from the header fields only if they end the
// stream.
func endsWithHead(resp *http.Response) bool {
	return resp.ProtoMajor == 2 && resp.ContentLength == 0 && resp.Header.Get("Content-Length") == ""
}
