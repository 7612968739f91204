package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"sync"
	"time"
)

var (
	errUnasked = errors.New("the origin sent bytes that nobody asked for")
	errTwice   = errors.New("the request was lost twice")
)

// A conn hands its reader nothing that came before the request was written. The Transport closes an idle connection on
// which bytes arrive, but a request that takes the connection at that very moment would get them as its answer; an origin that
// sends more than its Content-Length could so answer for an address that it was never asked for.
type conn struct {
	net.Conn
	closed func() // called once

	mu      sync.Mutex
	changed sync.Cond
	reading bool  // a Read waits at the socket: whatever came before has been used up
	asked   bool  // a request, or a part of it, has been written
	dead    error // nothing more is read or written
}

func newConn(c net.Conn, closed func()) *conn {
	w := &conn{Conn: c, closed: sync.OnceFunc(closed)}
	w.changed.L = &w.mu
	return w
}

// settle begins an exchange: it waits until everything that was read has been used up and the Transport waits for more,
// or the connection is closed, as the Transport does on finding something left. It reports whether c can be written to.
func (c *conn) settle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = false
	for !c.reading && c.dead == nil {
		c.changed.Wait()
	}
	return c.dead == nil
}

// refuse lets nothing more through.
func (c *conn) refuse(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead == nil {
		c.dead = err
	}
	c.changed.Broadcast()
}

func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	c.reading = true
	c.changed.Broadcast()
	c.mu.Unlock()
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = false
	if n > 0 && !c.asked {
		n, err = 0, errUnasked
	}
	if err != nil && c.dead == nil {
		c.dead = err
		c.changed.Broadcast()
	}
	return n, err
}

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	err := c.dead
	c.asked = true
	c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *conn) Close() error {
	c.refuse(net.ErrClosed)
	c.closed()
	return c.Conn.Close()
}

type dial func(ctx context.Context, network, address string) (net.Conn, error)

// watch makes every connection of d a conn, and counts it.
func (c *Client) watch(d dial) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := d(ctx, network, address)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		c.stats.open.Add(1)
		return newConn(raw, func() { c.stats.open.Add(-1) }), nil
	}
}

// within bounds the whole of d, a TLS handshake included.
func within(timeout time.Duration, d dial) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return d(ctx, network, address)
	}
}

// onceMore lets one request go out on two connections and no more. The Transport sends a GET or HEAD again when the
// connection it reused was closed before any byte of an answer (RFC 9110, section 9.2.2), and does so for as long as it has idle connections:
// an origin that drops every request would get one for each of them.
func (c *Client) onceMore(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	tries := 0
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		own := info.Conn.(*conn)
		if !own.settle() {
			return // it was dead already; the Transport takes another
		}
		switch tries++; tries {
		case 1:
		case 2:
			c.stats.retries.Add(1)
		default:
			own.refuse(errTwice)
			cancel(errTwice)
		}
	}})
}
