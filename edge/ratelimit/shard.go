package ratelimit

import (
	"hash/maphash"
	"sync"
)

// A shard holds a part of the windows, in tables selected by the first bits of the hash (extendible
// hashing). A full table is split in two, so that a call waits for one table to be moved at most,
// and growing leaves no garbage. A shard's clock is the latest time that it was called with, so
// moments within it never go back.
type shard struct {
	mu        sync.Mutex
	clock     moment
	length    moment   // of the windows
	tables    []*table // by the first bits of the hash; some have several slots; nil before a call
	shift     uint8    // 64 less the number of these bits
	nextTable uint32   // the next table to expire
	calls     uint32
	blocks    blocks
	seed      maphash.Seed // of the hash
	pool      *pool[table]
	_         [64]byte // the next shard's mutex is in another cache line
}

// init empties s before its first call.
func (s *shard) init(length moment, seed maphash.Seed, p pools) {
	s.length, s.shift, s.seed, s.pool, s.blocks.pool = length, 64, seed, p.tables, p.chunks
}

// start makes the first table.
func (s *shard) start() {
	t := s.pool.take()
	t.due = never
	s.tables = []*table{t}
}

func (s *shard) table(hash uint64) *table { return s.tables[hash>>s.shift] }

// add creates an empty window for k.
func (s *shard) add(k key, hash uint64) *window {
	for s.table(hash).used >= full {
		s.split(hash)
	}
	t := s.table(hash)
	t.used++
	t.due = min(t.due, s.clock+s.length)
	w := t.find(k, hash)
	w.bits, w.counts = k.bits, counts(k.kind)*oneKind
	return w
}

// split splits the table for this hash in two.
func (s *shard) split(hash uint64) {
	if s.table(hash).depth == 64-s.shift {
		s.double()
	}
	t := s.table(hash)
	first, n := s.slots(t, uint32(hash>>s.shift))
	other := s.pool.take()
	t.split(other, s.seed)
	for i := first + n/2; i < first+n; i++ {
		s.tables[i] = other
	}
}

// slots returns the range of s.tables that holds t; i is within it.
func (s *shard) slots(t *table, i uint32) (first, n uint32) {
	n = 1 << (64 - s.shift - t.depth)
	return i &^ (n - 1), n
}

// double makes one more bit of the hash select the table.
func (s *shard) double() {
	tables := make([]*table, 0, 2*len(s.tables))
	for _, t := range s.tables {
		tables = append(tables, t, t)
	}
	s.tables, s.nextTable = tables, s.nextTable*2
	s.shift--
}

// A tally counts removed windows.
type tally struct{ clients, shared int }

// expireNext expires the next table if it is due.
func (s *shard) expireNext() (gone tally) {
	if t := s.tables[s.nextTable]; s.clock >= t.due {
		gone = s.expire(s.nextTable)
	}
	first, n := s.slots(s.tables[s.nextTable], s.nextTable)
	s.nextTable = (first + n) % uint32(len(s.tables))
	return gone
}

// expire removes the windows of table i whose moments no longer count, and merges a table that is
// nearly empty with the one before it.
func (s *shard) expire(i uint32) (gone tally) {
	t := s.tables[i]
	next := moment(never)
	for i := 0; t.used > 0 && i < tableLen; {
		w := &t.windows[i]
		if w.counts.kind() == noWindow {
			i++
			continue
		}
		if ends := w.newest + s.length; ends > s.clock {
			next = min(next, ends)
			i++
			continue
		}
		gone.count(w.counts.kind())
		w.drop(&s.blocks)
		t.remove(i, s.seed) // the loop continues with the window that moves up to i
	}
	t.due = max(next, s.clock+s.length/scansPerWindow)
	s.merge(t, i)
	return gone
}

// scansPerWindow is how often a table is expired within a window's length at most, because it costs
// a scan of the whole table.
const scansPerWindow = 2

func (t *tally) count(k kind) {
	if k.shared() {
		t.shared++
	} else {
		t.clients++
	}
}

// merge undoes splits. It merges t, which is at i, with the table that it was split from, if the
// result is at most half full.
func (s *shard) merge(t *table, i uint32) {
	first, n := s.slots(t, i)
	for first&n != 0 {
		before := s.tables[first-n]
		if before.depth != t.depth || before.used+t.used > full/2 {
			return
		}
		before.take(t, s.seed)
		for i := first; i < first+n; i++ {
			s.tables[i] = before
		}
		s.pool.put(t)
		t = before
		first, n = s.slots(t, first)
	}
}
