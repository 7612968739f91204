package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/upstream/wire"
	"github.com/iconedge/iconedge/internal/problem"
)

//lint:file-ignore SA1019 net/http's Transport can't send :protocol

// An origin may speak HTTP/2 (RFC 9113): over TLS (h2), or without it, by prior knowledge (h2c).
// net/http's Transport multiplexes the requests on few connections. It sends no extended CONNECT
// (RFC 8441), so upgrades use the Transport of x/net.

const (
	// lostAfter is the time after which a connection is given up whose other end acknowledges
	// nothing, because requests would wait for it until their own deadlines.
	lostAfter = 20 * time.Second
	// pingAfter is the silence after which the edge asks an origin whether it still lives. It is
	// long, because servers of gRPC allow a PING every five minutes while a stream is silent, and
	// end the connection for more.
	pingAfter = 6 * time.Minute
	pingFor   = 15 * time.Second // until the answer
)

// newHTTP2 returns the Transport for HTTP/2.
func (c *Client) newHTTP2(connect time.Duration, config func() *tls.Config) *http.Transport {
	dialer := &net.Dialer{Timeout: connect, Control: wire.LostAfter(lostAfter)}
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
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHead,
		ExpectContinueTimeout:  uploadContinueTimeout,
		Protocols:              new(http.Protocols),
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingFor},
	}
	t.Protocols.SetHTTP2(true)
	t.Protocols.SetUnencryptedHTTP2(true)
	return t
}

// newTunnels returns the Transport for upgrades over HTTP/2. It has connections of its own.
func (c *Client) newTunnels() extendedConnect {
	return extendedConnect{&http2.Transport{
		AllowHTTP: true,
		DialTLSContext: func(ctx context.Context, network, address string, _ *tls.Config) (net.Conn, error) {
			if destinationOf(ctx).origin.scheme() == "https" {
				return c.http2.DialTLSContext(ctx, network, address)
			}
			return c.http2.DialContext(ctx, network, address)
		},
		DisableCompression: true,
		IdleConnTimeout:    idleTimeout,
		MaxHeaderListSize:  maxHead,
		ReadIdleTimeout:    pingAfter,
		PingTimeout:        pingFor,
	}}
}

// An extendedConnect makes an upgrade of HTTP/1.1 an extended CONNECT (RFC 8441), and the response
// of an origin that accepts it a 101.
type extendedConnect struct{ *http2.Transport }

// close closes idle connections.
func (e extendedConnect) close() { e.CloseIdleConnections() }

// RoundTrip returns when the head of the response has arrived. From a 101 on the end of the
// request's context changes nothing.
func (e extendedConnect) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(req.Context()))
	stop := context.AfterFunc(req.Context(), func() { cancel(context.Cause(req.Context())) })
	in, out := io.Pipe()
	protocol, _, _ := strings.Cut(req.Header.Get("Upgrade"), ",")
	connect := req.Clone(ctx)
	connect.Method, connect.Body, connect.GetBody, connect.ContentLength = http.MethodConnect, in, nil, -1
	for _, name := range []string{"Connection", "Upgrade", "Sec-Websocket-Key"} {
		delete(connect.Header, name)
	}
	connect.Header[":protocol"] = []string{protocol}
	resp, err := e.Transport.RoundTrip(connect)
	if err != nil {
		cancel(nil)
		out.Close()
		if strings.Contains(err.Error(), "extended connect not supported") {
			err = noTunnels() // x/net exports no such error
		}
		return nil, err
	}
	resp.Request = req
	if resp.StatusCode >= http.StatusMultipleChoices || !stop() {
		out.Close()
		return resp, nil
	}
	resp.StatusCode, resp.ContentLength = http.StatusSwitchingProtocols, -1
	resp.Header["Upgrade"] = []string{protocol}
	if key := req.Header.Get("Sec-Websocket-Key"); key != "" && strings.EqualFold(protocol, "websocket") {
		resp.Header.Set("Sec-Websocket-Accept", exchange.WebSocketAccept(key))
	}
	resp.Body = &connectStream{resp.Body, out, cancel}
	return resp, nil
}

// noTunnels returns the error of an upgrade for an origin that takes none.
func noTunnels() error {
	return problem.New(http.StatusBadGateway,
		"the origin takes no upgrades: it speaks HTTP/2 and does not announce extended CONNECT (RFC 8441)").
		Because(fmt.Errorf("%w: no SETTINGS_ENABLE_CONNECT_PROTOCOL", ErrResponse)).OfType(problem.HTTPUpgradeFailed)
}

// A connectStream is the stream of an extended CONNECT, as the connection after a 101.
type connectStream struct {
	io.ReadCloser
	out    *io.PipeWriter
	cancel context.CancelCauseFunc
}

func (s *connectStream) Write(p []byte) (int, error) { return s.out.Write(p) }

// CloseWrite ends the direction to the origin.
func (s *connectStream) CloseWrite() error { return s.out.Close() }

// Close ends the stream.
func (s *connectStream) Close() error {
	defer s.cancel(nil)
	s.out.CloseWithError(net.ErrClosed)
	return s.ReadCloser.Close()
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

// header returns the fields of a request in the form for this origin. Requests in HTTP/2 have no
// Connection, and say that they take trailer fields, without which gRPC's servers refuse them.
func (o *origin) header(h http.Header) http.Header {
	if !o.http2() {
		return h
	}
	h = h.Clone()
	delete(h, "Connection")
	h["Te"] = []string{"trailers"}
	return h
}

// classifyHTTP2 returns why there is no response over HTTP/2, and whether the origin has failed.
func (t *attempt) classifyHTTP2(ctx context.Context, err error) (outcome, error) {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, ErrTimeout) && t.hadTime():
		return failure, cause
	case cause != nil:
		return inconclusive, cause
	case errors.Is(err, errName):
		return inconclusive, err
	case errors.Is(err, ErrResponse):
		return success, err
	case errors.Is(err, ErrUnreachable):
		return failure, fmt.Errorf("%w: %w", errUnsent, err)
	}
	return failure, fmt.Errorf("%w: %w", errLost, err)
}

// endsWithHead reports whether the header fields of a response over HTTP/2 were also its end.
// Clients of gRPC read the status of such a response from the header fields only if they end the
// stream. With a Content-Length of 0 net/http does not say how the stream ended; if the fields have
// the status of a call, it was with them.
func endsWithHead(resp *http.Response) bool {
	return resp.ProtoMajor == 2 && resp.ContentLength == 0 &&
		(resp.Header.Get("Content-Length") == "" || resp.Header.Get("Grpc-Status") != "")
}
