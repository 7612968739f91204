package edge

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/problem"
)

const (
	// searchPause is between two searches for clients that have left, searched how many are looked at each time: any, not always the same.
	searchPause = 50 * time.Millisecond
	searched    = 200
	// orphans is how many questions to the origin there may be for each place: those that nobody waits for any more go on as well.
	orphans = 2
)

// A waitingRoom has so many places for requests that wait for the origin. When all are taken, what the cache can't answer is refused at
// once, so that a stuck origin costs neither memory nor the time of those whom the cache can answer.
type waitingRoom struct {
	max    int
	shed   atomic.Int64
	asking atomic.Int64 // questions to the origin under way
	mu     sync.Mutex
	taken  map[*seat]struct{}
	last   time.Time // search
}

// A seat is one place, taken by a request.
type seat struct {
	conn interface{ Left() bool }
	left chan struct{} // closed when the place was given to another, because the client has gone
}

func newWaitingRoom(places int) *waitingRoom {
	return &waitingRoom{max: places, taken: map[*seat]struct{}{}}
}

// enter takes a place. Who takes one gives it back with leave.
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

// clear frees the places of clients that have left.
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

// ask counts a question to the origin, if it may be asked. Who asks one says answered.
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
