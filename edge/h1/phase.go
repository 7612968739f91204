package h1

import "time"

// A Phase is what a connection is doing.
type Phase uint8

// The phases.
const (
	Idle    Phase = iota // no request has begun; or hits alone are answered, which takes no time
	Reading              // a request has begun and is not whole
	Busy                 // the server answers one
	Writing              // a part of its answer is being written
)

// Phase is what c does, and since when, as seen from outside. A connection that answers hits is idle since the last second.
func (c *Conn) Phase() (Phase, time.Time) {
	v := c.phase.Load()
	return Phase(v & 3), time.UnixMilli(v >> 2)
}

func (c *Conn) enter(p Phase, now time.Time) { c.phase.Store(now.UnixMilli()<<2 | int64(p)) }

// Await says that a request is expected from now on.
func (c *Conn) Await(now time.Time) { c.enter(Idle, now) }

// Serve says that the request is whole, and is being answered.
func (c *Conn) Serve(now time.Time) { c.enter(Busy, now) }
