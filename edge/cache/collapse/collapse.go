// Package collapse decides which requests wait for the same request to the origin, which do not,
// and how several clients read one body while it arrives.
package collapse

import (
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/hashes"
	"github.com/iconedge/iconedge/edge/cache/invalidation"
	"github.com/iconedge/iconedge/edge/clock"
)

const (
	fetchShards = 64
	// Failure is how long the failure of a key is recorded. Until then it answers requests without
	// another fetch.
	Failure = time.Second
	// maxFailures is the maximum number of failures in one shard.
	maxFailures = 1 << 10
	// HitForPass is how long a hit-for-pass marker lasts.
	HitForPass = 10 * time.Second
	// maxHitForPass is the maximum number of markers in one shard.
	maxHitForPass = 1 << 10
)

var (
	// ErrWaitTimeout means that a collapsed fetch did not end within the caller's time limit.
	ErrWaitTimeout = errors.New("the response for this key did not arrive in time")
	// ErrClientGone means that the caller stopped waiting.
	ErrClientGone = errors.New("the client that requested this key has left")
)

// A Result is the result of a collapsed fetch.
type Result struct {
	Entry  *entry.Entry // for the client whose request was sent; nil with Err
	Shared *entry.Entry // for other clients, as it was or would be stored; nil: Entry
	// Stream is the body while it arrives, which the entries then lack. nil means that the entries
	// have it.
	Stream  *Spool
	Trailer *Trailer            // the trailer fields after the body; nil: none
	Sharing cachepolicy.Sharing // which of the waiting callers may have the result
	// Variants are the secondary keys under which the cache finds it, besides Shared.Secondary.
	Variants []string
	Stored   bool  // it is in the cache
	Found    bool  // no request was sent: the entry had been stored by then
	Err      error // why there is no response
}

// A Trailer is the trailer fields of a response. No cache stores them: a recipient may discard
// trailer fields (RFC 9110, section 6.5.1).
type Trailer struct {
	Announced []string // names that the origin announces
	// Lines returns the fields as lines of HTTP/1.1, after the end of the body.
	Lines func() []byte
}

// Collapsed returns the result in the form that package cachepolicy needs.
func (r *Result) Collapsed() cachepolicy.Collapsed {
	e := r.ForOthers()
	return cachepolicy.Collapsed{Sharing: r.Sharing, Entry: e.Freshness(), Variants: append([]string{e.Secondary}, r.Variants...)}
}

// ForOthers returns the entry for clients whose request joined the fetch.
func (r *Result) ForOthers() *entry.Entry {
	if r.Shared != nil {
		return r.Shared
	}
	return r.Entry
}

// A Fetch is one collapsed fetch: a request to the origin for which all callers of a key wait. It
// does not end when a caller leaves.
type Fetch struct {
	callers    int // guarded by the lock of the shard
	began      time.Time
	generation invalidation.Generation // at which it began
	done       chan struct{}
	result     Result
	then       []func(Result) // guarded by the lock of the shard, as is called
	called     bool           // the functions of then were called
}

// Wait waits for the result, at most for atMost, and until left is closed, if left is not nil.
// Otherwise the error of the result is ErrWaitTimeout or ErrClientGone.
func (f *Fetch) Wait(atMost time.Duration, left <-chan struct{}) Result {
	select {
	case <-f.done:
		return f.result
	default:
	}
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-f.done:
		return f.result
	case <-timer.C:
		return Result{Err: ErrWaitTimeout}
	case <-left:
		return Result{Err: ErrClientGone}
	}
}

// Then makes f call a function with its result, on the goroutine that sends the request. If the
// result is there already, Then calls the function itself.
func (c *Fetches) Then(f *Fetch, key string, call func(Result)) {
	s := c.shard(key)
	s.mu.Lock()
	waits := s.inFlight[key] == f && !f.called
	if waits {
		f.then = append(f.then, call)
	}
	s.mu.Unlock()
	if !waits {
		call(f.result)
	}
}

// InvalidatedSince reports whether a drop or a hard purge invalidated the result of a fetch while
// the fetch was in flight, and a caller that arrived at generation came may have arrived after it.
// Such a caller must not get the older response.
func (c *Fetches) InvalidatedSince(f *Fetch, e *entry.Entry, came invalidation.Generation) bool {
	return e != nil && f.generation < came && c.Invalidated(e, f.generation)
}

// Invalidated reports whether a drop or a hard purge has invalidated an entry, which is not stored,
// since a generation.
func (c *Fetches) Invalidated(e *entry.Entry, since invalidation.Generation) bool {
	return c.invalidations.DroppedKey(e.Key, c.seeds.LabelsOf(nil, e.Key, e.Tags), since)
}

// Age returns how long ago the fetch began.
func (f *Fetch) Age(now time.Time) time.Duration { return now.Sub(f.began) }

// Fetches are the collapsed fetches in flight, the recorded failures and the hit-for-pass markers.
type Fetches struct {
	seed          maphash.Seed
	shards        [fetchShards]fetchShard
	seeds         *hashes.Seeds
	invalidations *invalidation.Table
	workers       workers
	clock         clock.Clock
}

type fetchShard struct {
	mu         sync.Mutex
	inFlight   map[string]*Fetch
	failed     expiringMap[error]
	hitForPass expiringMap[struct{}]
	sweeping   bool // sweep is due
}

// sweep frees failures and markers soon after they have expired, because an origin that is down for
// a minute may leave 60,000 of them. now is the time of the caller, which holds mu.
func (s *fetchShard) sweep(now time.Time) {
	if s.sweeping {
		return
	}
	s.sweeping = true
	time.AfterFunc(Failure, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sweeping = false
		if now := now.Add(Failure); s.failed.sweep(now)+s.hitForPass.sweep(now) > 0 {
			s.sweep(now)
		}
	})
}

// New returns a table without fetches, whose failures expire by a clock. The result of a fetch is
// checked against the invalidations.
func New(seeds *hashes.Seeds, m *invalidation.Table, now clock.Clock) *Fetches {
	f := &Fetches{seed: maphash.MakeSeed(), seeds: seeds, invalidations: m, clock: now}
	for i := range f.shards {
		f.shards[i].inFlight = map[string]*Fetch{}
		f.shards[i].failed = newExpiringMap[error](maxFailures)
		f.shards[i].hitForPass = newExpiringMap[struct{}](maxHitForPass)
	}
	return f
}

func (f *Fetches) shard(key string) *fetchShard {
	return &f.shards[maphash.String(f.seed, key)%fetchShards]
}

// A Call describes one call of Join.
type Call struct {
	Key    string // callers with the same key collapse
	Stored string // key under which the result is stored
	// Stale is the entry that the caller found, and may not use as it is; nil means none.
	Stale *entry.Entry
	// Find looks up an entry that the caller may use. It runs while no other fetch of the key can
	// begin.
	Find func() *entry.Entry
	// Came is the generation at which the caller arrived. The caller joins no fetch whose result a
	// drop or a hard purge had invalidated by then.
	Came invalidation.Generation
	// Usable reports whether the caller may have a result whose body is still arriving; nil means
	// that it may.
	Usable func(*Result) bool
	Fetch  func() Result // sends the request; runs in a goroutine of its own
	// Refuse returns why Fetch would fail at once; nil: it would not. It saves a goroutine. A nil
	// Refuse refuses nothing.
	Refuse func() error

	Failures   string // key under which a failure is recorded; empty: Key
	SendAnyway bool   // ignore a recorded failure
}

// Join returns the collapsed fetch for a key, and whether this call began it. It sends no request
// if the key has failed within the last second, if Find returns another entry than Stale, which was
// stored since the caller looked, or if Refuse returns an error. The returned fetch then has that
// result already, so one request is sent for a key whenever its callers arrive.
//
// A fetch whose result is a stream stays joinable until the stream ends, as long as its beginning
// is held and the caller may use it.
func (c *Fetches) Join(now time.Time, call Call) (f *Fetch, began bool) {
	s := c.shard(call.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.inFlight[call.Key]; ok && c.joinable(f, &call) {
		f.callers++
		return f, false
	}
	if !call.SendAnyway {
		if err, ok := s.failed.get(call.failures(), now); ok {
			return c.ended(Result{Err: err}), false
		}
	}
	if e := call.Find(); e != nil && !e.SameStored(call.Stale) {
		return c.ended(Result{Entry: e, Stored: true, Found: true}), false
	}
	if call.Refuse != nil {
		if err := call.Refuse(); err != nil {
			return c.ended(Result{Err: err}), false
		}
	}
	f = &Fetch{callers: 1, began: now, generation: c.invalidations.Current(), done: make(chan struct{})}
	s.inFlight[call.Key] = f
	c.workers.run(func() { c.fetch(s, f, call) })
	return f, true
}

func (c *Call) failures() string {
	if c.Failures != "" {
		return c.Failures
	}
	return c.Key
}

// fetch sends the request. It stays joinable until its result is cached or its error recorded, so a
// later caller always finds one of them.
func (c *Fetches) fetch(s *fetchShard, f *Fetch, call Call) {
	f.result = run(call.Fetch)
	if f.result.Err != nil {
		s.mu.Lock()
		now := c.clock.Now()
		s.failed.set(call.failures(), f.result.Err, now, Failure)
		s.sweep(now)
		s.mu.Unlock()
	}
	if f.result.Stream != nil && f.result.Sharing.Storable {
		close(f.done)
		s.tell(f)
		<-f.result.Stream.ended
		s.remove(call.Key, f)
		return
	}
	s.remove(call.Key, f)
	close(f.done)
	s.tell(f)
}

// tell calls the functions that wait for the result of f, which is there.
func (s *fetchShard) tell(f *Fetch) {
	s.mu.Lock()
	then := f.then
	f.then, f.called = nil, true
	s.mu.Unlock()
	for _, call := range then {
		call(f.result)
	}
}

// run calls fetch. A panic becomes an error of the result, because callers wait for one.
func run(fetch func() Result) (r Result) {
	defer func() {
		if p := recover(); p != nil {
			r = Result{Err: fmt.Errorf("fetching a key: panic: %v", p)}
		}
	}()
	return fetch()
}

// remove makes a fetch unjoinable, unless another one has taken its place.
func (s *fetchShard) remove(key string, f *Fetch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inFlight[key] == f {
		delete(s.inFlight, key)
	}
}

// joinable reports whether a caller should join: there is no result yet, or a stream that can be
// read from its beginning and that the caller may use.
func (c *Fetches) joinable(f *Fetch, call *Call) bool {
	select {
	case <-f.done:
		return f.result.Stream == nil || f.result.Stream.readable() &&
			!c.InvalidatedSince(f, f.result.ForOthers(), call.Came) && (call.Usable == nil || call.Usable(&f.result))
	default: // the surrogate keys of the result are not known yet
		return !c.InvalidatedSince(f, &entry.Entry{Key: call.Stored}, call.Came)
	}
}

// Callers returns the number of calls of Join that have joined in-flight fetches.
func (c *Fetches) Callers() (n int) {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		for _, f := range s.inFlight {
			n += f.callers
		}
		s.mu.Unlock()
	}
	return n
}

// Failed returns why a key failed within the last second, or nil.
func (c *Fetches) Failed(key string, now time.Time) error {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	err, _ := s.failed.get(key, now)
	return err
}

// Fetching reports whether a fetch of a key is in flight, or has failed within the last second, so
// that no other fetch begins. failures is the key of its failures.
func (c *Fetches) Fetching(key, failures string, now time.Time) bool {
	s := c.shard(key)
	s.mu.Lock()
	f := s.inFlight[key]
	s.mu.Unlock()
	return f != nil || c.Failed(failures, now) != nil
}

// MarkHitForPass sets or removes the hit-for-pass marker of a key. A key has a marker if its last
// response was for one client only.
func (c *Fetches) MarkHitForPass(key string, pass bool, now time.Time) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if pass {
		s.hitForPass.set(key, struct{}{}, now, HitForPass)
		s.sweep(now)
	} else {
		s.hitForPass.delete(key)
	}
}

// IsHitForPass reports whether a key has a hit-for-pass marker. A request for such a key should not
// join a fetch, because it most likely could not have the response.
func (c *Fetches) IsHitForPass(key string, now time.Time) bool {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.hitForPass.get(key, now)
	return ok
}

func (c *Fetches) ended(r Result) *Fetch {
	f := &Fetch{generation: c.invalidations.Current(), done: make(chan struct{}), result: r}
	close(f.done)
	return f
}
