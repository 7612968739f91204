package h1

import (
	"sync/atomic"
	"time"
)

// A Phase is the activity of a connection.
type Phase uint8

// The phases.
const (
	Idle    Phase = iota // no request has begun, or only hits are answered, which takes no time
	Reading              // a request has begun and is incomplete
	Busy                 // the server prepares a response
	Writing              // a part of the response is being written
)

// An activity is the current phase and its beginning, for all goroutines.
type activity struct{ v atomic.Int64 }

func (a *activity) enter(p Phase, now time.Time) { a.v.Store(now.UnixMilli()<<2 | int64(p)) }

func (a *activity) load() (p Phase, since time.Time) {
	v := a.v.Load()
	return Phase(v & 3), time.UnixMilli(v >> 2)
}

// Phase returns the activity of c, and since when. If a connection only answers hits it is idle,
// and the time is up to a second old.
func (c *Conn) Phase() (Phase, time.Time) { return c.phase.load() }

// Await records that a request is expected from now on.
func (c *Conn) Await(now time.Time) { c.phase.enter(Idle, now) }

// Serve records that the request is complete and the server is working on it.
func (c *Conn) Serve(now time.Time) { c.phase.enter(Busy, now) }
