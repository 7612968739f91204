package upstream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"sync"
)

var errUnasked = errors.New("the origin sent bytes that nobody asked for")

// A conn hands its reader nothing that came before the request was written. The Transport closes an idle connection on
// which bytes arrive, but a request that takes the connection at that very moment would get them as its answer; an origin that
// sends more than its Content-Length could so answer for an address that it was never asked for.
type conn struct {
	net.Conn
	closed func() // called once

	surplus bool // something came behind a body and is lost: the end of the connection. Of its reader alone

	mu      sync.Mutex
	changed sync.Cond
	reading bool     // a Read waits at the socket: whatever came before has been used up
	serving *attempt // what is asked, or was last
	asked   bool     // its request is being written
	wrote   bool     // some of it has been
	heard   bool     // some of an answer has come
	dead    error    // nothing more is read or written
}

func newConn(c net.Conn, closed func()) *conn {
	w := &conn{Conn: c, closed: sync.OnceFunc(closed)}
	w.changed.L = &w.mu
	return w
}

// begin waits until everything that was read has been used up and the Transport waits for more, or the connection is closed,
// as the Transport does on finding something left. From then on t is what bytes are for.
func (c *conn) begin(t *attempt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serving, c.asked, c.wrote, c.heard = t, false, false, false
	for !c.reading && c.dead == nil {
		c.changed.Wait()
	}
}

// sent reports whether any byte of the request went out.
func (c *conn) sent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrote
}

func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	c.reading = true
	c.changed.Broadcast()
	left := int64(math.MaxInt64)
	if c.serving != nil {
		left = c.serving.head.left()
	}
	c.mu.Unlock()
	if c.surplus {
		return 0, errUnasked
	}
	n, err := c.read(p, left)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = false
	if n > 0 {
		if bad := c.hear(p[:n]); bad != nil {
			n, err = 0, bad
		}
	}
	if err != nil {
		c.die(err)
	}
	return n, err
}

// tail is the end of a body that is read with room for some bytes more than it has.
const tail = 512

// read reads from the socket. Who wants no more than is left of a body would not see what comes behind it, which shows that its length is
// wrong, until it has gone out: so the last part of a body is read for itself, with room for that.
func (c *conn) read(p []byte, left int64) (int, error) {
	switch {
	case int64(len(p)) != left || left == 0:
		return c.Conn.Read(p)
	case left > tail:
		return c.Conn.Read(p[:left-tail])
	}
	var end [tail + len(statusLine)]byte
	n, err := c.Conn.Read(end[:left+int64(len(statusLine))])
	if surplus := end[min(int64(n), left):n]; len(surplus) > 0 {
		c.surplus = true
		if !beginsAnswer(surplus) {
			err = errExcess
		}
	}
	return copy(p, end[:n]), err
}

// hear takes what came, or refuses it.
func (c *conn) hear(p []byte) error {
	if !c.asked {
		return errUnasked
	}
	if err := c.serving.head.read(p); err != nil {
		c.serving.end(err)
		return err
	}
	c.heard = true
	return nil
}

// die ends the connection for its attempt, before the Transport learns of it.
func (c *conn) die(err error) {
	if c.dead == nil {
		c.dead = err
		c.changed.Broadcast()
	}
	if c.asked && !c.heard {
		c.serving.end(fmt.Errorf("%w: %w", errLost, err))
	}
}

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	err := c.dead
	c.asked = c.asked || err == nil
	c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrote = c.wrote || n > 0
	if err != nil && c.wrote {
		c.die(err)
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
