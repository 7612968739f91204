package proxy

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/problem"
)

const (
	// searchPause is the minimum time between two searches for clients that have left.
	searchPause = 50 * time.Millisecond
	// searched is how many slots a search examines. Map order makes each search pick others.
	searched = 200
	// orphans is how many requests to the origin there may be for each slot. They can outnumber the
	// slots, because a request to the origin goes on after its last client has left.
	orphans = 2
)

// The concurrency limiter has a fixed number of slots for requests that wait for the origin.
// When all are taken, it refuses at once each request that the cache can't answer (load shedding).
// So an origin that hangs does not use up memory, nor slow down requests that the cache can answer.
type concurrencyLimiter struct {
	max     int
	shed    atomic.Int64
	fetches atomic.Int64 // requests to the origin in flight
	mu      sync.Mutex
	slots   map[*slot]struct{}
	last    time.Time // of the last search
}

// A slot is a slot, taken by one request.
type slot struct {
	conn       interface{ ClientGone() bool }
	clientGone chan struct{} // closed when the slot is freed because the client has left
}

func newConcurrencyLimiter(places int) *concurrencyLimiter {
	return &concurrencyLimiter{max: places, slots: map[*slot]struct{}{}}
}

// acquire takes a slot, or returns the problem for overload. The caller gives the slot back with
// leave.
func (w *concurrencyLimiter) acquire(conn interface{ ClientGone() bool }, now time.Time) (*slot, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.slots) >= w.max && now.Sub(w.last) >= searchPause {
		w.last = now
		w.reclaim()
	}
	if len(w.slots) >= w.max {
		w.shed.Add(1)
		return nil, overloaded()
	}
	p := &slot{conn: conn, clientGone: make(chan struct{})}
	w.slots[p] = struct{}{}
	return p, nil
}

// reclaim frees the slots of clients that have left.
func (w *concurrencyLimiter) reclaim() {
	looked := 0
	for p := range w.slots {
		if looked++; looked > searched {
			return
		}
		if p.conn.ClientGone() {
			delete(w.slots, p)
			close(p.clientGone)
		}
	}
}

func (w *concurrencyLimiter) release(p *slot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.slots, p)
}

func (w *concurrencyLimiter) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.slots)
}

// beginFetch counts a request to the origin, or returns the problem for overload. After the request
// the caller calls answered.
func (w *concurrencyLimiter) beginFetch() error {
	if w.fetches.Add(1) > orphans*int64(w.max) {
		w.fetches.Add(-1)
		w.shed.Add(1)
		return overloaded()
	}
	return nil
}

func (w *concurrencyLimiter) endFetch() { w.fetches.Add(-1) }

func overloaded() *problem.Problem {
	return problem.New(http.StatusServiceUnavailable, "too many requests are waiting for the origin; trying again in a moment may help").
		With("Retry-After", "1")
}

// Waiting returns the number of requests that wait for the origin.
func (o *Fetcher) Waiting() int { return o.limiter.waiting() }

// Refused returns the number of requests that load shedding has refused.
func (o *Fetcher) Refused() int64 { return o.limiter.shed.Load() }
