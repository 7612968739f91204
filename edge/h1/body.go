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
	continueResponse = "HTTP/1.1 100 Continue\r\n\r\n"
	minReserve       = 64 << 10 // bytes reserved first; then as many as have arrived
)

// long reports whether a body of that length is collected before the server sees the request. If
// the body is longer than allowed the server has to refuse it.
func (c *Conn) long(length int64) bool { return bodies.Free < length && length <= c.limits.MaxBody }

// collectBody reads the rest of a long body before the server sees the request, because the server
// would allocate the announced length at once, and announcing costs a client nothing.
func (c *Conn) collectBody(head []byte, begun bool) error {
	if c.request.expects && !begun && bytes.HasSuffix(head[:bytes.IndexByte(head, '\n')], []byte(" HTTP/1.1\r")) {
		if err := c.sendContinue(); err != nil {
			return err
		}
	}
	for have := int64(len(c.buffered)); have < c.current.left; have = int64(len(c.buffered)) {
		room := min(c.current.left-have, max(have, minReserve))
		if err := c.limits.Bodies.Body(&c.share, have+room); err != nil {
			return err
		}
		c.buffered = slices.Grow(c.buffered, int(room))
		n, err := c.readMore(c.buffered[have : have+room])
		if c.buffered = c.buffered[:have+int64(n)]; err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sendContinue sends the 100 that the client waits for before it sends the body (RFC 9110, section
// 10.1.1).
func (c *Conn) sendContinue() error {
	c.writing.force()
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.limits.Answer)); err != nil {
		return err
	}
	_, err := io.WriteString(c.Conn, continueResponse)
	return err
}

// fail gives the server the first byte of a request, and the error with its next Read. Bytes of the
// body are dropped.
func (c *Conn) fail(err error) (int, error) {
	c.limits.Bodies.Release(&c.share)
	c.buffered = nil
	c.current.fail(err)
	return 1, nil
}

var errMalformed = errors.New("the request is malformed")

// refuse gives the server a malformed request and an error instead of more bytes, so that the
// server refuses it at once. Empty lines alone would look like the end of the connection to the
// server, and the client would get no response, so refuse makes the first byte invalid.
func (c *Conn) refuse(p []byte) (int, error) {
	c.current.failure = errMalformed
	if len(bytes.Trim(p, "\r\n")) == 0 {
		p[0] = 0
	}
	return len(p), nil
}
