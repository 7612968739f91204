package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
)

var errUnsolicited = errors.New("the origin sent bytes before a request")

// A conn passes no bytes to its reader that arrived before the request was written. The Transport
// closes an idle connection on which bytes arrive, but a request that takes the connection at the
// same moment would get them as its response. An origin that sends more than its Content-Length
// could so answer for another URL.
type conn struct {
	net.Conn
	closed func() // called once

	switched atomic.Bool // it carries another protocol, whose bytes are none of HTTP's
	// Bytes after a body were dropped, so the connection ends; only the reader uses it.
	surplus bool

	mu              sync.Mutex
	changed         sync.Cond
	reading         bool     // a Read waits at the socket, so all earlier bytes have been used
	serving         *attempt // the current or last attempt
	requestStarted  bool     // its request is being written
	wrote           bool     // some bytes of the request were written
	responseStarted bool     // some bytes of the response were read
	ending          *head    // of the response after which the connection is not used; nil: none
	dead            error    // if set, nothing more is read or written
}

func newConn(c net.Conn, closed func()) *conn {
	w := &conn{Conn: c, closed: sync.OnceFunc(closed)}
	w.changed.L = &w.mu
	return w
}

// startRequest waits until the Transport has used all earlier bytes and waits for more, or has
// closed the connection because bytes were left. From then on bytes belong to t.
func (c *conn) startRequest(t *attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serving, c.requestStarted, c.wrote, c.responseStarted = t, false, false, false
	for !c.reading && c.dead == nil {
		c.changed.Wait()
	}
}

// sent reports whether any byte of the request was written.
func (c *conn) sent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrote
}

func (c *conn) Read(p []byte) (int, error) {
	if c.switched.Load() {
		return c.Conn.Read(p)
	}
	c.mu.Lock()
	if c.ending != nil && c.ending.endsConnection() {
		c.fail(io.EOF)
		c.mu.Unlock()
		return 0, io.EOF
	}
	c.reading = true
	c.changed.Broadcast()
	remaining := int64(math.MaxInt64)
	if c.serving != nil {
		remaining = c.serving.head.remaining()
	}
	c.mu.Unlock()
	if c.surplus {
		return 0, errUnsolicited
	}
	n, err := c.read(p, remaining)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = false
	if n > 0 {
		if bad := c.receive(p[:n]); bad != nil {
			n, err = 0, bad
		}
	}
	if err != nil {
		c.fail(err)
	}
	return n, err
}

// tail is the size of the last part of a body, which is read together with the bytes that may
// follow it.
const tail = 512

// read reads from the socket. A reader that asks for no more than the rest of a body would notice
// surplus bytes, which show that the length is wrong, only after the body has been passed on.
// Therefore the last part of a body is read separately, with room for surplus bytes.
func (c *conn) read(p []byte, remaining int64) (int, error) {
	switch {
	case int64(len(p)) != remaining || remaining == 0:
		return c.Conn.Read(p)
	case remaining > tail:
		return c.Conn.Read(p[:remaining-tail])
	}
	var end [tail + len(statusLine)]byte
	n, err := c.Conn.Read(end[:remaining+int64(len(statusLine))])
	if surplus := end[min(int64(n), remaining):n]; len(surplus) > 0 {
		c.surplus = true
		if !beginsAnswer(surplus) {
			err = errExcess
		}
	}
	return copy(p, end[:n]), err
}

// receive checks the bytes that arrived for the current attempt.
func (c *conn) receive(p []byte) error {
	if !c.requestStarted {
		return errUnsolicited
	}
	if err := c.serving.head.read(p); err != nil {
		c.serving.end(err)
		return err
	}
	c.responseStarted = true
	if c.serving.head.ends {
		c.ending = &c.serving.head
	}
	return nil
}

// fail ends the connection for its attempt before the Transport notices.
func (c *conn) fail(err error) {
	if c.dead == nil {
		c.dead = err
		c.changed.Broadcast()
	}
	if c.requestStarted && !c.responseStarted {
		c.serving.end(fmt.Errorf("%w: %w", errLost, err))
	}
}

func (c *conn) Write(p []byte) (int, error) {
	if c.switched.Load() {
		return c.Conn.Write(p)
	}
	c.mu.Lock()
	err := c.dead
	first := !c.wrote
	c.requestStarted = c.requestStarted || err == nil
	c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	whole := len(p)
	if first && c.serving != nil {
		if p, err = c.serving.originForm(p); err != nil {
			return 0, err
		}
	}
	n, err := c.Conn.Write(p)
	if err == nil {
		n = whole
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrote = c.wrote || n > 0
	switch {
	case err == nil || !c.wrote:
	case c.serving.uploads:
		// The origin may have responded before it closed the connection, and the Transport would
		// return this error instead of the response. The reader ends the connection.
		for c.dead == nil {
			c.changed.Wait()
		}
	default:
		c.fail(err)
	}
	return n, err
}

func (c *conn) Close() error {
	c.mu.Lock()
	if c.dead == nil {
		c.dead = net.ErrClosed
	}
	c.changed.Broadcast()
	c.mu.Unlock()
	c.closed()
	return c.Conn.Close()
}

// CloseWrite ends the direction to the origin.
func (c *conn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

type dial func(ctx context.Context, network, address string) (net.Conn, error)

// wrapDial makes every connection of d a conn, and counts it.
func (c *Client) wrapDial(d dial) dial {
	return func(ctx context.Context, _, _ string) (net.Conn, error) {
		raw, err := c.connect(ctx, d)
		if err != nil {
			return nil, err
		}
		return newConn(raw, func() { c.stats.open.Add(-1) }), nil
	}
}

// connect opens a connection by d to the origin of the destination in ctx, because the address that
// a Transport gives is only that of a pool. It counts the connection as open; the caller counts its
// end.
func (c *Client) connect(ctx context.Context, d dial) (net.Conn, error) {
	to := destinationOf(ctx)
	network, address := to.origin.address()
	raw, err := d(ctx, network, address)
	if err != nil {
		return nil, to.classifyDial(err)
	}
	c.stats.open.Add(1)
	return raw, nil
}
