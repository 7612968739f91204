package wire

import (
	"net"
	"sync"
	"time"
)

// A Conn is a connection that carries one exchange at a time.
type Conn struct {
	net.Conn
	Generation int64  // of the addresses of its origin
	Received   []byte // and not used yet
	Out        []byte // memory for a request

	buffer []byte
	quiet  func() bool // nil: it can't be examined, so it is never used again
	since  time.Time   // when it became idle
	limit  limit
}

// bufferSize is enough for the head and the body of most icons.
const bufferSize = 8 << 10

// NewConn returns a Conn. raw is the socket below c. Another kind of connection has a method Quiet
// that reports whether it is open and nothing has arrived on it.
func NewConn(c, raw net.Conn, generation int64) *Conn {
	w := &Conn{Conn: c, Generation: generation, quiet: quietOf(raw)}
	if q, ok := raw.(interface{ Quiet() bool }); ok {
		w.quiet = q.Quiet
	}
	return w
}

// Fill reads once, and appends to Received.
func (c *Conn) Fill() (int, error) {
	if len(c.Received) == 0 {
		if c.buffer == nil {
			c.buffer = make([]byte, 0, bufferSize)
		}
		c.Received = c.buffer[:0]
	}
	if len(c.Received) == cap(c.Received) {
		c.Received = append(c.Received, make([]byte, len(c.Received))...)[:len(c.Received)]
	}
	n, err := c.Read(c.Received[len(c.Received):cap(c.Received)])
	c.Received = c.Received[:len(c.Received)+n]
	return n, err
}

// A Pool holds idle connections to one origin. The one that was used last is used next, so that
// others grow old.
type Pool struct {
	Most  int           // idle connections
	After time.Duration // idle connections are closed

	mu    sync.Mutex
	idle  []*Conn
	timer *time.Timer
}

// Take returns an idle connection of a generation on which nothing has arrived since its last
// response; nil: there is none. It closes the others that it finds.
func (p *Pool) Take(generation int64) *Conn {
	for {
		c := p.pop()
		if c == nil || c.Generation == generation && c.quiet() {
			return c
		}
		c.Close()
	}
}

func (p *Pool) pop() *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	c := p.idle[n-1]
	p.idle[n-1], p.idle = nil, p.idle[:n-1]
	return c
}

// Put keeps a connection whose last response is complete, or closes it.
func (p *Pool) Put(c *Conn, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) >= p.Most || c.quiet == nil || len(c.Received) > 0 {
		c.Close()
		return
	}
	c.Received, c.since = nil, now
	p.idle = append(p.idle, c)
	if p.timer == nil {
		p.timer = time.AfterFunc(p.After, p.expire)
	}
}

// expire closes the connections that have been idle for too long.
func (p *Pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, old := time.Now(), 0
	for old < len(p.idle) && now.Sub(p.idle[old].since) >= p.After {
		p.idle[old].Close()
		old++
	}
	n := copy(p.idle, p.idle[old:])
	clear(p.idle[n:])
	if p.idle = p.idle[:n]; n == 0 {
		p.timer = nil
		return
	}
	p.timer.Reset(p.After - now.Sub(p.idle[0].since))
}

// Close closes the idle connections.
func (p *Pool) Close() {
	for c := p.pop(); c != nil; c = p.pop() {
		c.Close()
	}
}
