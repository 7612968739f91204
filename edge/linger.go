package edge

import (
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	lingerFor   = 500 * time.Millisecond
	lingerBytes = 256 << 10
)

// A lingerer's connections, where they were refused in the middle of a request, are closed in two steps: with bytes of the
// client still unread, closing at once would reset the connection, and the answer could be lost (RFC 9112, section 9.6).
type lingerer struct{ net.Listener }

func (l lingerer) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lingeringConn{Conn: c}, nil
}

type lingeringConn struct {
	net.Conn
	refused atomic.Bool
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
