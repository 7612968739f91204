package h2

import (
	"net/http"
	"time"

	"golang.org/x/net/http2"
)

const (
	sweepEvery  = time.Second
	timeoutUnit = 1 << 20 // the number of bytes that a timeout is for
)

// sweep checks the deadlines of all streams every second, as long as the connection has any. A
// deadline is for a whole request or response, however many bytes keep moving.
func (c *Conn) sweep() {
	if c.sweeping {
		return
	}
	c.sweeping = true
	time.AfterFunc(sweepEvery, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.sweeping = false
		if c.dead != nil {
			return
		}
		c.overdue(time.Now())
		if len(c.streams) > 0 {
			c.sweep()
		}
	})
}

// overdue ends the streams that are late.
func (c *Conn) overdue(now time.Time) {
	ended := false
	for _, s := range c.streams {
		if !s.late(c.srv.config, now) {
			continue
		}
		ended = true
		c.srv.counts.stalled.Add(1)
		if s.request != nil {
			s.request.Refuse = http.StatusRequestTimeout
			if c.now = now; c.runHandler(s) == nil {
				continue
			}
		}
		c.sendReset(s.id, http2.ErrCodeCancel)
		c.remove(s)
	}
	if ended {
		c.start()
		c.flush()
	}
}

// late reports whether a request, or the sending of its response, takes too long. The time in which
// a handler prepares the response does not count.
func (s *stream) late(cfg Config, now time.Time) bool {
	switch {
	case s.tunnel != nil && s.tunnel.open:
		return false // the tunnel has a limit of its own
	case s.request != nil:
		return now.Sub(s.began) > cfg.Receive*time.Duration(1+s.received/timeoutUnit)
	case s.headersSent || s.body != nil:
		return now.Sub(s.began) > cfg.Send*time.Duration(1+s.sent/timeoutUnit)
	}
	return false
}

// stuck reports whether a response can't continue until the client opens a window.
func (s *stream) stuck(window int64) bool { return s.headersSent && min(window, s.window) <= 0 }
