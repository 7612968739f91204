package cache

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/cache/hashes"
	"github.com/iconedge/iconedge/edge/cache/memory"
)

const windowSlots = 32 // entries in the recency window of each shard

// A shard holds the entries whose hashes have the same bits. Its ring keeps the entries that were
// stored last, whatever ristretto decides. Only its index, which the garbage collector does not
// scan, refers to slots.
type shard struct {
	// load is held while an entry is read from disk, so that it is read once. It is taken before
	// update.
	load sync.Mutex
	// update is held while the entries of a key change, until ristretto was called too. It is taken
	// before mu.
	update   sync.Mutex
	mu       sync.RWMutex
	uses     atomic.Uint32 // hits of the hit path
	arena    *memory.Arena
	index    map[uint64]memory.Ref
	large    map[uint64]*memory.HeapSlot // slots that the index has as onHeap
	variants map[uint64]*variantSet      // by the label of the key
	origins  map[uint64]entry.Origin     // locations of entries that were read from disk
	ring     [windowSlots]uint64         // hashes
	next     int
	decoded  []atomic.Pointer[entry.Entry] // entries that were decoded last
	closed   bool
}

// onHeap is the ref of every heap slot in the index: no slab has number 0.
const onHeap memory.Ref = 0

func (s *shard) init(a *memory.Arena, decoded int) {
	s.arena, s.index, s.large, s.variants, s.origins = a, map[uint64]memory.Ref{}, map[uint64]*memory.HeapSlot{},
		map[uint64]*variantSet{}, map[uint64]entry.Origin{}
	s.decoded = make([]atomic.Pointer[entry.Entry], decoded)
}

// shard returns the shard of a hash.
func (c *Cache) shard(hash uint64) *shard { return &c.shards[hashes.ShardOf(hash)] }

// at returns the slot with a hash, also if the entry was purged and not removed yet.
func (s *shard) at(hash uint64) *memory.Slot {
	r, ok := s.index[hash]
	switch {
	case !ok:
		return nil
	case r == onHeap:
		return &s.large[hash].Slot
	}
	return s.arena.Slot(r)
}

// find returns the slot of a key and a secondary key, and its hash. Other keys may have the same
// hash.
func (s *shard) find(c *Cache, key string, label uint64, secondary string) (*memory.Slot, uint64) {
	hash := c.seeds.HashOf(label, secondary)
	l := s.at(hash)
	if l != nil && l.Secondary() == secondary && l.Key() == key && l.Is(memory.Live) {
		return l, hash
	}
	if secondary == "" {
		return nil, hash
	}
	if hash, ok := s.aliased(key, label, secondary); ok {
		if l = s.at(hash); l != nil && l.Key() == key && l.Is(memory.Live) {
			return l, hash
		}
	}
	return nil, hash
}

// conflicts returns the hashes of entries that e replaces: the entry with the same keys, and all
// entries of the key that vary by other names, or not as e does.
func (s *shard) conflicts(e *entry.Entry) (conflicts []uint64) {
	if s.at(e.Hash) != nil {
		conflicts = append(conflicts, e.Hash)
	}
	label := e.Labels[0]
	if plain := s.at(label); e.Secondary != "" && plain != nil && plain.Secondary() == "" {
		conflicts = append(conflicts, label)
	}
	v := s.variants[label]
	if v == nil {
		return conflicts
	}
	for _, m := range v.members {
		if m.hash != e.Hash && (e.Secondary == "" || v.key != e.Key || !slices.Equal(v.names, e.Vary)) {
			conflicts = append(conflicts, m.hash)
		}
	}
	return conflicts
}

// add adds a slot, which has no conflicts, to the index.
func (s *shard) add(e *entry.Entry, at memory.Ref) *memory.Slot {
	s.index[e.Hash] = at
	if e.Origin != nil {
		s.origins[e.Hash] = e.Origin
	}
	if e.Secondary != "" {
		s.addVariant(e)
	}
	return s.at(e.Hash)
}

// remove removes a slot from the index, and returns its ref.
func (s *shard) remove(hash uint64, l *memory.Slot) memory.Ref {
	if l.Secondary() != "" {
		s.removeVariant(hash, l.Label)
	}
	s.forgetDecoded(hash, l.ID)
	delete(s.origins, hash)
	at := s.index[hash]
	delete(s.index, hash)
	if at == onHeap {
		delete(s.large, hash)
	}
	return at
}

// under returns the hashes of all entries of a key.
func (s *shard) under(key string, label uint64) (hashes []uint64) {
	if l := s.at(label); l != nil && l.Secondary() == "" && l.Key() == key {
		hashes = append(hashes, label)
	}
	if v := s.variants[label]; v != nil && v.key == key {
		for _, m := range v.members {
			hashes = append(hashes, m.hash)
		}
	}
	return hashes
}

func (s *shard) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// clear removes all entries of a closed shard.
func (s *shard) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init(s.arena, 0)
}
