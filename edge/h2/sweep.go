package h2

import (
	"net/http"
	"time"

	"golang.org/x/net/http2"
)

const (
	sweepEvery = time.Second
	unit       = 1 << 20 // bytes that the time for a request, or an answer, is for
)

// sweep looks after the streams of a connection, for as long as it has any: each request and each answer has a time as a
// whole, however many bytes of it keep coming, or going.
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

// overdue ends the streams whose time is over.
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
			if c.now = now; c.handle(s) == nil {
				continue
			}
		}
		c.sendReset(s.id, http2.ErrCodeCancel)
		c.remove(s)
	}
	if ended {
		c.flush()
	}
}

// late reports whether a request, or the answer to it, takes too long. While a handler thinks, it is not the client that does.
func (s *stream) late(cfg Config, now time.Time) bool {
	switch {
	case s.request != nil:
		return now.Sub(s.began) > cfg.Receive*time.Duration(1+s.came/unit)
	case s.answered || s.body != nil:
		return now.Sub(s.began) > cfg.Send*time.Duration(1+s.sent/unit)
	}
	return false
}

// stuck reports whether the handler of an answered request can send nothing more before the client opens a window.
func (s *stream) stuck(window int64) bool { return s.answered && min(window, s.window) <= 0 }
