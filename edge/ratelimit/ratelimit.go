// Package ratelimit counts clients' calls in exact sliding windows: in no window, wherever it
// begins, do more calls than the limit get through, a client that keeps to the limit is never
// refused, and a refused call does not count.
//
// It stores the moment of every call that gets through as long as it counts, in tables without
// pointers outside of the heap, and removes a client some time after its last call has left the
// window. Its clock ticks at least a billion times in a window. A client is an address (Allow) or
// a token (AllowKey). Above a ceiling of clients, new ones share the window of their IPv4 /24 or
// IPv6 /48, or of the tokens whose hashes have the same first bits, so that every client is counted
// and memory stays bounded. The caller passes the time, and the client's address behind proxies.
// The package imports package slabs besides the standard library.
package ratelimit

import (
	"hash/maphash"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	numShards         = 64
	defaultMaxClients = 1_000_000
)

// Options configure a Limiter besides its limit. The zero value means the defaults.
type Options struct {
	// MaxClients is the ceiling of windows for single clients; 0: a million. Shared windows come on
	// top, up to a quarter of it.
	MaxClients int
}

// A Decision is the result of Allow for one call.
type Decision struct {
	OK         bool
	Remaining  int           // calls left in the window after this one
	Reset      time.Duration // until the next place frees; 0 where there is no limit
	RetryAfter time.Duration // if refused: Reset rounded up to whole seconds
}

// Stats holds counts for metrics.
type Stats struct {
	Clients int // windows of single clients
	Shared  int // windows that several clients share, above the ceiling
}

// A Limiter holds the windows of all clients of one class of calls. It is safe for concurrent use.
type Limiter struct {
	limit  Limit
	base   time.Time // a time on the clock of windows; monotonic if now is
	tick   time.Duration
	length moment // of a window
	seed   maphash.Seed
	max    int64 // ceiling of clients; that of shared windows is a quarter
	pools  pools

	_             [64]byte // separates the fields that change from those that do not
	clients       atomic.Int64
	sharedWindows atomic.Int64 // shared windows
	overCeiling   atomic.Int64 // calls in allowOverCeiling
	createMu      sync.RWMutex // RLock to look for a window over the ceiling, Lock to create one

	shards [numShards]shard
}

// New returns a Limiter. If the limit is off it lets every call through and stores nothing.
func New(limit Limit, o Options) *Limiter {
	if o.MaxClients <= 0 {
		o.MaxClients = defaultMaxClients
	}
	l := &Limiter{limit: limit, base: time.Now(), seed: maphash.MakeSeed(), max: int64(o.MaxClients)}
	l.pools = pools{&pool[table]{}, &pool[chunkBlocks]{}}
	l.tick = limit.tick()
	l.length = moment(limit.Window / l.tick)
	for i := range l.shards {
		l.shards[i].init(l.length, l.seed, l.pools)
	}
	runtime.AddCleanup(l, pools.release, l.pools)
	return l
}

// Limit returns the limit of l.
func (l *Limiter) Limit() Limit { return l.limit }

// Stats returns the numbers of windows now.
func (l *Limiter) Stats() Stats { return Stats{int(l.clients.Load()), int(l.sharedWindows.Load())} }

// Allow counts a call of client at now, or refuses it. If calls come with their times out of order,
// the latest time seen replaces an earlier one, so that the windows' clock does not go back.
func (l *Limiter) Allow(client netip.Addr, now time.Time) Decision {
	return l.allow(keyOf(client), now)
}

// AllowKey is Allow for a client identified by something other than its address, such as the first
// half of the SHA-256 of its token. No key is the same client as an address. Above the ceiling new
// keys share a window with those whose hashes have the same first 16 bits.
func (l *Limiter) AllowKey(client [16]byte, now time.Time) Decision {
	return l.allow(keyOfToken(l.seed, client), now)
}

func (l *Limiter) allow(own key, now time.Time) Decision {
	if l.limit.Off() {
		return Decision{OK: true}
	}
	at := l.moment(now)
	if d, ok := l.take(own, at, createUncontended); ok {
		return d
	}
	return l.allowOverCeiling(own, at)
}

// A moment is a time on a limiter's clock, in ticks. It is not negative.
type moment int64

// forever is longer than the time between any two calls. It is a whole number of ticks, and twice
// as long does not overflow.
const forever = 1 << 61 / time.Second * time.Second

func (l *Limiter) moment(now time.Time) moment {
	return moment(uint64(min(max(now.Sub(l.base), -forever), forever)+forever) / uint64(l.tick))
}

// allowOverCeiling handles calls while there are too many clients, or were recently. A client that
// shares a window goes on sharing it until the window is empty, so that it does not get a second
// window within the time of the first. Windows are created one at a time, while no other call here
// looks for one and none is created elsewhere, so that parallel calls of one client do not get two
// windows either.
func (l *Limiter) allowOverCeiling(own key, at moment) Decision {
	l.overCeiling.Add(1)
	defer l.overCeiling.Add(-1)
	keys := [...]key{own, own.near(), own.wide()}
	if d, ok := l.takeExisting(keys[:], at); ok {
		return d
	}
	l.createMu.Lock()
	defer l.createMu.Unlock()
	if d, ok := l.takeFirst(keys[:], at, createNever); ok {
		return d
	}
	d, _ := l.takeFirst(keys[:], at, createIfRoom)
	return d
}

// takeExisting counts the call in the first of these windows that exists. No window may be created
// meanwhile: otherwise, after takeFirst has not found the client's own window, that window could be
// created, and the call would then count in a shared window that another client has created.
func (l *Limiter) takeExisting(keys []key, at moment) (d Decision, ok bool) {
	l.createMu.RLock()
	defer l.createMu.RUnlock()
	return l.takeFirst(keys, at, createNever)
}

// takeFirst counts the call in the first of these windows that exists or may be created.
func (l *Limiter) takeFirst(keys []key, at moment, when createMode) (d Decision, ok bool) {
	for _, k := range keys {
		if d, ok = l.take(k, at, when); ok {
			break
		}
	}
	return d, ok
}

// createMode says when take may create a missing window. createUncontended also requires that no
// window is shared and no call is in allowOverCeiling.
type createMode int

const (
	createNever       createMode = iota // never
	createUncontended                   // if there is room and no contention
	createIfRoom                        // if there is room
)

// expireEvery is the number of calls after which a shard expires one table. A table holds many more
// windows than that, so idle windows are removed faster than new ones are created.
const expireEvery = 32

// take counts the call in the window of k, or refuses it. It is not ok if k has no window and none
// was created.
func (l *Limiter) take(k key, at moment, when createMode) (d Decision, ok bool) {
	hash := k.hash(l.seed)
	s := &l.shards[hash%numShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = max(s.clock, at)
	if s.tables == nil { // allocated late, because many limiters get no call
		s.start()
	}
	if s.calls++; s.calls%expireEvery == 0 {
		l.removed(s.expireNext())
	}
	w := s.table(hash).find(k, hash)
	if w.counts.kind() == noWindow {
		if !l.reserve(k.kind, when) {
			return d, false
		}
		w = s.add(k, hash)
	}
	ok, left, frees := w.take(&s.blocks, l.limit.N, l.length, s.clock)
	d = Decision{OK: ok, Remaining: left, Reset: time.Duration(frees-s.clock) * l.tick}
	if !ok {
		d.RetryAfter = ceilSeconds(d.Reset)
	}
	return d, true
}

// reserve counts one more window of k's kind, if it may be created. Wide windows need no ceiling,
// because there are few networks of that width.
func (l *Limiter) reserve(k kind, when createMode) bool {
	if when == createNever || when == createUncontended && l.overCeiling.Load()+l.sharedWindows.Load() > 0 {
		return false
	}
	count, ceiling := &l.clients, l.max
	if k.shared() {
		count, ceiling = &l.sharedWindows, max(1, l.max/4)
	}
	if count.Add(1) > ceiling && !k.wide() {
		count.Add(-1)
		return false
	}
	return true
}

func (l *Limiter) removed(gone tally) {
	if gone != (tally{}) {
		l.clients.Add(-int64(gone.clients))
		l.sharedWindows.Add(-int64(gone.shared))
	}
}

// Sweep removes every client that is idle at now. Allow does this bit by bit; Sweep is for limiters
// without calls.
func (l *Limiter) Sweep(now time.Time) {
	at := l.moment(now)
	for i := range l.shards {
		for next, more := uint32(0), true; more; {
			next, more = l.sweep(&l.shards[i], next, at)
		}
	}
}

// sweep expires the table at i, and returns the index of the next one. Calls may come in between.
func (l *Limiter) sweep(s *shard, i uint32, at moment) (next uint32, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = max(s.clock, at)
	if s.tables == nil {
		return 0, false
	}
	first, n := s.slots(s.tables[i], i)
	l.removed(s.expire(i))
	return first + n, int(first+n) < len(s.tables)
}
