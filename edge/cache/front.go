package cache

import "sync/atomic"

// A recencyWindow limits the bytes of all entries that stay because they were stored recently.
type budget struct {
	max  int64
	used atomic.Int64
}

// push makes a slot the newest in its shard's ring, and returns the hashes that had to leave the
// ring. If all rings together exceed the limit, older slots of this ring leave, the oldest first,
// and finally the new one. The caller holds the lock of the shard.
func (b *budget) advance(s *shelf, l *cell, hash uint64) (left []uint64) {
	if old := s.ring[s.next]; b.leave(s, s.inSlot(s.next)) {
		left = append(left, old)
	}
	s.ring[s.next] = hash
	l.slot, l.state = uint8(s.next), l.state|inFront
	s.next = (s.next + 1) % frontSlots
	b.used.Add(l.bytesTaken())
	for i := 0; i < frontSlots && b.used.Load() > b.max; i++ {
		slot := (s.next + i) % frontSlots
		if old := s.ring[slot]; b.leave(s, s.inSlot(slot)) { // the oldest first; the last is l
			left = append(left, old)
		}
	}
	return left
}

// recentSlot returns the slot at an index of the ring, or nil.
func (s *shelf) inSlot(slot int) *cell {
	if l := s.at(s.ring[slot]); l != nil && l.is(inFront) && int(l.slot) == slot {
		return l
	}
	return nil
}

// remove takes a slot out of its shard's ring, if it is there. The caller holds the lock of the
// shard.
func (b *budget) leave(s *shelf, l *cell) bool {
	if l == nil || !l.is(inFront) {
		return false
	}
	l.state &^= inFront
	b.used.Add(-l.bytesTaken())
	return true
}
