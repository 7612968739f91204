package edge

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/iconedge/iconedge/certs"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/valyala/fasthttp"
	"golang.org/x/crypto/acme"
)

// A secureListener accepts connections over TLS and does their handshakes. Connections that
// negotiate HTTP/2 serve themselves, the server of HTTP/1.1 serves the others. A connection whose
// handshake ends after the listener was closed is served too.
type secureListener struct {
	listener
	plainer *fasthttp.Server
}

func newSecureListener(l net.Listener, h *handler, config *tls.Config) *secureListener {
	return &secureListener{listener{publicListener{l, new(sync.Once)}, h, config}, nil}
}

// serve accepts connections until the listener is closed.
func (l *secureListener) serve(plainer *fasthttp.Server) error {
	l.plainer = plainer
	for {
		c, err := l.listener.Accept()
		if err != nil {
			return err
		}
		go l.handshake(c.(*lingeringConn))
	}
}

// handshake does the handshake of one connection, within handshakeTimeout, and then serves it.
func (l *secureListener) handshake(c *lingeringConn) {
	t := c.http1().Conn.(*tls.Conn)
	ctx, cancel := context.WithTimeout(l.h.life, handshakeTimeout)
	err := t.HandshakeContext(ctx)
	cancel()
	l.h.metrics.HandshakeDone(err)
	state := t.ConnectionState()
	c.http1().Await(time.Now())
	c.handshaking.Store(false)
	if err == nil && certs.Shown(&state) {
		c.tier = true
		l.h.conns.exempt(c)
		c.http1().SetTier()
	}
	switch chosen := state.NegotiatedProtocol; {
	case err != nil, chosen == acme.ALPNProto:
		c.end()
	case chosen == "h2":
		c.serveStreams(l.h, t, c.link)
		c.end()
	default:
		if err := l.plainer.ServeConn(c); err != nil {
			l.h.log.Debug("HTTP/1.1 connection failed", "err", err.Error())
		}
	}
}

// redirectToTLS redirects a request that came without TLS to https, and reports whether it did.
// Health checks and preflights are answered without TLS. A preflight fails if its response is a
// redirect, while the request after it may follow one (Fetch standard, CORS-preflight fetch).
func (h *handler) redirectToTLS(r *request) bool {
	if h.redirect == "" || r.Secure || string(r.ctx.URI().PathOriginal()) == routes.HealthPath || isPreflight(r.ctx) {
		return false
	}
	host, _ := splitHost(string(r.ctx.Host()))
	if host == "" {
		return false
	}
	resp := &r.ctx.Response
	writeFields(resp, everyAnswer)
	setDate(resp, h.clock.date(r.now))
	resp.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	resp.Header.Set(fasthttp.HeaderLocation, fmt.Sprintf(h.redirect, host)+rawTarget(r.ctx))
	resp.SetStatusCode(http.StatusPermanentRedirect)
	resp.Header.SetContentLength(0)
	return true
}

// isPreflight reports whether a request is a CORS preflight, which a browser makes by itself before
// a request to another site.
func isPreflight(ctx *fasthttp.RequestCtx) bool {
	h := &ctx.Request.Header
	return ctx.IsOptions() && len(h.Peek(fasthttp.HeaderOrigin)) > 0 && len(h.Peek(fasthttp.HeaderAccessControlRequestMethod)) > 0
}

// portOf returns the port of a listener as a URL has it, with a colon. It is empty for the default
// port of https.
func portOf(a net.Addr) string {
	_, port, err := net.SplitHostPort(a.String())
	if err != nil || port == "443" {
		return ""
	}
	return ":" + port
}
