package h1

import (
	"bytes"
	"errors"
	"io"
	"time"
)

const continueResponse = "HTTP/1.1 100 Continue\r\n\r\n"

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
