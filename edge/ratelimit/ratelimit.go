// Package ratelimit counts clients' calls in sliding windows that are exact: in no window, however cut, do more calls than the
// limit get through, a client that keeps to the limit is never refused, and a call that was refused does not count.
//
// It keeps the moment of every call let through for as long as it counts, in slabs without pointers, and forgets a client
// when its last moment has left the window. Above a ceiling of clients new ones share the window of their IPv4 /24 or IPv6
// /48, so that nobody goes uncounted and memory stays bounded. Time is the caller's `now`; who the client is, behind
// proxies, is the caller's to say too. It imports nothing of ours.
package ratelimit

import (
	"hash/maphash"
	"math"
	"net/netip"
	"sync/atomic"
	"time"
)

const (
	shards            = 64
	defaultMaxClients = 1_000_000
)

// Options are what can be set on a Limiter besides its limit; the zero value is the default.
type Options struct {
	MaxClients int // ceiling of windows for single clients; 0: a million. Shared ones come on top, a quarter of it and no more
}

// A Decision is what Allow says of one call.
type Decision struct {
	OK         bool
	Remaining  int           // calls left in the window after this one
	Reset      time.Duration // until the next place frees; 0 where there is no limit
	RetryAfter time.Duration // where refused: Reset rounded up to whole seconds; a call after it has a place
}

// Stats are plain counts, for metrics.
type Stats struct {
	Clients int // windows of single clients that are kept
	Shared  int // windows that several clients share, above the ceiling
}

// A Limiter holds the windows of all clients of one class of calls. It is safe for concurrent use.
type Limiter struct {
	limit     Limit
	base      time.Time // the zero of the windows' clock: monotonic, where now is
	seed      maphash.Seed
	max       int64 // ceiling of clients; that of shared windows is a quarter
	clients   atomic.Int64
	crowds    atomic.Int64
	shardings [shards]shard
}

// New makes a Limiter. One whose limit is off lets everything through and keeps nothing.
func New(limit Limit, o Options) *Limiter {
	if o.MaxClients <= 0 {
		o.MaxClients = defaultMaxClients
	}
	l := &Limiter{limit: limit, base: time.Now(), seed: maphash.MakeSeed(), max: int64(o.MaxClients)}
	for i := range l.shardings {
		l.shardings[i].clock = math.MinInt64 // an edge's first call may come at any time
		l.shardings[i].reset()
	}
	return l
}

// Limit is what l was made with.
func (l *Limiter) Limit() Limit { return l.limit }

// Stats counts what l keeps now.
func (l *Limiter) Stats() Stats { return Stats{int(l.clients.Load()), int(l.crowds.Load())} }

// Allow counts a call of client at now, or refuses it. Where calls come with their times out of order, the latest time that
// was seen stands for the earlier ones: the windows' clock does not go back.
func (l *Limiter) Allow(client netip.Addr, now time.Time) Decision {
	if l.limit.Off() {
		return Decision{OK: true}
	}
	at := now.Sub(l.base)
	own := keyOf(client)
	if d, known := l.take(own, at, l.crowds.Load() == 0); known {
		return d
	}
	// Above the ceiling, or not long ago: whoever shares a window goes on sharing it until it is empty, so that
	// nobody gets a second one within the time of the first.
	near, wide := own.near(), own.wide()
	for _, shared := range [...]key{near, wide} {
		if d, known := l.take(shared, at, false); known {
			return d
		}
	}
	for _, k := range [...]key{own, near} {
		if d, known := l.take(k, at, true); known {
			return d
		}
	}
	d, _ := l.take(wide, at, true)
	return d
}

// take lets the call into the window of k, or refuses it. It is false where k has no window; add makes one, if there is room.
func (l *Limiter) take(k key, at time.Duration, add bool) (Decision, bool) {
	s := &l.shardings[maphash.Comparable(l.seed, k)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = max(s.clock, at)
	l.forget(s, 2) // two for each that may come: what has grown idle goes faster than what is new comes
	i, known := s.index[k]
	if !known {
		if !add || !l.admit(k) {
			return Decision{}, false
		}
		i = s.add(k)
	}
	return s.take(i, l.limit), true
}

// admit counts one more window of k's kind, if there is room for it. Wide ones need no ceiling: there are few networks that wide.
func (l *Limiter) admit(k key) bool {
	count, ceiling := l.countOf(k.kind)
	if count.Add(1) > ceiling && !k.kind.wide() {
		count.Add(-1)
		return false
	}
	return true
}

func (l *Limiter) countOf(kind kind) (count *atomic.Int64, ceiling int64) {
	if kind.shared() {
		return &l.crowds, max(1, l.max/4)
	}
	return &l.clients, l.max
}

// forget drops up to n windows of s that are empty by its clock.
func (l *Limiter) forget(s *shard, n int) {
	for ; n > 0; n-- {
		i, ok := s.idle(s.clock - l.limit.Window)
		if !ok {
			return
		}
		count, _ := l.countOf(s.clients.at(i).key.kind)
		count.Add(-1)
		s.remove(i)
	}
}

// Sweep forgets every client that is idle at now. Allow does this bit by bit; Sweep is for limiters that nobody calls any more.
func (l *Limiter) Sweep(now time.Time) {
	for i := range l.shardings {
		s := &l.shardings[i]
		s.mu.Lock()
		s.clock = max(s.clock, now.Sub(l.base))
		l.forget(s, len(s.index))
		s.mu.Unlock()
	}
}
