// Package bodies bounds the memory that clients take of the edge before they have an answer: the bodies and header fields of requests under
// way, and what a connection costs, whatever protocol they come by.
package bodies

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Free is how long a body may be that does not count against Max, in bytes.
const Free = 64 << 10

// ErrCrowded says that the memory for requests, or the client's share of it, is used up.
var ErrCrowded = errors.New("too many bytes of requests are being read")

// A Room is that memory. It is safe for concurrent use; nil has no bound.
type Room struct {
	Max  int64 // bytes of requests that their clients have not sent whole, of all clients together
	Each int64 // bytes that one client may hold of anything that counts; 0: no bound

	used    atomic.Int64
	mu      sync.Mutex
	clients map[netip.Prefix]int64
	held    int64 // by all clients
	most    int64 // that held has been since Fallen last reported it
}

// A Share is what a request, a stream or a connection holds of a Room. Its zero value belongs to no client in particular: Each does
// not bound it. Only one goroutine at a time may take for a Share; any may give it back.
type Share struct {
	Client netip.Prefix
	all    atomic.Int64 // counts against Max and Each
	own    atomic.Int64 // counts against Each alone
}

// Used is how many bytes count against Max.
func (r *Room) Used() int64 { return r.used.Load() }

// Held is how many bytes a client holds.
func (r *Room) Held(client netip.Prefix) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clients[client]
}

// Body makes a Share as large as a body of length bytes needs. A short body counts against its client's share alone, so that short
// requests pass while long ones fill the room.
func (r *Room) Body(s *Share, length int64) error {
	if length <= Free {
		return r.Keep(s, length)
	}
	return r.Take(s, length)
}

// Take makes a Share hold at least n bytes of a request that the client has not sent whole. Where there is no room it changes
// nothing and returns ErrCrowded.
func (r *Room) Take(s *Share, n int64) error {
	if r == nil {
		return nil
	}
	more := n - s.all.Load()
	if more <= 0 {
		return nil
	}
	if r.used.Add(more) > r.Max || !r.charge(s.Client, more) {
		r.used.Add(-more)
		return ErrCrowded
	}
	s.all.Add(more)
	return nil
}

// Keep makes a Share hold at least n bytes that count against the client's share alone, because something other than Max bounds
// how many bytes of this kind all clients hold together.
func (r *Room) Keep(s *Share, n int64) error {
	if r == nil {
		return nil
	}
	more := n - s.own.Load()
	if more <= 0 {
		return nil
	}
	if !r.charge(s.Client, more) {
		return ErrCrowded
	}
	s.own.Add(more)
	return nil
}

// Give gives back all that a Share holds.
func (r *Room) Give(s *Share) {
	all, own := s.all.Swap(0), s.own.Swap(0)
	if r == nil || all+own == 0 {
		return
	}
	r.used.Add(-all)
	r.discharge(s.Client, all+own)
}

// charge adds n bytes to what a client holds, where its share allows that.
func (r *Room) charge(client netip.Prefix, n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if client.IsValid() && r.Each > 0 {
		if r.clients[client]+n > r.Each {
			return false
		}
		if r.clients == nil {
			r.clients = map[netip.Prefix]int64{}
		}
		r.clients[client] += n
	}
	r.held += n
	r.most = max(r.most, r.held)
	return true
}

func (r *Room) discharge(client netip.Prefix, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held -= n
	if client.IsValid() && r.Each > 0 {
		if r.clients[client] -= n; r.clients[client] <= 0 {
			delete(r.clients, client)
		}
	}
}

// Fallen reports whether clients hold at least n bytes less than they once held, since it last reported so. That memory is
// garbage, which the runtime collects at leisure.
func (r *Room) Fallen(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.most-r.held < n {
		return false
	}
	r.most = r.held
	return true
}
