package edge

import (
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/h1"
)

const (
	lingerFor   = 500 * time.Millisecond
	lingerBytes = 256 << 10
)

// A listener's connections answer by themselves what is ready, and linger.
type listener struct {
	net.Listener
	h *handler
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lingeringConn{Conn: h1.NewConn(l.h.clients.proxied(c), l.h, h1.Timeouts{Idle: idleTimeout, Write: writeTimeout})}, nil
}

// A lingeringConn, where it was refused in the middle of a request, is closed in two steps: with bytes of the client still
// unread, closing at once would reset the connection, and the answer could be lost (RFC 9112, section 9.6).
type lingeringConn struct {
	net.Conn
	refused atomic.Bool
}

// sound reports whether the lines of the request that was read last are by the letter: the server does not tell how the first one ended.
func (c *lingeringConn) sound() bool {
	h, ok := c.Conn.(*h1.Conn)
	return !ok || h.Sound()
}

// bare reports whether the request that was read last is a HEAD, where the server could make nothing of it.
func (c *lingeringConn) bare() bool {
	h, ok := c.Conn.(*h1.Conn)
	return ok && h.Bare()
}

// refuse makes c linger when it is closed.
func (c *lingeringConn) refuse() { c.refused.Store(true) }

// Close says that no more is sent and reads, for a while, what still comes.
func (c *lingeringConn) Close() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !c.refused.Swap(false) || !ok || half.CloseWrite() != nil {
		return c.Conn.Close()
	}
	go func() {
		defer c.Conn.Close()
		if c.Conn.SetReadDeadline(time.Now().Add(lingerFor)) == nil {
			io.CopyN(io.Discard, c.Conn, lingerBytes)
		}
	}()
	return nil
}

// closeAfter closes a request's connection with its answer.
func closeAfter(ctx *fasthttp.RequestCtx) {
	ctx.SetConnectionClose()
	if c, ok := ctx.Conn().(*lingeringConn); ok {
		c.refuse()
	}
}
