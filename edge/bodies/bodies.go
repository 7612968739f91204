// Package bodies bounds the memory that clients occupy before they have a response: the bodies and
// header fields of requests under way, and the buffers of connections, whatever the protocol.
package bodies

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Free is the longest body, in bytes, that does not count against Max.
const Free = 64 << 10

// ErrOverloaded means that the memory for requests or for unread responses, or the client's share
// of it, is used up.
var ErrOverloaded = errors.New("too many bytes of requests and responses are held in memory")

// A Budget accounts for that memory. It is safe for concurrent use; a nil Budget has no bound.
//
// Each bounds a client. Many clients that stay within it may still hold more than the process has,
// so Requests and Responses bound all of them together. Beyond seven eighths of such a bound the
// client that holds most gets no more and loses what it has begun last; others get the last eighth
// meanwhile. Hits reserve nothing.
type Budget struct {
	Max  int64 // bytes of requests that have not arrived completely, of all clients together
	Each int64 // bytes of all kinds that one client may hold; 0: no bound
	// EachRequests is how many of them may be for more than connections at rest; 0: all. It keeps
	// a client that may have many connections from using their bytes for requests.
	EachRequests int64
	Requests     int64 // bytes of requests without a response, of all clients together; 0: no bound
	Responses    int64 // bytes of responses that clients do not take, likewise

	used     atomic.Int64
	awaiting atomic.Int64
	mu       sync.Mutex
	clients  map[netip.Prefix]holding
	held     int64 // by all clients
	peak     int64 // the maximum of held since Fallen last returned true
	pools    [kinds]pool
}

// A holding is the bytes that a client holds.
type holding struct{ all, requests int64 }

// A Share records how many bytes a request, a stream or a connection holds in a Budget. Its zero
// value belongs to no particular client, so Each does not bound it. Only one goroutine at a time
// may call Reserve, ReserveShare, ReserveResponse, Answered and Unread for a Share; any goroutine
// may call Release.
type Share struct {
	Client     netip.Prefix
	Connection bool         // it holds what a connection at rest takes, not requests
	Whole      bool         // the request has arrived completely, so its client can't delay it
	Holder     Holder       // gives its bytes back early; nil: nothing can
	all        atomic.Int64 // counts against Max and Each
	own        atomic.Int64 // counts against Each alone
	place      *place       // in a pool; nil: it is in none. Budget.mu guards it
}

// A Holder holds the bytes of a Share.
type Holder interface {
	// End ends the request or response, so that its bytes become free for other clients. It is
	// called on a goroutine of its own, once at most, and may come too late.
	End()
}

// Used returns the number of bytes that count against Max.
func (r *Budget) Used() int64 { return r.used.Load() }

// Held returns the number of bytes that a client holds.
func (r *Budget) Held(client netip.Prefix) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clients[client].all
}

// HeldByRequests returns how many of these bytes count against EachRequests.
func (r *Budget) HeldByRequests(client netip.Prefix) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clients[client].requests
}

// Body makes a Share as large as a body of length bytes needs. A short body does not count against
// Max, so that short requests pass while long ones use it up.
func (r *Budget) Body(s *Share, length int64) error {
	if length <= Free {
		return r.ReserveShare(s, length)
	}
	return r.Reserve(s, length)
}

// Reserve makes a Share hold at least n bytes of a request that has not arrived completely. If the
// Budget or the client's share is too small it changes nothing and returns ErrOverloaded.
func (r *Budget) Reserve(s *Share, n int64) error {
	if r == nil {
		return nil
	}
	more := n - s.all.Load()
	if more <= 0 {
		return nil
	}
	if r.used.Add(more) > r.Max || !r.charge(s, more, requests) {
		r.used.Add(-more)
		return ErrOverloaded
	}
	s.all.Add(more)
	return nil
}

// ReserveShare makes a Share hold at least n bytes of a request that do not count against Max.
func (r *Budget) ReserveShare(s *Share, n int64) error { return r.reserve(s, n, requests) }

// ReserveResponse makes a Share hold at least n bytes of a response that its client does not take.
func (r *Budget) ReserveResponse(s *Share, n int64) error { return r.reserve(s, n, responses) }

func (r *Budget) reserve(s *Share, n int64, k kind) error {
	if r == nil {
		return nil
	}
	more := n - s.own.Load()
	if more <= 0 {
		return nil
	}
	if !r.charge(s, more, k) {
		return ErrOverloaded
	}
	s.own.Add(more)
	return nil
}

// Shrink makes a Share hold at most n of the bytes that ReserveShare has reserved. No other
// goroutine may use the Share meanwhile.
func (r *Budget) Shrink(s *Share, n int64) {
	less := s.own.Load() - n
	if r == nil || less <= 0 {
		return
	}
	s.own.Add(-less)
	r.discharge(s, less)
}

// Release releases all that a Share holds.
func (r *Budget) Release(s *Share) {
	all, own := s.all.Swap(0), s.own.Swap(0)
	if r == nil || all+own == 0 {
		return
	}
	r.used.Add(-all)
	r.discharge(s, all+own)
}

// Arrived releases what a Share holds by Reserve, because the request has arrived completely and
// its bytes are passed on.
func (r *Budget) Arrived(s *Share) {
	all := s.all.Swap(0)
	if r == nil || all == 0 {
		return
	}
	r.used.Add(-all)
	r.discharge(s, all)
}

// charge adds n bytes to those that a Share's client holds, unless that exceeds what it may hold,
// or what all may.
func (r *Budget) charge(s *Share, n int64, k kind) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	var holds holding
	if r.bounds(s) {
		holds = r.clients[s.Client].plus(s, n)
		if holds.all > r.Each || r.EachRequests > 0 && !s.Connection && holds.requests > r.EachRequests {
			return false
		}
	}
	if !s.Connection && !r.count(s, n, k) {
		return false
	}
	if r.bounds(s) {
		if r.clients == nil {
			r.clients = map[netip.Prefix]holding{}
		}
		r.clients[s.Client] = holds
	}
	r.held += n
	r.peak = max(r.peak, r.held)
	return true
}

func (r *Budget) discharge(s *Share, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held -= n
	r.uncount(s, n)
	if !r.bounds(s) {
		return
	}
	if holds := r.clients[s.Client].plus(s, -n); holds.all > 0 {
		r.clients[s.Client] = holds
	} else {
		delete(r.clients, s.Client)
	}
}

// bounds reports whether Each bounds a Share.
func (r *Budget) bounds(s *Share) bool { return s.Client.IsValid() && r.Each > 0 }

// plus returns h with n more bytes of a Share.
func (h holding) plus(s *Share, n int64) holding {
	h.all += n
	if !s.Connection {
		h.requests += n
	}
	return h
}

// Fallen reports whether clients hold at least n bytes less than their maximum since it last
// returned true. That memory is garbage, which the runtime is in no hurry to collect.
func (r *Budget) Fallen(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.peak-r.held < n {
		return false
	}
	r.peak = r.held
	return true
}
