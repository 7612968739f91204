package h1

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/iconedge/iconedge/edge/bodies"
)

const (
	continued = "HTTP/1.1 100 Continue\r\n\r\n"
	leastHeld = 64 << 10 // bytes that are made room for at a time, and then as many as have come
)

// long reports whether a body of that length is held here until it is whole. Of one that is longer than any may be the server has to
// say so.
func (c *Conn) long(length int64) bool { return bodies.Free < length && length <= c.limits.MaxBody }

// hold reads the rest of a long body before the server hears of the request. The server makes room for as much as is announced,
// and announcing costs nothing.
func (c *Conn) hold(head []byte, begun bool) error {
	if c.request.expects && !begun && bytes.HasSuffix(head[:bytes.IndexByte(head, '\n')], []byte(" HTTP/1.1\r")) {
		if err := c.proceed(); err != nil {
			return err
		}
	}
	for have := int64(len(c.rest)); have < c.body; have = int64(len(c.rest)) {
		room := min(c.body-have, max(have, leastHeld))
		if err := c.limits.Bodies.Body(&c.held, have+room); err != nil {
			return err
		}
		c.rest = slices.Grow(c.rest, int(room))
		n, err := c.further(c.rest[have : have+room])
		if c.rest = c.rest[:have+int64(n)]; err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// proceed tells a client that waits to be told so that its body is expected (RFC 9110, section 10.1.1).
func (c *Conn) proceed() error {
	c.writes = time.Time{}
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.limits.Answer)); err != nil {
		return err
	}
	_, err := io.WriteString(c.Conn, continued)
	return err
}

// fail gives the server the first byte of a request, and with its next Read the reason why there will be no more. What was held is dropped.
func (c *Conn) fail(err error) (int, error) {
	c.limits.Bodies.Give(&c.held)
	c.failure, c.rest, c.body = err, nil, 1
	return 1, nil
}

var errUnsound = errors.New("the request is malformed")

// refuse gives the server what is no request by the letter, and nothing more: whatever is missing, it is refused at once. Empty lines alone
// the server would take for the end of the connection, which is no answer to those who send too many.
func (c *Conn) refuse(p []byte) (int, error) {
	c.failure = errUnsound
	if len(bytes.Trim(p, "\r\n")) == 0 {
		p[0] = 0
	}
	return len(p), nil
}
