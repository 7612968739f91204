// Package fastpath answers the requests that edges send most, GETs of icons, on their connections,
// before net/http's server sees them. For each request that server starts a goroutine that watches
// the connection, and it moves four deadlines; together that costs more than the response itself.
//
// The handler is the server's own, so the responses are the same. The package decides only which
// requests are eligible: complete, on their own, in the one form that edges write, and without
// fields that concern framing or the connection. The server gets the bytes of every other request,
// and the first request of each connection.
package fastpath

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// bufferSize is the size of the server's own buffer, so that one Read of the server takes all bytes
// that a connection has read ahead.
const bufferSize = 4 << 10

// deadlineStep is the time after which deadlines move. Moving them for every request costs two
// timers.
const deadlineStep = 5 * time.Second

// Options configures a Listener.
type Options struct {
	Handler  http.Handler
	Idle     time.Duration // for a connection between two requests
	Write    time.Duration // for a response
	Stopping func() bool   // the server gets every request from now on
}

// A Listener wraps the connections of another one. Its State must be called by the server's
// ConnState function.
type Listener struct {
	net.Listener
	options Options
	busy    atomic.Int64 // responses in progress
}

// New returns a Listener over ln, whose connections must be TCP without TLS.
func New(ln net.Listener, o Options) *Listener { return &Listener{Listener: ln, options: o} }

// Accept returns the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, listener: l, remote: c.RemoteAddr().String(), header: http.Header{}, interrupted: make(chan struct{}, 1)}, nil
}

// State records that the server has finished with a request.
func (l *Listener) State(c net.Conn, s http.ConnState) {
	if c, ok := c.(*conn); ok && s == http.StateIdle {
		c.rest()
	}
}

// Drain waits for the end of responses in progress, or of ctx. The server does not wait for them,
// because it takes their connections for idle.
func (l *Listener) Drain(ctx context.Context) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for l.busy.Load() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// A phase is what the server has of the requests on a connection.
type phase int

const (
	serving phase = iota // a part of a request, or several
	whole                // exactly one eligible request
	resting              // nothing: the next byte begins a request
)

// A conn is a connection of a Listener. The server never reads it twice at a time.
type conn struct {
	net.Conn
	listener *Listener
	remote   string
	phase    phase
	begun    bool      // the server has got bytes
	moved    time.Time // when the deadlines were set; zero: not since the server had the connection
	received []byte    // and not passed to the server yet
	buffer   []byte
	header   http.Header // of the request, used again
	response response

	interrupted chan struct{} // a deadline in the past was set, or the connection closed

	mu      sync.Mutex
	busy    bool // a response is in progress
	closing bool // Close was called meanwhile
}

// rest begins the time between two requests, if the server has had no more than one whole request.
func (c *conn) rest() {
	select {
	case <-c.interrupted: // it was for a Read that has ended
	default:
	}
	if c.phase == whole {
		c.phase, c.moved = resting, time.Time{}
	}
}

// Read answers eligible requests, and returns the first bytes that are none.
func (c *conn) Read(p []byte) (int, error) {
	if c.buffer == nil {
		c.buffer = make([]byte, bufferSize)
	}
	switch {
	case c.phase == resting:
		if err := c.serve(); err != nil {
			return 0, err
		}
	case c.phase == whole && len(p) == 1 && len(c.received) == 0:
		return 0, c.watch()
	case len(c.received) == 0:
		n, err := c.Conn.Read(p)
		c.pass(p[:n])
		return n, err
	}
	n := copy(p, c.received)
	c.received = c.received[n:]
	c.pass(p[:n])
	return n, nil
}

// watch is the Read by which the server notices during a request that the client has left. It reads
// one byte, which would belong to the next request, so watch does not return any: the server ends
// its Read by a deadline in the past.
func (c *conn) watch() error {
	n, err := c.Conn.Read(c.buffer)
	if n == 0 {
		return err
	}
	c.received = c.buffer[:n]
	<-c.interrupted
	return os.ErrDeadlineExceeded
}

// SetReadDeadline ends a Read, if t is in the past.
func (c *conn) SetReadDeadline(t time.Time) error {
	if !t.IsZero() && t.Before(time.Now()) {
		c.interrupt()
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *conn) interrupt() {
	select {
	case c.interrupted <- struct{}{}:
	default:
	}
}

// pass records which bytes the server gets.
func (c *conn) pass(p []byte) {
	if len(p) == 0 {
		return
	}
	first := c.phase == resting || !c.begun
	c.begun, c.phase = true, serving
	if first && len(c.received) == 0 {
		if _, size := parse(p); size == len(p) {
			c.phase = whole
		}
	}
}

// serve answers eligible requests until bytes arrive that are none, or the connection ends.
func (c *conn) serve() error {
	for {
		for len(c.received) > 0 {
			r, size := parse(c.received)
			if size == 0 || !r.icon || c.listener.options.Stopping() {
				return nil
			}
			c.received = c.received[size:]
			if err := c.answer(r); err != nil {
				return err
			}
		}
		n, err := c.Conn.Read(c.buffer)
		if n == 0 {
			return err
		}
		c.received = c.buffer[:n]
	}
}

// answer answers a request.
func (c *conn) answer(r request) error {
	if !c.begin() {
		return net.ErrClosed
	}
	defer c.end()
	c.moveDeadlines(time.Now())
	clear(c.header)
	host := r.fields(c.header)
	c.response.reset()
	c.listener.options.Handler.ServeHTTP(&c.response, &http.Request{
		Method: http.MethodGet, URL: &url.URL{Path: r.target}, RequestURI: r.target, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: c.header, Host: host, Body: http.NoBody, RemoteAddr: c.remote,
	})
	if _, err := c.Conn.Write(c.response.bytes(time.Now())); err != nil {
		return err
	}
	if c.response.last {
		return io.EOF
	}
	return nil
}

// moveDeadlines sets the deadlines that the server sets for its own requests.
func (c *conn) moveDeadlines(now time.Time) {
	if now.Sub(c.moved) < deadlineStep {
		return
	}
	c.moved = now
	c.SetReadDeadline(now.Add(c.listener.options.Idle + deadlineStep))
	c.SetWriteDeadline(now.Add(c.listener.options.Write + deadlineStep))
}

// begin begins a response, unless the connection is closed.
func (c *conn) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false
	}
	c.busy = true
	c.listener.busy.Add(1)
	return true
}

// end ends the response.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
	if c.closing {
		c.Conn.Close()
	}
	c.listener.busy.Add(-1)
}

// Close closes the connection, after the response in progress.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
	c.interrupt()
	if c.busy {
		return nil
	}
	return c.Conn.Close()
}

// CloseWrite lets the server end its direction first, so that the client reads a last response.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
