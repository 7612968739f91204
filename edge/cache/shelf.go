package cache

import (
	"slices"
	"sync"
	"sync/atomic"
)

const (
	shelves    = 64
	shelfBits  = (shelves - 1) << 32 // of a hash
	frontSlots = 32 // entries in the recency window of each shard
)

// A shard holds the entries whose hashes have the same bits. Its ring keeps the entries that were
// stored last, whatever ristretto decides. Only its index, which the garbage collector does not
// scan, refers to slots.
type shelf struct {
	load    sync.Mutex // held while an entry is read from disk, so that it is read once; taken before update
	turn    sync.Mutex // held while the entries of a key change, until ristretto was called too; taken before mu
	mu      sync.RWMutex
	arena   *arena
	books   map[uint64]ref
	large   map[uint64]*bigCell // slots that the index has as onHeap
	varied  map[uint64]*varied // by the label of the key
	origins map[uint64]*place // locations of entries that were read from disk
	ring    [frontSlots]uint64  // hashes
	next    int
	recent  []atomic.Pointer[Entry]
	closed  bool
}

// onHeap is the ref of every heap slot in the index: no slab has number 0.
const onHeap ref = 0

func (s *shelf) init(a *arena, recent int) {
	s.arena, s.books, s.large, s.varied, s.origins = a, map[uint64]ref{}, map[uint64]*bigCell{}, map[uint64]*varied{}, map[uint64]*place{}
	s.recent = make([]atomic.Pointer[Entry], recent)
}

// shard returns the shard of a hash. The hashes of all variants of a key have the same bits here.
func (c *Cache) shelf(hash uint64) *shelf { return &c.shelves[hash>>32%shelves] }

// at returns the slot with a hash, also if the entry was purged and not removed yet.
func (s *shelf) at(hash uint64) *cell {
	r, ok := s.books[hash]
	switch {
	case !ok:
		return nil
	case r == onHeap:
		return &s.large[hash].cell
	}
	return (*cell)(s.arena.at(r))
}

// find returns the slot of a key and a secondary key, and its hash. Other keys may have the same
// hash.
func (s *shelf) find(c *Cache, key string, label uint64, secondary string) (*cell, uint64) {
	hash := c.seeds.hashOf(label, secondary)
	l := s.at(hash)
	if l != nil && l.secondaryText() == secondary && l.keyText() == key && l.is(onShelf) {
		return l, hash
	}
	if secondary == "" {
		return nil, hash
	}
	if hash, ok := s.aliased(key, label, secondary); ok {
		if l = s.at(hash); l != nil && l.keyText() == key && l.is(onShelf) {
			return l, hash
		}
	}
	return nil, hash
}

// conflicts returns the hashes of entries that e replaces: the entry with the same keys, and all
// entries of the key that vary by other names, or not as e does.
func (s *shelf) rivals(e *Entry) (rivals []uint64) {
	if s.at(e.hash) != nil {
		rivals = append(rivals, e.hash)
	}
	label := e.labels[0]
	if plain := s.at(label); e.Secondary != "" && plain != nil && plain.secondaryText() == "" {
		rivals = append(rivals, label)
	}
	v := s.varied[label]
	if v == nil {
		return rivals
	}
	for _, m := range v.members {
		if m.hash != e.hash && (e.Secondary == "" || v.key != e.Key || !slices.Equal(v.names, e.Vary)) {
			rivals = append(rivals, m.hash)
		}
	}
	return rivals
}

// add adds a slot, which has no conflicts, to the index.
func (s *shelf) put(e *Entry, at ref) *cell {
	s.books[e.hash] = at
	if e.origin != nil {
		s.origins[e.hash] = e.origin
	}
	if e.Secondary != "" {
		s.vary(e)
	}
	return s.at(e.hash)
}

// remove removes a slot from the index, and returns its ref.
func (s *shelf) take(hash uint64, l *cell) ref {
	if l.secondaryText() != "" {
		s.unvary(hash, l.label)
	}
	s.lose(hash, l.id)
	delete(s.origins, hash)
	at := s.books[hash]
	delete(s.books, hash)
	if at == onHeap {
		delete(s.large, hash)
	}
	return at
}

// under returns the hashes of all entries of a key.
func (s *shelf) under(key string, label uint64) (hashes []uint64) {
	if l := s.at(label); l != nil && l.secondaryText() == "" && l.keyText() == key {
		hashes = append(hashes, label)
	}
	if v := s.varied[label]; v != nil && v.key == key {
		for _, m := range v.members {
			hashes = append(hashes, m.hash)
		}
	}
	return hashes
}

func (s *shelf) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// clear removes all entries of a closed shard.
func (s *shelf) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init(s.arena, 0)
}
