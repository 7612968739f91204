package listen

import (
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h1"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/netloop"
)

const (
	lingerFor    = 500 * time.Millisecond
	lingerBytes  = 256 << 10
	lingerUpload = 64 << 20 // bytes that a client sends until it reads the response to its upload
	lingerUnread = 64 << 10 // bytes that the system may still send by itself after Close
	lingerPoll   = time.Second
)

// A listener accepts each connection as a lingeringConn, which answers eligible requests on the
// hit path itself.
type listener struct {
	net.Listener
	server *Server
	config *tls.Config // nil: without TLS
}

// Accept returns the next connection that the limits admit.
func (l listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		switch {
		case err == nil:
			if conn := l.server.conns.admit(c, l.server, l.config); conn != nil {
				return conn, nil
			}
		case !scarce(err):
			return nil, err
		case !l.server.conns.relieve():
			time.Sleep(acceptPause)
		}
	}
}

// A lingeringConn is a connection of a client that may close in two steps. After a request that was
// refused before all of it was read, closing at once would reset the connection, and the client
// could lose the response (RFC 9112, section 9.6). A client that has not taken its response yet has
// until the deadline of that response.
type lingeringConn struct {
	net.Conn
	refused     atomic.Bool
	closing     atomic.Bool
	taken       atomic.Bool  // by HTTP/2, so that the server of HTTP/1.1 must not close it
	handshaking atomic.Bool  // the TLS handshake is not complete
	share       bodies.Share // the memory of an open connection
	ended       func()       // called when it is closed; nil: nothing is
	exempt      atomic.Bool  // from limits per client: it is of an edge behind this one

	client  netip.Prefix            // the client that it counts against, under conns.mu; zero: none
	tier    bool                    // the client is an edge behind this one, by its certificate
	link    *h2.Link                // below TLS; nil: without TLS
	streams atomic.Pointer[h2.Conn] // serves its streams; nil: it does not speak HTTP/2

	socket *netloop.Conn // on an event loop; nil: a goroutine serves it until it ends
	secure *secureSocket // over socket; nil: without TLS
	loops  *looped
}

// phase returns the activity of c, and since when.
func (c *lingeringConn) phase() (h1.Phase, time.Time) {
	s := c.streams.Load()
	if s == nil {
		return c.http1().Phase()
	}
	idle, since := s.Idle()
	if idle {
		return h1.Idle, since
	}
	if began, ok := s.WaitsForClient(); ok {
		return h1.Reading, began // or Writing, or both at once
	}
	return h1.Busy, since
}

// closeIdle closes c if it is idle, and reports whether it did. It does not wait for the client.
func (c *lingeringConn) closeIdle() bool {
	s := c.streams.Load()
	if s == nil {
		return c.http1().CloseIdle()
	}
	return s.CloseIdle()
}

// serveStreams serves c as a connection of HTTP/2: until it ends, or on its event loop.
func (c *lingeringConn) serveStreams(s *Server, rw net.Conn, link *h2.Link, on h2.LoopControl) {
	if s.reference != nil {
		c.http1().Serve(time.Now()) // it counts as busy, because nothing reports when it is idle
		s.reference.serve(rw)
		c.end()
		return
	}
	if !s.conns.admitStreams(c) {
		c.end()
		return
	}
	conn := s.streams.NewConn(rw, link, exchange.Address(rw.RemoteAddr()))
	conn.SetClient(c.share.Client)
	if c.tier {
		conn.SetTier()
	}
	if c.socket == nil {
		c.streams.Store(conn)
		conn.Serve()
		c.end()
		return
	}
	conn.OnLoop(on, func() { c.end() })
	c.streams.Store(conn)
	if conn.Start(); c.closing.Load() {
		c.end() // the goroutine that makes room may not have seen conn
	}
}

// ReadFrom implements io.ReaderFrom, by which fasthttp's server sends files.
func (c *lingeringConn) ReadFrom(r io.Reader) (int64, error) {
	if h := c.http1(); h != nil {
		return h.ReadFrom(r)
	}
	return io.Copy(c.Conn, r)
}

// http1 returns the connection of HTTP/1.1, which knows where requests begin and end. It is nil
// if c is not of our listener.
func (c *lingeringConn) http1() *h1.Conn {
	h, _ := c.Conn.(*h1.Conn)
	return h
}

// raw returns the connection below HTTP/1.1.
func (c *lingeringConn) raw() net.Conn {
	if h := c.http1(); h != nil {
		return h.Conn
	}
	return c.Conn
}

// strict reports whether the lines of the request that was read last follow RFC 9112 strictly. The
// server itself does not report how the first line ended.
func (c *lingeringConn) strict() bool {
	h := c.http1()
	return h == nil || h.Strict()
}

// bodyless reports whether the request that was read last is a HEAD, even if the server could not
// parse it.
func (c *lingeringConn) bodyless() bool {
	h := c.http1()
	return h != nil && h.Bodyless()
}

// refuse makes Close linger.
func (c *lingeringConn) refuse() { c.refused.Store(true) }

// Close announces the end of the response to the client, and closes the connection when the client
// needs no more time.
func (c *lingeringConn) Close() error {
	if c.taken.Load() || c.rest() || c.closing.Swap(true) {
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

// linger waits until the client closes the connection or, if it is slow, has taken its response.
func (c *lingeringConn) linger(slow bool) {
	defer c.end()
	if !slow {
		if c.raw().SetReadDeadline(time.Now().Add(lingerFor)) == nil {
			dropped.drop(c.raw(), c.lingers())
		}
		return
	}
	h := c.http1()
	for tick := time.NewTicker(lingerPoll); c.unread() > lingerUnread; <-tick.C {
		if !time.Now().Before(h.Due()) {
			h.Abort()
			return
		}
	}
}

// dropped reads the bytes that all lingering clients still send.
var dropped dropper

// A dropper drops bytes of many connections at a rate that leaves the processors to others.
// Hundreds of clients that go on sending refused uploads would occupy one, and delay all hits.
type dropper struct{ active atomic.Int64 }

const (
	fewDropping = 8         // connections whose bytes are dropped as fast as they arrive
	dropPiece   = 64 << 10  // bytes between two pauses
	dropRate    = 512 << 20 // bytes a second, of all connections, if they are more
)

// drop drops at most n bytes of a client, until the deadline of its connection.
func (d *dropper) drop(from io.Reader, n int64) {
	d.active.Add(1)
	defer d.active.Add(-1)
	for n > 0 {
		got, err := io.CopyN(io.Discard, from, min(n, dropPiece))
		if err != nil {
			return
		}
		n -= got
		if active := d.active.Load(); active > fewDropping {
			time.Sleep(time.Duration(active) * time.Second * dropPiece / dropRate)
		}
	}
}

// lingers returns the number of bytes of the client that may be dropped at the end.
func (c *lingeringConn) lingers() int64 {
	if h := c.http1(); h != nil && h.Upload() != nil {
		return lingerUpload
	}
	return lingerBytes
}

func (c *lingeringConn) unread() int64 {
	if h := c.http1(); h != nil {
		return h.Unread()
	}
	return 0
}

// drop closes c, which is cut or idle. It waits for no client.
func (c *lingeringConn) drop() {
	c.closing.Store(true)
	c.ended()
	if c.link != nil {
		go c.Conn.Close()
	} else {
		c.Conn.Close()
	}
}

// End implements bodies.Holder: it closes c, because its client holds more than others that need
// the memory.
func (c *lingeringConn) End() {
	if c.http1().Leaves() {
		c.http1().Cut()
		c.drop()
	}
}

func (c *lingeringConn) end() error {
	if c.ended != nil {
		c.ended()
	}
	return c.Conn.Close()
}
