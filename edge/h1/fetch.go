package h1

import (
	"bytes"
	"sync/atomic"
	"time"
)

// A fetch makes the response to a request ready that the Answerer has declined. Meanwhile the
// connection stays on its loop, without a goroutine of its own, and nothing is read from it.
type fetch struct {
	size   int                             // of the request, in bytes
	fresh  bool                            // it is the first of its connection
	append func(dst []byte) (whole []byte) // the response; nil: the server must answer
	result any                             // for the server
	ready  atomic.Bool
}

// fetch begins the fetch of the declined request with which early begins.
func (c *Conn) fetch(s *Scratch, early []byte, now time.Time, f *fetch) bool {
	fetcher, ok := c.answerer.(Fetcher)
	if !ok || s.request.Sampled {
		return false
	}
	f.size = s.size
	ready := func(append func(dst []byte) []byte, result any) {
		f.append, f.result = append, result
		f.ready.Store(true)
		c.socket.Wake()
	}
	if !fetcher.Fetch(&s.request.Request, c, ready) {
		return false
	}
	c.backlog = &backlog{early: bytes.Clone(early), fetch: f}
	c.phase.enter(Busy, now)
	return true
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
		c.fresh, c.declined, c.sampled, c.prepared = f.fresh, true, false, f.result
		return ForServer
	}
	s.out = f.append(s.out[:0])
	early = early[f.size:]
	c.phase.enter(Idle, now)
	if c.sendTurn(s.out, nil, early, now) != nil {
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
