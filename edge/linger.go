package edge

import (
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/h1"
	"github.com/iconedge/iconedge/edge/h2"
)

const (
	lingerFor    = 500 * time.Millisecond
	lingerBytes  = 256 << 10
	lingerUnread = 64 << 10 // bytes that the system may go on sending by itself when a connection is closed
	lingerPoll   = time.Second
)

// A listener's connections answer by themselves what is ready, and linger.
type listener struct {
	net.Listener
	h      *handler
	config *tls.Config // nil: they are not of TLS
}

// Accept takes the next connection that there is room for.
func (l listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		switch {
		case err == nil:
			if conn := l.h.conns.admit(c, l.h, l.config); conn != nil {
				return conn, nil
			}
		case !scarce(err):
			return nil, err
		case !l.h.conns.relieve():
			time.Sleep(acceptPause)
		}
	}
}

// A lingeringConn, where it was refused in the middle of a request, is closed in two steps: with bytes of the client still
// unread, closing at once would reset the connection, and the answer could be lost (RFC 9112, section 9.6). Where the client has not
// taken its answer yet, it has what is left of its time for that, and no more.
type lingeringConn struct {
	net.Conn
	refused atomic.Bool
	closing atomic.Bool
	taken   atomic.Bool  // HTTP/2 has taken it over: it is not for the server of HTTP/1.1 to close
	shaking atomic.Bool  // the handshake of TLS is not done
	share   bodies.Share // what it takes by being open
	ended   func()       // called once, when it is closed; nil: nothing is
	exempt  atomic.Bool  // from what one client may hold: it has been found to be an edge's behind this one

	client  netip.Prefix            // whom it counts for, under conns.mu; zero: nobody
	tier    bool                    // its client is an edge behind this one, by its certificate
	link    *h2.Link                // below TLS; nil: it is not of TLS
	streams atomic.Pointer[h2.Conn] // what serves it, where it speaks HTTP/2; nil: it does not
}

// phase is what c does, and since when.
func (c *lingeringConn) phase() (h1.Phase, time.Time) {
	s := c.streams.Load()
	if s == nil {
		return c.plainly().Phase()
	}
	idle, since := s.Idle()
	if idle {
		return h1.Idle, since
	}
	if began, ok := s.Waits(); ok {
		return h1.Reading, began // or Writing: it may do both at a time
	}
	return h1.Busy, since
}

// closeIdle closes c if it is idle. It does not wait for the client.
func (c *lingeringConn) closeIdle() bool {
	s := c.streams.Load()
	if s == nil {
		return c.plainly().CloseIdle()
	}
	return s.CloseIdle()
}

// serveStreams serves c by HTTP/2, until it ends.
func (c *lingeringConn) serveStreams(h *handler, rw net.Conn, link *h2.Link) {
	if h.reference != nil {
		c.plainly().Serve(time.Now()) // it is never idle: nobody here knows when it is
		h.reference.serve(rw)
		return
	}
	conn := h.streams.NewConn(rw, link, addressOf(rw.RemoteAddr()))
	conn.CountFor(c.share.Client)
	if c.tier {
		conn.ByTier()
	}
	c.streams.Store(conn)
	conn.Serve()
}

// plainly is the connection that knows where requests begin and end. It is nil for one that is not of our listener.
func (c *lingeringConn) plainly() *h1.Conn {
	h, _ := c.Conn.(*h1.Conn)
	return h
}

// raw is the connection beneath.
func (c *lingeringConn) raw() net.Conn {
	if h := c.plainly(); h != nil {
		return h.Conn
	}
	return c.Conn
}

// sound reports whether the lines of the request that was read last are by the letter: the server does not tell how the first one ended.
func (c *lingeringConn) sound() bool {
	h := c.plainly()
	return h == nil || h.Sound()
}

// bare reports whether the request that was read last is a HEAD, where the server could make nothing of it.
func (c *lingeringConn) bare() bool {
	h := c.plainly()
	return h != nil && h.Bare()
}

// refuse makes c linger when it is closed.
func (c *lingeringConn) refuse() { c.refused.Store(true) }

// Close says that no more is sent, and ends the connection when there is nothing left to wait for.
func (c *lingeringConn) Close() error {
	if c.taken.Load() || c.closing.Swap(true) {
		return nil
	}
	slow := c.unread() > lingerUnread
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !slow && !c.refused.Load() || !ok || half.CloseWrite() != nil {
		return c.end()
	}
	go c.linger(slow)
	return nil
}

// linger waits for the client to go, or to take its answer.
func (c *lingeringConn) linger(slow bool) {
	defer c.end()
	if !slow {
		if c.raw().SetReadDeadline(time.Now().Add(lingerFor)) == nil {
			io.CopyN(io.Discard, c.raw(), lingerBytes)
		}
		return
	}
	h := c.plainly()
	for tick := time.NewTicker(lingerPoll); c.unread() > lingerUnread; <-tick.C {
		if !time.Now().Before(h.Due()) {
			h.GiveUp()
			return
		}
	}
}

func (c *lingeringConn) unread() int64 {
	if h := c.plainly(); h != nil {
		return h.Unread()
	}
	return 0
}

func (c *lingeringConn) end() error {
	if c.ended != nil {
		c.ended()
	}
	return c.Conn.Close()
}

// closeAfter closes the connection of a request with its response.
func closeAfter(r *request) {
	r.ctx.SetConnectionClose()
	r.Conn.CloseAfter()
}
