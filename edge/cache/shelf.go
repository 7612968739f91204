package cache

import (
	"slices"
	"sync"
	"sync/atomic"
)

const (
	shelves    = 64
	shelfBits  = (shelves - 1) << 32 // of a hash
	frontSlots = 32                  // entries of the front on each shelf
)

// A shelf holds a part of all entries by their hash, and knows those of them that came last by a ring of its own: they stay,
// whatever ristretto says of them. Where cells lie only its books say, which the collector does not look into.
type shelf struct {
	load    sync.Mutex // held while something is brought from disk, so that it is read once; taken before turn
	turn    sync.Mutex // held by whoever changes what is under a key, until ristretto was told as well; taken before mu
	mu      sync.RWMutex
	arena   *arena
	books   map[uint64]ref
	large   map[uint64]*bigCell // what the books say is on the heap
	varied  map[uint64]*varied  // by the label of the address
	origins map[uint64]*place   // on disk, of what came from there
	ring    [frontSlots]uint64  // hashes
	next    int
	recent  []atomic.Pointer[Entry]
	closed  bool
}

// onHeap is where the books say that a large entry lies: no slab has the number 0.
const onHeap ref = 0

func (s *shelf) init(a *arena, recent int) {
	s.arena, s.books, s.large, s.varied, s.origins = a, map[uint64]ref{}, map[uint64]*bigCell{}, map[uint64]*varied{}, map[uint64]*place{}
	s.recent = make([]atomic.Pointer[Entry], recent)
}

// shelf is where all that is stored under an address stands: hashes of its variants agree with its label in these bits.
func (c *Cache) shelf(hash uint64) *shelf { return &c.shelves[hash>>32%shelves] }

// at returns the cell with a hash, also of what was purged and not yet taken away.
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

// find returns the cell of what is stored under a key and a secondary one, and its hash: others may have the same.
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

// rivals are the hashes of what must go when e comes: the entry with the same keys, and everything under the address that varies
// by other names, or not as this one does.
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

// put enters a cell, which has no rivals, in the books.
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

// take strikes a cell from the books, and returns where it lay.
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

// under are the hashes of all that is stored at an address.
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

// clear forgets everything on a shelf that is closed.
func (s *shelf) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init(s.arena, 0)
}
