package upstream

import (
	"io"
	"time"
)

// Received returns a body that has been received.
func Received(body []byte) io.ReadCloser { return &receivedBody{content: body, left: body} }

// serve is Do for a Local.
func (c *Client) serve(r *Request, began time.Time) (*Response, error) {
	a, err := c.local.Serve(r)
	if err != nil {
		return nil, c.fail(err)
	}
	a.Host, a.RequestTime, a.ResponseTime = c.local.String(), began, time.Now()
	return a, nil
}

// Streams reports whether the response to a request should be sent without storing it; see Local.
func (c *Client) Streams(r *Request) bool { return c.local != nil && c.local.Streams(r) }

// IsLocal reports whether the edge makes the responses itself.
func (c *Client) IsLocal() bool { return c.local != nil }
