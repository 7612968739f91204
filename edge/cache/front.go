package cache

import "sync/atomic"

// A budget is how many bytes the entries in front may have together.
type budget struct {
	max  int64
	used atomic.Int64
}

// advance makes a cell the newest of its shelf's ring, and returns the hashes of those that had to leave it. Where all rings
// together are above their bytes, older ones of the same ring go, and if that is not enough, the cell itself. The shelf is
// locked.
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
		if old := s.ring[slot]; b.leave(s, s.inSlot(slot)) { // oldest first; the last is the cell
			left = append(left, old)
		}
	}
	return left
}

// inSlot is the cell that stands in a slot of the ring; nil, if none does.
func (s *shelf) inSlot(slot int) *cell {
	if l := s.at(s.ring[slot]); l != nil && l.is(inFront) && int(l.slot) == slot {
		return l
	}
	return nil
}

// leave takes a cell out of its shelf's ring, if it is there. The shelf is locked.
func (b *budget) leave(s *shelf, l *cell) bool {
	if l == nil || !l.is(inFront) {
		return false
	}
	l.state &^= inFront
	b.used.Add(-l.bytesTaken())
	return true
}
