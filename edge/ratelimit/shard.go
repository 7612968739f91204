package ratelimit

import (
	"sync"
)

// A shard holds a part of the windows, in tables that are found by the first bits of the hash (extendible hashing): one that is full
// is split in two, so that no call ever waits for more than a table to be moved, and growing leaves no garbage. Its clock is the latest time
// that it was called with: moments within it never go back.
type shard struct {
	mu     sync.Mutex
	clock  moment
	length moment   // of the windows
	tables []*table // by the first bits of the hash; a table that needs fewer bits stands here more than once, side by side
	shift  uint8    // 64 less the number of these bits
	hand   uint32   // the table that is looked at next for what can be forgotten
	calls  uint32
	blocks blocks
	_      [64]byte // the next shard's mutex is in another cache line
}

// init empties s, before its first call.
func (s *shard) init(length moment) {
	s.clock, s.length, s.shift = -forever, length, 64
	s.tables = []*table{{due: never}}
}

func (s *shard) table(hash uint64) *table { return s.tables[hash>>s.shift] }

// add makes an empty window for k.
func (s *shard) add(k key, hash uint64) *window {
	for s.table(hash).used >= full {
		s.split(hash)
	}
	t := s.table(hash)
	t.used++
	t.due = min(t.due, s.clock+s.length)
	w := t.find(k, hash)
	w.hash, w.bits, w.rest, w.kind = hash, k.bits, k.rest, uint8(k.kind)
	return w
}

// split makes two tables of that of hash.
func (s *shard) split(hash uint64) {
	if s.table(hash).depth == 64-s.shift {
		s.double()
	}
	t := s.table(hash)
	first, n := s.places(t, uint32(hash>>s.shift))
	other := t.split()
	for i := first + n/2; i < first+n; i++ {
		s.tables[i] = other
	}
}

// places are those in s.tables where t stands; i is one of them.
func (s *shard) places(t *table, i uint32) (first, n uint32) {
	n = 1 << (64 - s.shift - t.depth)
	return i &^ (n - 1), n
}

// double lets one more bit of the hash choose the table.
func (s *shard) double() {
	tables := make([]*table, 0, 2*len(s.tables))
	for _, t := range s.tables {
		tables = append(tables, t, t)
	}
	s.tables, s.hand = tables, s.hand*2
	s.shift--
}

// A tally counts windows, by whose they are.
type tally struct{ clients, shared int }

// forgetSome looks at one table, the next in turn, if it is due.
func (s *shard) forgetSome() (gone tally) {
	if t := s.tables[s.hand]; s.clock >= t.due {
		gone = s.forget(s.hand)
	}
	first, n := s.places(s.tables[s.hand], s.hand)
	s.hand = (first + n) % uint32(len(s.tables))
	return gone
}

// forget drops the windows of table i whose moments do not count any more, and joins it to the one before it where hardly anything is left.
func (s *shard) forget(i uint32) (gone tally) {
	t := s.tables[i]
	next := moment(never)
	for i := 0; t.used > 0 && i < tableLen; {
		w := &t.windows[i]
		if w.kind == 0 {
			i++
			continue
		}
		if ends := w.newest() + s.length; ends > s.clock {
			next = min(next, ends)
			i++
			continue
		}
		gone.count(kind(w.kind))
		w.drop(&s.blocks)
		t.remove(i) // what moves up to i is looked at next
	}
	t.due = max(next, s.clock+s.length/lookEvery)
	s.join(t, i)
	return gone
}

// lookEvery is how many times within a window's length a table is looked at, at the most: looking costs a walk through all of it.
const lookEvery = 4

func (t *tally) count(k kind) {
	if k.shared() {
		t.shared++
	} else {
		t.clients++
	}
}

// join undoes splits: t, which stands at i, is joined to the table that it was split from, if both together are half full.
func (s *shard) join(t *table, i uint32) {
	first, n := s.places(t, i)
	for first&n != 0 {
		before := s.tables[first-n]
		if before.depth != t.depth || before.used+t.used > full/2 {
			return
		}
		before.take(t)
		for i := first; i < first+n; i++ {
			s.tables[i] = before
		}
		t = before
		first, n = s.places(t, first)
	}
}
