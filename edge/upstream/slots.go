package upstream

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// longAfter is the time after which an exchange counts as long: an upload, a stream of events,
	// or a long poll.
	longAfter = time.Second
	// longFactor is how many long exchanges there may be for each slot.
	longFactor = 16
)

// slots limits the exchanges with one origin. Long exchanges of forwarded paths give their slots
// back, so that they do not starve short requests, and are limited by themselves. If there are too
// many of them, they keep their slots.
type slots struct{ short, long chan struct{} }

func newSlots(n int) slots {
	return slots{make(chan struct{}, n), make(chan struct{}, n*longFactor)}
}

// A lease is the slot of one exchange.
type lease struct {
	slots slots
	mu    sync.Mutex
	held  chan struct{} // nil: it was given back
	timer *time.Timer   // nil: the exchange keeps its slot to its end
	ended func()        // called when the slot is given back; nil: nothing is
}

// take waits for a slot until ctx ends.
func (s slots) take(ctx context.Context, mayLast bool) (*lease, error) {
	select {
	case s.short <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	l := &lease{slots: s, held: s.short}
	if mayLast {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.timer = time.AfterFunc(longAfter, l.prolong)
	}
	return l, nil
}

// prolong makes a lease one of a long exchange, if there is room.
func (l *lease) prolong() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		return
	}
	select {
	case l.slots.long <- struct{}{}:
		<-l.held
		l.held = l.slots.long
	default:
		l.timer.Reset(longAfter)
	}
}

// release gives the slot back. Only the first call does.
func (l *lease) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		return
	}
	<-l.held
	l.held = nil
	if l.ended != nil {
		l.ended()
	}
	if l.timer != nil {
		l.timer.Stop()
	}
}

// until makes the end of a response's body release the slot.
func (l *lease) until(resp *http.Response) {
	if resp.Body == http.NoBody || resp.StatusCode == http.StatusSwitchingProtocols {
		l.release()
		return
	}
	resp.Body = &leasedBody{resp.Body, l}
}

// A leasedBody is a response's body that holds a slot.
type leasedBody struct {
	io.ReadCloser
	lease *lease
}

func (b *leasedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.lease.release()
	}
	return n, err
}

func (b *leasedBody) Close() error {
	defer b.lease.release()
	return b.ReadCloser.Close()
}
