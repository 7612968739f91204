package cache

import "sync/atomic"

// A budget is how many bytes the entries in front may have together.
type budget struct {
	max  int64
	used atomic.Int64
}

// advance makes an entry the newest of its shelf's ring, and returns those that had to leave it. Where all rings together are
// above their bytes, older ones of the same ring go, and if that is not enough, the entry itself. The shelf is locked.
func (b *budget) advance(s *shelf, e *Entry) (left []*Entry) {
	if old := s.ring[s.next]; old != nil {
		b.leave(s, old)
		left = append(left, old)
	}
	s.ring[s.next] = e
	e.place.slot, e.place.inFront = uint32(s.next), true
	s.next = (s.next + 1) % frontSlots
	b.used.Add(e.cost)
	for i := 0; i < frontSlots && b.used.Load() > b.max; i++ {
		if old := s.ring[(s.next+i)%frontSlots]; old != nil { // oldest first; the last is e
			b.leave(s, old)
			left = append(left, old)
		}
	}
	return left
}

// leave takes an entry out of its shelf's ring, if it is there. The shelf is locked.
func (b *budget) leave(s *shelf, e *Entry) {
	if e.place.inFront {
		e.place.inFront = false
		s.ring[e.place.slot] = nil
		b.used.Add(-e.cost)
	}
}
