package h1

import (
	"net"
	"time"
)

// Whole reports whether the server got its current request alone and to its end, so that all
// further bytes of the client are still here. A body that a handler reads is not the server's.
func (c *Conn) Whole() bool {
	return !c.current.incomplete() && c.current.failure == nil && c.current.upload == nil
}

// Interim writes a 1xx response before the server writes the response to its current request. A 100
// for the body of that request does not mix with it.
func (c *Conn) Interim(p []byte) error {
	if u := c.current.upload; u != nil {
		u.mu.Lock()
		defer u.mu.Unlock()
	}
	_, err := c.write(p, c.limits.Answer)
	return err
}

// Detach ends HTTP on the connection after the server has got a whole request. It returns the
// connection beneath, without deadlines, and the bytes that the client has sent after that request.
// They are of another protocol, so no Read returns them. Only Close may be called from then on.
func (c *Conn) Detach() (beneath net.Conn, early []byte) {
	early, c.buffered = c.buffered, nil
	c.phase.enter(Busy, time.Now())
	c.limits.Bodies.Answered(&c.share)
	c.Conn.SetDeadline(time.Time{})
	return c.Conn, early
}

// Finish gives the client of a detached connection the time of a response to take the bytes that
// have been written.
func (c *Conn) Finish(now time.Time) { c.delivery.shown.Store(now.Add(c.limits.Answer).UnixMilli()) }
