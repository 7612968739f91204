package h1

import (
	"bytes"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/request"
)

// A fetch makes the response to a request ready that the Answerer has declined. Meanwhile the
// connection stays on its loop, without a goroutine of its own, and nothing is read from it.
type fetch struct {
	size    int                             // of the request, in bytes
	fresh   bool                            // it is the first of its connection
	pending request.Pending                 // until it is ready
	append  func(dst []byte) (whole []byte) // the response; nil: the server must answer
	result  any                             // for the server
	ready   atomic.Bool
}

// fetchCosts is the number of bytes that a fetch takes besides its request.
const fetchCosts = 6 << 10

// fetch begins the fetch of the declined request with which early begins.
func (c *Conn) fetch(s *Scratch, early []byte, now time.Time, f *fetch) bool {
	fetcher, ok := c.answerer.(Fetcher)
	c.share.Whole = true
	if !ok || c.limits.Bodies.ReserveShare(&c.share, int64(fetchCosts+len(early))) != nil {
		return false
	}
	f.size = s.size
	ready := func(append func(dst []byte) []byte, result any) {
		f.append, f.result = append, result
		f.ready.Store(true)
		c.socket.Wake()
	}
	if f.pending = fetcher.Fetch(&s.request.Request, c, ready); f.pending == nil {
		return false // the server reserves more for the same request
	}
	c.backlog = &backlog{early: bytes.Clone(early), fetch: f}
	c.phase.enter(Busy, now)
	c.socket.SetTimer(f.pending.Due())
	return true
}

// expire ends the wait for a fetch if its time is over. The server then answers with the error,
// unless the response is ready by now.
func (c *Conn) expire(f *fetch, now time.Time) {
	if due := f.pending.Due(); now.Before(due) {
		c.socket.SetTimer(due)
		return
	}
	c.expectNext(now)
	f.pending.Expire()
}

// fetched sends the response of a fetch, if it is ready.
func (c *Conn) fetched(s *Scratch) Next {
	f, early := c.backlog.fetch, c.backlog.early
	if !f.ready.Load() {
		return Wait
	}
	c.backlog = nil
	now := time.Now()
	if f.append == nil {
		c.toServer(early, now)
		c.fresh, c.declined, c.prepared = f.fresh, true, f.result
		return ForServer
	}
	c.limits.Bodies.Release(&c.share)
	s.out = f.append(s.out[:0])
	early = early[f.size:]
	c.phase.enter(Idle, now)
	if c.sendTurn(s, early, now) != nil {
		return c.lost()
	}
	if c.backlog != nil {
		return Wait
	}
	if len(early) > 0 {
		c.backlog = &backlog{early: early}
	}
	return Again // requests may have arrived meanwhile, and their events have passed
}
