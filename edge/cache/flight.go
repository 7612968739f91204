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
)

// ErrLate says that a flight did not land within the time a caller had.
var ErrLate = errors.New("the answer to this key did not come in time")

// A Landing is what a flight came back with.
type Landing struct {
	Entry  *Entry // nil with Err
	Shared bool   // others may have it: it was stored, or could have been
	Stored bool
	Found  bool // nothing was asked: it had been stored by then
	Err    error
}

// A Flight is one request to the origin that all callers of a key wait for. It does not end when a caller goes away.
type Flight struct {
	done    chan struct{}
	landing Landing
}

// Wait waits for the landing, at most so long. The error of a landing that is not in time is ErrLate.
func (f *Flight) Wait(atMost time.Duration) Landing {
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
	}
}

type flights struct {
	seed   maphash.Seed
	shards [flightShards]flightShard
}

type flightShard struct {
	mu       sync.Mutex
	airborne map[string]*Flight
	failed   map[string]failure
}

type failure struct {
	err   error
	until time.Time
}

func (f *flights) init() {
	f.seed = maphash.MakeSeed()
	for i := range f.shards {
		f.shards[i].airborne = map[string]*Flight{}
		f.shards[i].failed = map[string]failure{}
	}
}

func (f *flights) shard(key string) *flightShard {
	return &f.shards[maphash.String(f.seed, key)%flightShards]
}

// Fly returns the flight for a key, and whether this call began it by starting ask in a goroutine. Where the key has failed
// within the last second, or another entry than stale has been stored since the caller looked, the flight has landed with
// that already and nothing is asked: so a key is asked for once, whenever its callers come.
func (c *Cache) Fly(key string, stale *Entry, now time.Time, ask func() Landing) (f *Flight, began bool) {
	s := c.flights.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.airborne[key]; ok {
		return f, false
	}
	if failed, ok := s.failed[key]; ok {
		if now.Before(failed.until) {
			return landed(Landing{Err: failed.err}), false
		}
		delete(s.failed, key)
	}
	if e := c.Get(key); e != nil && e != stale {
		return landed(Landing{Entry: e, Shared: true, Stored: true, Found: true}), false
	}
	f = &Flight{done: make(chan struct{})}
	s.airborne[key] = f
	go c.fly(s, f, key, ask)
	return f, true
}

// fly asks, and leaves the sky only when what came is stored or remembered: nobody finds neither flight nor answer.
func (c *Cache) fly(s *flightShard, f *Flight, key string, ask func() Landing) {
	defer func() {
		if p := recover(); p != nil {
			f.landing = Landing{Err: fmt.Errorf("asking for a key: panic: %v", p)}
		}
		s.mu.Lock()
		delete(s.airborne, key)
		if f.landing.Err != nil {
			s.remember(key, f.landing.Err, time.Now())
		}
		s.mu.Unlock()
		close(f.done)
	}()
	f.landing = ask()
}

// remember keeps a failure. Where too many are kept those that are over go, or else this one is not kept.
func (s *flightShard) remember(key string, err error, now time.Time) {
	if len(s.failed) >= maxFailures {
		for k, failed := range s.failed {
			if !now.Before(failed.until) {
				delete(s.failed, k)
			}
		}
	}
	if len(s.failed) < maxFailures {
		s.failed[key] = failure{err, now.Add(Failure)}
	}
}

// Failed is why a key failed within the last second; nil, if it did not.
func (c *Cache) Failed(key string, now time.Time) error {
	s := c.flights.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if failed, ok := s.failed[key]; ok && now.Before(failed.until) {
		return failed.err
	}
	return nil
}

func landed(l Landing) *Flight {
	f := &Flight{done: make(chan struct{}), landing: l}
	close(f.done)
	return f
}
