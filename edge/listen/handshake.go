package listen

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/crypto/acme"

	"github.com/iconedge/iconedge/internal/certs"
)

// A secureListener accepts connections over TLS and does their handshakes. Connections that
// negotiate HTTP/2 serve themselves, the server of HTTP/1.1 serves the others. A connection whose
// handshake ends after the listener was closed is served too.
type secureListener struct {
	listener
	plainer *fasthttp.Server
}

func newSecureListener(l net.Listener, s *Server, config *tls.Config) *secureListener {
	return &secureListener{listener{l, s, config}, nil}
}

// serve accepts connections until the listener is closed.
func (l *secureListener) serve(plainer *fasthttp.Server) error {
	l.plainer = plainer
	return serveEach(l.listener.Listener, l.accept)
}

func (l *secureListener) accept(sockets net.Listener) error {
	from := listener{sockets, l.server, l.config}
	for {
		c, err := from.Accept()
		if err != nil {
			return err
		}
		go l.handshake(c.(*lingeringConn))
	}
}

// handshake does the handshake of one connection, within its timeout, and then serves it.
func (l *secureListener) handshake(c *lingeringConn) {
	if c.socket != nil && c.socket.StartDetached(c) != nil {
		c.end()
		return
	}
	t := c.http1().Conn.(*tls.Conn)
	ctx, cancel := context.WithTimeout(l.server.options.Life, l.server.options.Capacity.HandshakeTimeout)
	err := t.HandshakeContext(ctx)
	cancel()
	l.server.options.Observer.HandshakeDone(err)
	state := t.ConnectionState()
	c.http1().Await(time.Now())
	c.handshaking.Store(false)
	if err == nil && certs.Shown(&state) {
		c.tier = true
		l.server.conns.exempt(c)
		c.http1().SetTier()
	}
	switch chosen := state.NegotiatedProtocol; {
	case err != nil, chosen == acme.ALPNProto:
		c.end()
	case chosen == "h2":
		c.serveStreams(l.server, t, c.link, c.secure)
	case c.socket != nil:
		c.http1().Rest(time.Now())
		c.socket.Wake() // for the bytes that the link has read already
	default:
		if err := l.plainer.ServeConn(c); err != nil {
			l.server.options.Log.Debug("HTTP/1.1 connection failed", "err", err.Error())
		}
	}
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
