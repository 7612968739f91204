package h2

import (
	"net/http"
	"time"

	"golang.org/x/net/http2"

	"github.com/iconedge/iconedge/edge/bodies"
)

const (
	renewInterval  = 4 * time.Second  // between changes of a deadline, which cost more than a hit
	partialTimeout = 20 * time.Second // for the rest of a frame or header block

	sweepEvery  = time.Second
	timeoutUnit = 1 << 20 // the number of bytes that a timeout is for
)

// A deadline decides until when a connection may be silent. It also pays for the memory of an
// incomplete frame or header block.
type deadline struct {
	renewed time.Time    // the last use for which it was moved
	partial bool         // a frame or header block is incomplete, and its deadline runs
	share   bodies.Share // of Config.Bodies, while partial
}

// next returns the deadline for the next request, or for the rest of an incomplete frame; zero: it
// stays where it is. Only requests and DATA on open streams count as use: a client can't keep its
// connection with PING, WINDOW_UPDATE, SETTINGS, PRIORITY or padding alone.
func (d *deadline) next(partial bool, now, lastUse time.Time, cfg *Config) (until time.Time, err error) {
	used := lastUse.Sub(d.renewed) > renewInterval
	switch {
	case partial && (!d.partial || used):
		cost := inBuffer + max(leastBlock, cfg.MaxList) // of a partial frame or header block
		if !d.partial && cfg.Bodies.ReserveShare(&d.share, int64(cost)) != nil {
			return until, connectionError(http2.ErrCodeEnhanceYourCalm, "the client has too many requests under way")
		}
		d.partial, d.renewed = true, lastUse
		return now.Add(partialTimeout), nil
	case !partial && (d.partial || used):
		if d.partial {
			cfg.Bodies.Release(&d.share)
		}
		d.partial, d.renewed = false, lastUse
		return lastUse.Add(cfg.Idle + renewInterval), nil
	}
	return until, nil
}

// sweep checks the deadlines of all streams every second, as long as the connection has any. A
// deadline is for a whole request or response, however many bytes keep moving.
func (c *Conn) sweep() {
	if c.streams.sweeping {
		return
	}
	c.streams.sweeping = true
	time.AfterFunc(sweepEvery, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.streams.sweeping = false
		if c.phase.dead != nil {
			return
		}
		c.overdue(time.Now())
		if len(c.streams.open) > 0 {
			c.sweep()
		}
	})
}

// overdue ends the streams that are late.
func (c *Conn) overdue(now time.Time) {
	ended := false
	for _, s := range c.streams.open {
		if !s.late(c.srv.config, now) {
			continue
		}
		ended = true
		c.srv.counts.stalled.Add(1)
		if s.upload != nil && !s.headersSent {
			s.upload.expired = true // its handler answers 408
			s.upload.wake()
			continue
		}
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

// waits is the time that one side waits for the client.
type waits struct {
	since  time.Time // zero: it does not wait now
	before time.Duration
}

func (w *waits) begin(now time.Time) { w.since = now }

func (w *waits) end(now time.Time) { *w = waits{before: w.sum(now)} }

// sum returns all of the time until now.
func (w *waits) sum(now time.Time) time.Duration {
	if w.since.IsZero() {
		return w.before
	}
	return w.before + now.Sub(w.since)
}

// late reports whether a request, or the sending of its response, takes too long. The time in which
// a handler prepares the response, or a part of it, does not count.
func (s *stream) late(cfg Config, now time.Time) bool {
	switch {
	case s.tunnel != nil && s.tunnel.open:
		return false // the tunnel has a limit of its own
	case s.request != nil:
		return now.Sub(s.began) > cfg.Receive*time.Duration(1+s.received/timeoutUnit)
	case s.upload != nil && !s.whole && !s.headersSent:
		return s.upload.late(cfg, now)
	case s.headersSent:
		return s.waits.sum(now) > cfg.Send*time.Duration(1+s.sent/timeoutUnit)
	case s.body != nil:
		return now.Sub(s.began) > cfg.Send*time.Duration(1+s.sent/timeoutUnit)
	}
	return false
}

// stuck reports whether a response can't continue until the client opens a window.
func (s *stream) stuck(window int64) bool { return s.headersSent && min(window, s.window) <= 0 }
