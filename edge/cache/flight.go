package cache

import (
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"time"
)

const (
	flightShards = 64
	// Failure is how long a key's failure is remembered, and answered without asking again.
	Failure = time.Second
	// maxFailures bounds what is remembered in one shard, when every name fails.
	maxFailures = 1 << 10
	// Apart is how long no flight should be made for a key whose answer was for one client alone.
	Apart = 10 * time.Second
	// maxApart bounds them in one shard.
	maxApart = 1 << 10
)

var (
	// ErrLate says that a flight did not land within the time a caller had.
	ErrLate = errors.New("the answer to this key did not come in time")
	// ErrLeft says that a caller no longer waits.
	ErrLeft = errors.New("whoever asked for this key has left")
)

// A Landing is what a flight came back with.
type Landing struct {
	Entry  *Entry // nil with Err
	Stream *Spool // the body, where it still comes: the entry has none; nil: the entry has it
	Shared bool   // others may have it: it was stored, or could have been. If not, they go on by themselves
	Stored bool
	Found  bool // nothing was asked: it had been stored by then
	Err    error
}

// A Flight is one request to the origin that all callers of a key wait for. It does not end when a caller goes away.
type Flight struct {
	begun   time.Time
	mark    Mark // when it began
	done    chan struct{}
	landing Landing
}

// Wait waits for the landing, at most so long, and until left is closed, if that is not nil. The error of a landing that is not in time
// is ErrLate, or ErrLeft.
func (f *Flight) Wait(atMost time.Duration, left <-chan struct{}) Landing {
	select {
	case <-f.done:
		return f.landing
	default:
	}
	timer := time.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-f.done:
		return f.landing
	case <-timer.C:
		return Landing{Err: ErrLate}
	case <-left:
		return Landing{Err: ErrLeft}
	}
}

// Outdates reports whether what a flight brought was dropped while it was under way, by a drop or a purge that somebody who came at a
// mark may have waited for: he is not to have the answer of before.
func (c *Cache) Outdates(f *Flight, e *Entry, came Mark) bool {
	if e == nil || f.mark >= came {
		return false
	}
	c.marks.mu.RLock()
	defer c.marks.mu.RUnlock()
	return c.marks.about(e.Key, c.seeds.labelsOf(nil, e.Key, e.Tags)).hard > f.mark
}

// Age is how long ago it began.
func (f *Flight) Age(now time.Time) time.Duration { return now.Sub(f.begun) }

type flights struct {
	seed   maphash.Seed
	shards [flightShards]flightShard
}

type flightShard struct {
	mu       sync.Mutex
	airborne map[string]*Flight
	failed   memory[error]
	apart    memory[struct{}]
}

func (f *flights) init() {
	f.seed = maphash.MakeSeed()
	for i := range f.shards {
		f.shards[i].airborne = map[string]*Flight{}
		f.shards[i].failed = newMemory[error](maxFailures)
		f.shards[i].apart = newMemory[struct{}](maxApart)
	}
}

func (f *flights) shard(key string) *flightShard {
	return &f.shards[maphash.String(f.seed, key)%flightShards]
}

// Fly returns the flight for a key, and whether this call began it by starting ask in a goroutine. Where the key has failed
// within the last second, or find returns another entry than stale, which was stored since the caller looked, the flight has
// landed with that already and nothing is asked: so a key is asked for once, whenever its callers come. What find returns must
// be of use without asking; it is called while no other flight for the key can begin.
//
// A flight whose landing has a stream is joined until the stream ends, as long as its beginning is held.
func (c *Cache) Fly(key string, stale *Entry, now time.Time, find func() *Entry, ask func() Landing) (f *Flight, began bool) {
	s := c.flights.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.airborne[key]; ok && f.open() {
		return f, false
	}
	if err, ok := s.failed.recall(key, now); ok {
		return c.landed(Landing{Err: err}), false
	}
	if e := find(); e != nil && !e.Same(stale) {
		return c.landed(Landing{Entry: e, Shared: true, Stored: true, Found: true}), false
	}
	f = &Flight{begun: now, mark: c.Now(), done: make(chan struct{})}
	s.airborne[key] = f
	go c.fly(s, f, key, ask)
	return f, true
}

// fly asks, and leaves the sky only when what came is stored or remembered: nobody finds neither flight nor answer.
func (c *Cache) fly(s *flightShard, f *Flight, key string, ask func() Landing) {
	f.landing = bring(ask)
	if f.landing.Err != nil {
		s.mu.Lock()
		s.failed.keep(key, f.landing.Err, time.Now(), Failure)
		s.mu.Unlock()
	}
	if f.landing.Stream != nil && f.landing.Shared {
		close(f.done)
		<-f.landing.Stream.ended
		s.leave(key, f)
		return
	}
	s.leave(key, f)
	close(f.done)
}

// bring asks. A panic is an error of the landing: its callers wait for one.
func bring(ask func() Landing) (l Landing) {
	defer func() {
		if p := recover(); p != nil {
			l = Landing{Err: fmt.Errorf("asking for a key: panic: %v", p)}
		}
	}()
	return ask()
}

// leave makes a flight one that nobody joins any more, unless another has taken its place.
func (s *flightShard) leave(key string, f *Flight) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.airborne[key] == f {
		delete(s.airborne, key)
	}
}

// open reports whether it is of use to join: the flight has not landed, or with a stream that can be read from its beginning.
func (f *Flight) open() bool {
	select {
	case <-f.done:
		return f.landing.Stream == nil || f.landing.Stream.readable()
	default:
		return true
	}
}

// Failed is why a key failed within the last second; nil, if it did not.
func (c *Cache) Failed(key string, now time.Time) error {
	s := c.flights.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	err, _ := s.failed.recall(key, now)
	return err
}

// Leave remembers that the answer to a key was for one client alone.
func (c *Cache) Leave(key string, now time.Time) {
	s := c.flights.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apart.keep(key, struct{}{}, now, Apart)
}

// Alone reports whether the last answer to a key, within some seconds, was for one client alone: who asks for it should not wait
// for others, who would then have to ask one after the other.
func (c *Cache) Alone(key string, now time.Time) bool {
	s := c.flights.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.apart.recall(key, now)
	return ok
}

func (c *Cache) landed(l Landing) *Flight {
	f := &Flight{mark: c.Now(), done: make(chan struct{}), landing: l}
	close(f.done)
	return f
}
