package edge

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
type waitingRoom struct {
	max    int
	shed   atomic.Int64
	asking atomic.Int64 // requests to the origin in flight
	mu     sync.Mutex
	taken  map[*seat]struct{}
	last   time.Time // of the last search
}

// A seat is a slot, taken by one request.
type seat struct {
	conn interface{ Left() bool }
	left chan struct{} // closed when the slot is freed because the client has left
}

func newWaitingRoom(places int) *waitingRoom {
	return &waitingRoom{max: places, taken: map[*seat]struct{}{}}
}

// enter takes a slot, or returns the problem for overload. The caller gives the slot back with
// leave.
func (w *waitingRoom) enter(conn interface{ Left() bool }, now time.Time) (*seat, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.taken) >= w.max && now.Sub(w.last) >= searchPause {
		w.last = now
		w.clear()
	}
	if len(w.taken) >= w.max {
		w.shed.Add(1)
		return nil, crowded()
	}
	p := &seat{conn: conn, left: make(chan struct{})}
	w.taken[p] = struct{}{}
	return p, nil
}

// clear frees the slots of clients that have left.
func (w *waitingRoom) clear() {
	looked := 0
	for p := range w.taken {
		if looked++; looked > searched {
			return
		}
		if p.conn.Left() {
			delete(w.taken, p)
			close(p.left)
		}
	}
}

func (w *waitingRoom) leave(p *seat) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.taken, p)
}

func (w *waitingRoom) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.taken)
}

// ask counts a request to the origin, or returns the problem for overload. After the request the
// caller calls answered.
func (w *waitingRoom) ask() error {
	if w.asking.Add(1) > orphans*int64(w.max) {
		w.asking.Add(-1)
		w.shed.Add(1)
		return crowded()
	}
	return nil
}

func (w *waitingRoom) answered() { w.asking.Add(-1) }

func crowded() *problem.Problem {
	return problem.New(http.StatusServiceUnavailable, "too many requests are waiting for the origin; trying again in a moment may help").
		With("Retry-After", "1")
}
