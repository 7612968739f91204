package wire

import (
	"context"
	"sync"
	"time"
)

// A limit ends an exchange at a time, or with a context, by closing the connection. It outlasts the
// exchange: its timer is set again only when it expires, and the watch over a context remains for
// the next exchange with the same context. Timers and watches for each exchange would cost more
// than the exchange itself.
type limit struct {
	mu      sync.Mutex
	due     time.Time // zero: there is no exchange with a limit
	armed   time.Time // when the timer expires; zero: it is not set
	expired bool
	timer   *time.Timer

	watched context.Context // nil: none
	stop    func() bool     // ends the watch
}

// Begin begins an exchange that must end before a time.
func (c *Conn) Begin(due time.Time) {
	l := &c.limit
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due = due
	if !l.armed.IsZero() && !due.Before(l.armed) {
		return
	}
	l.armed = due
	if l.timer == nil {
		l.timer = time.AfterFunc(time.Until(due), c.expire)
		return
	}
	l.timer.Reset(time.Until(due))
}

// End ends the exchange, and reports whether it was in time. Otherwise c is closed.
func (c *Conn) End() (inTime bool) {
	l := &c.limit
	l.mu.Lock()
	defer l.mu.Unlock()
	l.due = time.Time{}
	return !l.expired
}

func (c *Conn) expire() {
	l := &c.limit
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = time.Time{}
	switch left := time.Until(l.due); {
	case l.due.IsZero():
	case left > 0:
		l.armed = l.due
		l.timer.Reset(left)
	default:
		l.expired = true
		c.Conn.Close()
	}
}

// Follow closes c when ctx ends, instead of with the context before. It reports whether that one
// has not ended; otherwise c is closed.
func (c *Conn) Follow(ctx context.Context) bool {
	l := &c.limit
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx == l.watched {
		return true
	}
	if !l.unfollow() {
		return false
	}
	conn := c.Conn
	l.watched, l.stop = ctx, context.AfterFunc(ctx, func() { conn.Close() })
	return true
}

// Unfollow makes c outlast the context that it follows. It reports whether that one has not ended;
// otherwise c is closed.
func (c *Conn) Unfollow() bool {
	l := &c.limit
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unfollow()
}

func (l *limit) unfollow() bool {
	if l.stop != nil && !l.stop() {
		return false
	}
	l.watched, l.stop = nil, nil
	return true
}

// Close closes the connection, and ends its limits.
func (c *Conn) Close() error {
	c.Unfollow()
	l := &c.limit
	l.mu.Lock()
	if l.due = (time.Time{}); l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	return c.Conn.Close()
}
