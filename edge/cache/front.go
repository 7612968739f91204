package cache

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

const (
	frontShards = 32
	frontSlots  = 64 // entries a shard
)

// A front holds what was stored last, at most so many entries and bytes, so that a store is seen by the next request although
// ristretto takes entries in later, and perhaps not at all.
type front struct {
	seed   maphash.Seed
	bytes  atomic.Int64
	max    int64
	shards [frontShards]frontShard
}

type frontShard struct {
	mu   sync.RWMutex
	held map[string]held
	ring [frontSlots]string // keys, in the order in which they came
	next int
}

type held struct {
	entry *Entry
	cost  int64 // as it was counted
	slot  int
}

func newFront(maxBytes int64) *front {
	f := &front{seed: maphash.MakeSeed(), max: maxBytes}
	for i := range f.shards {
		f.shards[i].held = make(map[string]held, frontSlots)
	}
	return f
}

func (f *front) shard(key string) *frontShard {
	return &f.shards[maphash.String(f.seed, key)%frontShards]
}

func (f *front) get(key string) *Entry {
	s := f.shard(key)
	s.mu.RLock()
	h := s.held[key]
	s.mu.RUnlock()
	return h.entry
}

// put makes e the newest of its shard. Where the whole front is above its bytes, older ones of the same shard go, and if that is
// not enough, e itself: then it is false.
func (f *front) put(e *Entry) bool {
	s := f.shard(e.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	f.forget(s, e.Key)
	f.forget(s, s.ring[s.next])
	cost := e.Cost()
	s.held[e.Key] = held{e, cost, s.next}
	s.ring[s.next] = e.Key
	s.next = (s.next + 1) % frontSlots
	f.bytes.Add(cost)
	for i := 0; i < frontSlots && f.bytes.Load() > f.max; i++ {
		f.forget(s, s.ring[(s.next+i)%frontSlots]) // oldest first; the last is e
	}
	return s.held[e.Key].entry == e
}

// remove takes e out, unless another entry has taken its place.
func (f *front) remove(e *Entry) {
	s := f.shard(e.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[e.Key].entry == e {
		f.forget(s, e.Key)
	}
}

// recount corrects the bytes of an entry that has grown.
func (f *front) recount(e *Entry) {
	s := f.shard(e.Key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.held[e.Key]; h.entry == e {
		cost := e.Cost()
		f.bytes.Add(cost - h.cost)
		h.cost = cost
		s.held[e.Key] = h
	}
}

// forget takes a key out of a shard that is locked.
func (f *front) forget(s *frontShard, key string) {
	h, ok := s.held[key]
	if !ok {
		return
	}
	f.bytes.Add(-h.cost)
	s.ring[h.slot] = ""
	delete(s.held, key)
}
