package purge

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/fleet"
	"github.com/iconedge/iconedge/edge/library"
)

// Peers are the other edges of the fleet, to which this edge announces purges and releases. nil
// means that there are none.
type Peers struct {
	Fleet   *fleet.Fleet
	log     *slog.Logger
	release atomic.Pointer[string] // release that this edge last received or announced

	mu      sync.Mutex
	closing chan struct{}  // closed when no new background task may start
	later   sync.WaitGroup // background tasks
}

// NewPeers returns the peers of an edge; nil without a fleet.
func NewPeers(f *fleet.Fleet, log *slog.Logger) *Peers {
	if f == nil {
		return nil
	}
	return &Peers{Fleet: f, log: log, closing: make(chan struct{})}
}

// A Follower does what other edges announce.
type Follower struct {
	*Peers
	purger  *Purger
	library *library.Library
	wanted  atomic.Pointer[string] // release that it last received and now awaits from its origin
}

// Follow begins to do what the other edges announce. If the cache is warm, it may hold entries of
// the edge's previous run; Follow then applies the purges since that run, as far as Redis answers.
// It returns nil without a fleet.
func (s *Peers) Follow(p *Purger, l *library.Library, warm bool) *Follower {
	if s == nil {
		return nil
	}
	position := ""
	if warm {
		position = l.Progress.Position
	}
	f := &Follower{Peers: s, purger: p, library: l}
	s.Fleet.Follow(position, !warm, f)
	return f
}

// Close leaves the fleet and waits for the background tasks. They must be done, because the stored
// position in the fleet's log counts them as applied.
func (s *Peers) Close() {
	if s == nil {
		return
	}
	s.Fleet.Close()
	s.mu.Lock()
	close(s.closing)
	s.mu.Unlock()
	s.later.Wait()
}

// background runs a background task on its own goroutine, unless the edge is closing.
func (s *Peers) background(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closing:
	default:
		s.later.Go(do)
	}
}

// sleep waits for d, or until the edge is closing. It reports whether the edge is closing.
func (s *Peers) sleep(d time.Duration) (ends bool) {
	select {
	case <-s.closing:
		return true
	case <-time.After(d):
		return false
	}
}
