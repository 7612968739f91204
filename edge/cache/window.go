package cache

import (
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/cache/memory"
)

// A recencyWindow limits the bytes of all entries that stay because they were stored recently.
type recencyWindow struct {
	max  int64
	used atomic.Int64
}

// push makes a slot the newest in its shard's ring, and returns the hashes that had to leave the
// ring. If all rings together exceed the limit, older slots of this ring leave, the oldest first,
// and finally the new one. The caller holds the lock of the shard.
func (b *recencyWindow) push(s *shard, l *memory.Slot, hash uint64) (left []uint64) {
	if old := s.ring[s.next]; b.remove(s, s.recentSlot(s.next)) {
		left = append(left, old)
	}
	s.ring[s.next] = hash
	l.RingIndex, l.State = uint8(s.next), l.State|memory.Recent
	s.next = (s.next + 1) % windowSlots
	b.used.Add(l.Bytes())
	for i := 0; i < windowSlots && b.used.Load() > b.max; i++ {
		ringIndex := (s.next + i) % windowSlots
		// The oldest slots leave first, and l last.
		if old := s.ring[ringIndex]; b.remove(s, s.recentSlot(ringIndex)) {
			left = append(left, old)
		}
	}
	return left
}

// recentSlot returns the slot at an index of the ring, or nil.
func (s *shard) recentSlot(ringIndex int) *memory.Slot {
	if l := s.at(s.ring[ringIndex]); l != nil && l.Is(memory.Recent) && int(l.RingIndex) == ringIndex {
		return l
	}
	return nil
}

// remove takes a slot out of its shard's ring, if it is there. The caller holds the lock of the
// shard.
func (b *recencyWindow) remove(s *shard, l *memory.Slot) bool {
	if l == nil || !l.Is(memory.Recent) {
		return false
	}
	l.State &^= memory.Recent
	b.used.Add(-l.Bytes())
	return true
}
