package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/iconedge/iconedge/edge/h1"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/netloop"
)

// A looped serves the connections of the public listeners on event loops: one loop for each
// processor. A request of HTTP/1.1 that the hit path does not answer makes the server of HTTP/1.1
// serve its connection, which returns to its loop afterwards.
type looped struct {
	server  *Server
	loops   []*netloop.Loop
	scratch map[*netloop.Loop]*h1.Scratch
	waiting detached
	clear   net.Listener // the public listener without TLS; nil: it is not on the loops
}

// openLoops makes the loops for the public listeners, if the operator wants them. There are none on
// other systems than Linux, and for other sockets than those of TCP.
func (s *Server) openLoops() error {
	if s.options.Capacity.Loop != LoopOn {
		return nil
	}
	l, err := newLooped(s)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening the event loops: %w", err)
	}
	clear, err := l.listen(&s.socks.Public)
	if err == nil && clear {
		l.clear = s.socks.Public
	}
	secure := false
	if err == nil && s.socks.TLS != nil {
		secure, err = l.listen(&s.socks.TLS)
	}
	if err != nil || !clear && !secure {
		l.close()
		return err
	}
	s.looped = l
	context.AfterFunc(s.options.Life, l.close)
	return nil
}

func newLooped(s *Server) (*looped, error) {
	l := &looped{server: s, scratch: map[*netloop.Loop]*h1.Scratch{}}
	l.waiting.arrived.L = &l.waiting.mu
	for range runtime.GOMAXPROCS(0) {
		loop, err := netloop.NewLoop()
		if err != nil {
			l.close()
			return nil, err
		}
		l.loops = append(l.loops, loop)
		l.scratch[loop] = h1.NewScratch()
	}
	return l, nil
}

// listen makes a listener accept connections for the loops, and reports whether it can.
func (l *looped) listen(on *net.Listener) (bool, error) {
	sockets, own := severalOf(*on)
	accepting := &several{}
	for i, socket := range sockets.all {
		accept := func() (*netloop.Listener, error) { return netloop.Listen(socket, l.loops) }
		if own {
			accept = func() (*netloop.Listener, error) { return netloop.ListenAlone(socket, l.loops[i%len(l.loops)]) }
		}
		from, err := accept()
		if errors.Is(err, errors.ErrUnsupported) {
			return false, nil
		}
		if err != nil {
			accepting.Close()
			return false, fmt.Errorf("opening the event loops: %w", err)
		}
		accepting.all = append(accepting.all, from)
	}
	accepting.Listener = accepting.all[0]
	*on = CloseOnce(accepting)
	return true, nil
}

// close closes the loops and their connections.
func (l *looped) close() {
	for _, loop := range l.loops {
		loop.Close()
	}
}

// run runs the loops until they are closed, and the server of HTTP/1.1 for their connections.
func (l *looped) run() {
	go l.server.http1.Serve(&l.waiting)
	for _, loop := range l.loops {
		go loop.Run()
	}
}

// serve accepts connections without TLS until the listener is closed.
func (l *looped) serve(clear net.Listener) error {
	from := listener{clear, l.server, nil}
	for {
		c, err := from.Accept()
		if err != nil {
			return err
		}
		l.start(c.(*lingeringConn))
	}
}

// start puts an admitted connection on its loop. A connection that may begin with a header of the
// PROXY protocol is served by a goroutine first.
func (l *looped) start(c *lingeringConn) {
	var err error
	if _, ok := c.raw().(*proxiedConn); ok {
		if err = c.socket.StartDetached(c); err == nil {
			c.http1().ServeFirst()
			c.serveDetached()
		}
	} else {
		err = c.socket.Start(c)
	}
	if err != nil {
		c.end()
	}
}

// Ready implements netloop.Handler.
func (c *lingeringConn) Ready(e netloop.Events) (again bool) {
	readable, ending := e&netloop.Readable != 0, e&netloop.Ending != 0
	if s := c.streams.Load(); s != nil {
		return s.Ready(readable, ending)
	}
	if c.link != nil {
		c.link.Event(readable, ending)
	}
	switch c.http1().Turn(c.loops.scratch[c.socket.Loop()], ending) {
	case h1.Again:
		return true
	case h1.ForServer:
		c.serveDetached()
	case h1.End:
		c.Close()
	}
	return false
}

// Expired implements netloop.Handler.
func (c *lingeringConn) Expired(now time.Time) {
	if s := c.streams.Load(); s != nil {
		s.Expired(now)
		return
	}
	if c.http1().Expired(now) {
		c.Close()
	}
}

// serveDetached makes the server of HTTP/1.1 serve c, or HTTP/2 if c begins with the preface.
func (c *lingeringConn) serveDetached() {
	if c.link == nil && c.http1().Fresh() && c.takeOver(c.loops.server) {
		return
	}
	if !c.loops.waiting.add(c) {
		c.end()
	}
}

// takeOver makes HTTP/2 serve c if it begins with the preface, and reports whether it does already.
func (c *lingeringConn) takeOver(serve *Server) bool {
	return c.http1().TakeOver(h2.Preface, func(already []byte) {
		c.taken.Store(true)
		// In a new goroutine, so that the loop goes on, and that fasthttp's ends: its buffers would
		// stay for as long as the connection.
		go func() {
			link := h2.NewLink(below(c.raw()), false, already)
			if c.socket != nil {
				link.OnLoop(c.socket)
			}
			c.serveStreams(serve, link, link, &linkedSocket{c.socket, link})
		}()
	})
}

// rest returns c to its loop after the server has served it, and reports whether it did.
func (c *lingeringConn) rest() bool {
	h := c.http1()
	if h == nil || !h.Rests() {
		return false
	}
	h.Rest(time.Now())
	return true
}

// A detached is the connections that wait for the server of HTTP/1.1, as a listener that it
// accepts them from.
type detached struct {
	net.Listener
	mu      sync.Mutex
	arrived sync.Cond
	conns   []net.Conn
	closed  bool
}

// add adds a connection, unless the server has ended.
func (d *detached) add(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.conns = append(d.conns, c)
	d.arrived.Signal()
	return true
}

// Accept implements net.Listener.
func (d *detached) Accept() (net.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.conns) == 0 {
		if d.closed {
			return nil, net.ErrClosed
		}
		d.arrived.Wait()
	}
	c := d.conns[0]
	d.conns[0] = nil
	if d.conns = d.conns[1:]; len(d.conns) == 0 {
		d.conns = nil
	}
	return c, nil
}

// Close implements net.Listener.
func (d *detached) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.arrived.Broadcast()
	return nil
}

// A linkedSocket is the socket of a connection on an event loop that reads through a Link, as that
// of HTTP/2 without TLS.
type linkedSocket struct {
	*netloop.Conn
	link *h2.Link
}

// Detach lets a goroutine use the connection.
func (s *linkedSocket) Detach() {
	s.link.TryOnly(false)
	s.Conn.Detach()
}

// Attach returns the connection to its loop.
func (s *linkedSocket) Attach() {
	s.link.TryOnly(true)
	s.Conn.Attach()
}

// A secureSocket is that of a connection over TLS. The handshake must be complete before its first
// call.
type secureSocket struct {
	linkedSocket
	tls *tls.Conn
}

// TryRead reads at most one record, because an error in the next one would keep the responses to
// this one from the client.
func (s *secureSocket) TryRead(p []byte) (int, error) {
	if before := s.link.TryOnly(true); !before {
		defer s.link.TryOnly(false)
	}
	n, err := s.link.ReadOver(s.tls, p)
	switch {
	case n > 0:
		return n, nil // the next call returns the error
	case err == h2.ErrWait:
		return 0, syscall.EAGAIN
	}
	return 0, err
}

// More reports whether TryRead may find more before the next event.
func (s *secureSocket) More() bool { return !s.link.Dry() }

// TryWrite encrypts and sends p. It returns syscall.EAGAIN if there is no room for all of it; the
// link keeps the encrypted bytes that are left.
func (s *secureSocket) TryWrite(p []byte) (n int, err error) {
	for {
		if err = s.link.Flush(); err != nil || n == len(p) {
			return n, err
		}
		m, err := s.link.WriteOver(s.tls, p[n:min(len(p), n+h1.SecureBatch)])
		if n += m; err != nil {
			return n, err
		}
	}
}
