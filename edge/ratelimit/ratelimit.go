// Package ratelimit counts clients' calls in sliding windows that are exact: in no window, however cut, do more calls than the
// limit get through, a client that keeps to the limit is never refused, and a call that was refused does not count.
//
// It keeps the moment of every call let through, to the nanosecond, for as long as it counts, in tables without pointers, and forgets
// a client some time after its last moment has left the window. A client is an address (Allow) or a token (AllowKey). Above a ceiling of
// clients new ones share the window of their IPv4 /24 or IPv6 /48, or of the tokens that begin alike, so that nobody goes uncounted and
// memory stays bounded. Time is the caller's `now`; who the client is, behind proxies, is the caller's to say too. It imports
// nothing of ours.
package ratelimit

import (
	"hash/maphash"
	"net/netip"
	"sync"
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
	limit Limit
	base  time.Time // the zero of the windows' clock: monotonic, where now is
	seed  maphash.Seed
	max   int64 // ceiling of clients; that of shared windows is a quarter

	_       [64]byte // what changes is in another cache line than what does not
	clients atomic.Int64
	crowds  atomic.Int64 // shared windows
	waiting atomic.Int64 // calls that look for a window above the ceiling, or are about to make one
	door    sync.RWMutex // is held by those that look together, by one that makes alone

	shardings [shards]shard
}

// New makes a Limiter. One whose limit is off lets everything through and keeps nothing.
func New(limit Limit, o Options) *Limiter {
	if o.MaxClients <= 0 {
		o.MaxClients = defaultMaxClients
	}
	l := &Limiter{limit: limit, base: time.Now(), seed: maphash.MakeSeed(), max: int64(o.MaxClients)}
	for i := range l.shardings {
		l.shardings[i].init(limit.Window)
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
	return l.allow(keyOf(client), now)
}

// AllowKey is Allow for a client that is known by something other than its address, such as the first half of the SHA-256 of its
// token. No key is the same client as an address. Above the ceiling new keys share a window with those that begin with the same
// 16 bits, so what is given should be spread evenly, as hashes are.
func (l *Limiter) AllowKey(client [16]byte, now time.Time) Decision {
	return l.allow(keyOfToken(client), now)
}

func (l *Limiter) allow(own key, now time.Time) Decision {
	if l.limit.Off() {
		return Decision{OK: true}
	}
	at := l.moment(now)
	if d, ok := l.take(own, at, ifAlone); ok {
		return d
	}
	return l.allowCrowded(own, at)
}

// forever is longer than any two calls are apart. Within it sums of moments do not overflow.
const forever = moment(1 << 61)

func (l *Limiter) moment(now time.Time) moment {
	return min(max(now.Sub(l.base), -forever), forever)
}

// allowCrowded is above the ceiling, or not long ago. Whoever shares a window goes on sharing it until it is empty, so that nobody
// gets a second one within the time of the first; and as windows are made one after the other here, while nobody looks, and nowhere else
// meanwhile, calls of one client that come at once do not get two either.
func (l *Limiter) allowCrowded(own key, at moment) Decision {
	l.waiting.Add(1)
	defer l.waiting.Add(-1)
	keys := [...]key{own, own.near(), own.wide()}
	if d, ok := l.takeKnown(keys[:], at); ok {
		return d
	}
	l.door.Lock()
	defer l.door.Unlock()
	if d, ok := l.takeFirst(keys[:], at, ifKnown); ok {
		return d
	}
	d, _ := l.takeFirst(keys[:], at, ifRoom)
	return d
}

// takeKnown takes a place in the first of these windows that is there. None is made meanwhile: a client could get one of his own behind the look
// for that, and then a place in one that he shares, made by somebody else.
func (l *Limiter) takeKnown(keys []key, at moment) (d Decision, ok bool) {
	l.door.RLock()
	defer l.door.RUnlock()
	return l.takeFirst(keys, at, ifKnown)
}

// takeFirst takes a place in the first of these windows that has one to give.
func (l *Limiter) takeFirst(keys []key, at moment, when making) (d Decision, ok bool) {
	for _, k := range keys {
		if d, ok = l.take(k, at, when); ok {
			break
		}
	}
	return d, ok
}

// making says when take makes a window that is not there.
type making int

const (
	ifKnown making = iota // never
	ifAlone               // if there is room, and nobody shares a window
	ifRoom
)

// forgetEvery is how many calls come between two looks for clients to forget. A look is at a table, which holds many more than so many:
// what has grown idle goes faster than what is new comes.
const forgetEvery = 8

// take lets the call into the window of k, or refuses it. It is not ok where k has no window and none was made.
func (l *Limiter) take(k key, at moment, when making) (d Decision, ok bool) {
	hash := maphash.Comparable(l.seed, k)
	s := &l.shardings[hash%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = max(s.clock, at)
	if s.calls++; s.calls%forgetEvery == 0 {
		l.forgotten(s.forgetSome())
	}
	w := s.table(hash).find(k, hash)
	if w.kind == 0 {
		if !l.admits(k.kind, when) {
			return d, false
		}
		w = s.add(k, hash)
	}
	return w.take(&s.blocks, l.limit, s.clock), true
}

// admits counts one more window of k's kind, if one may be made. Wide ones need no ceiling: there are few networks that wide.
func (l *Limiter) admits(k kind, when making) bool {
	if when == ifKnown || when == ifAlone && l.waiting.Load()+l.crowds.Load() > 0 {
		return false
	}
	count, ceiling := &l.clients, l.max
	if k.shared() {
		count, ceiling = &l.crowds, max(1, l.max/4)
	}
	if count.Add(1) > ceiling && !k.wide() {
		count.Add(-1)
		return false
	}
	return true
}

func (l *Limiter) forgotten(gone tally) {
	if gone != (tally{}) {
		l.clients.Add(-int64(gone.clients))
		l.crowds.Add(-int64(gone.shared))
	}
}

// Sweep forgets every client that is idle at now. Allow does this bit by bit; Sweep is for limiters that nobody calls any more.
func (l *Limiter) Sweep(now time.Time) {
	at := l.moment(now)
	for i := range l.shardings {
		for next, more := uint32(0), true; more; {
			next, more = l.sweep(&l.shardings[i], next, at)
		}
	}
}

// sweep sweeps the table that stands at i, and says where the next one does. Calls may come in between.
func (l *Limiter) sweep(s *shard, i uint32, at moment) (next uint32, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = max(s.clock, at)
	first, n := s.places(s.tables[i], i)
	l.forgotten(s.forget(i))
	return first + n, int(first+n) < len(s.tables)
}
