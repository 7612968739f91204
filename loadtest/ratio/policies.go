package ratio

import (
	"container/list"

	"github.com/maypok86/otter/v2"
)

// A policy decides which objects a cache of limited size keeps.
type policy interface {
	// request reports whether the cache has an object. Otherwise it may store it afterwards.
	request(object uint32) (hit bool)
}

// costs are the costs of objects in a cache, in bytes.
type costs []int64

// An lru removes the object whose last request is longest ago.
type lru struct {
	costs
	free   int64
	recent *list.List
	at     map[uint32]*list.Element
}

func newLRU(_ *Trace, c costs, capacity int64) policy {
	return &lru{c, capacity, list.New(), map[uint32]*list.Element{}}
}

func (l *lru) request(object uint32) bool {
	if e, ok := l.at[object]; ok {
		l.recent.MoveToFront(e)
		return true
	}
	l.at[object] = l.recent.PushFront(object)
	for l.free -= l.costs[object]; l.free < 0; {
		last := l.recent.Remove(l.recent.Back()).(uint32)
		delete(l.at, last)
		l.free += l.costs[last]
	}
	return false
}

// A sieve is SIEVE (Zhang et al., NSDI 2024): a queue whose hand moves from the oldest object to
// the newest, and removes the first one that was not requested since it passed.
type sieve struct {
	costs
	free  int64
	queue *list.List // of *visited, the newest first
	hand  *list.Element
	at    map[uint32]*visited
}

type visited struct {
	object  uint32
	visited bool
}

func newSieve(_ *Trace, c costs, capacity int64) policy {
	return &sieve{c, capacity, list.New(), nil, map[uint32]*visited{}}
}

func (s *sieve) request(object uint32) bool {
	if v, ok := s.at[object]; ok {
		v.visited = true
		return true
	}
	for s.free < s.costs[object] && len(s.at) > 0 {
		s.evict()
	}
	if s.free >= s.costs[object] {
		s.free -= s.costs[object]
		s.at[object] = &visited{object: object}
		s.queue.PushFront(s.at[object])
	}
	return false
}

func (s *sieve) evict() {
	for ; ; s.hand = s.hand.Prev() {
		if s.hand == nil {
			s.hand = s.queue.Back()
		}
		if v := s.hand.Value.(*visited); v.visited {
			v.visited = false
			continue
		}
		gone := s.hand
		s.hand = gone.Prev()
		v := s.queue.Remove(gone).(*visited)
		delete(s.at, v.object)
		s.free += s.costs[v.object]
		return
	}
}

// An s3fifo is S3-FIFO (Yang et al., SOSP 2023): new objects wait in a small queue, and come into
// the main one if they are requested there more than once, or again soon after they left.
type s3fifo struct {
	costs
	max         int64
	small, main queue
	ghost       queue // objects that are no longer stored
	at          map[uint32]*queued
}

// A queue has objects, the oldest first.
type queue struct {
	objects []*queued
	bytes   int64
}

type queued struct {
	object uint32
	ghost  bool
	uses   int // maxUses at most
}

const maxUses = 3

func newS3FIFO(_ *Trace, c costs, capacity int64) policy {
	return &s3fifo{costs: c, max: capacity, at: map[uint32]*queued{}}
}

func (s *s3fifo) request(object uint32) bool {
	q, known := s.at[object]
	if known && !q.ghost {
		q.uses = min(maxUses, q.uses+1)
		return true
	}
	if s.costs[object] > s.max {
		return false
	}
	for s.small.bytes+s.main.bytes+s.costs[object] > s.max {
		s.evict()
	}
	s.at[object] = &queued{object: object}
	if known {
		s.push(&s.main, s.at[object])
	} else {
		s.push(&s.small, s.at[object])
	}
	return false
}

// evict moves or removes the oldest object of the small queue, if that has more than a tenth, or of
// the main one.
func (s *s3fifo) evict() {
	if s.small.bytes <= s.max/10 && s.main.bytes > 0 {
		q := s.pop(&s.main)
		if q.uses == 0 {
			delete(s.at, q.object)
			return
		}
		q.uses--
		s.push(&s.main, q)
		return
	}
	q := s.pop(&s.small)
	if q.uses > 1 {
		q.uses = 0
		s.push(&s.main, q)
		return
	}
	q.ghost = true
	s.push(&s.ghost, q)
	for s.ghost.bytes > s.max*9/10 {
		if old := s.pop(&s.ghost); s.at[old.object] == old {
			delete(s.at, old.object)
		}
	}
}

func (s *s3fifo) push(to *queue, q *queued) {
	to.objects = append(to.objects, q)
	to.bytes += s.costs[q.object]
}

func (s *s3fifo) pop(from *queue) *queued {
	q := from.objects[0]
	from.objects = from.objects[1:]
	from.bytes -= s.costs[q.object]
	return q
}

// A tinyLFU is W-TinyLFU as otter has it, with a window whose size adapts.
type tinyLFU struct {
	costs
	cache *otter.Cache[uint32, struct{}]
}

func newTinyLFU(_ *Trace, c costs, capacity int64) policy {
	return &tinyLFU{c, otter.Must(&otter.Options[uint32, struct{}]{
		MaximumWeight: uint64(capacity), Weigher: func(object uint32, _ struct{}) uint32 { return uint32(c[object]) },
		Executor: func(maintain func()) { maintain() }, // so that runs are alike
	})}
}

func (t *tinyLFU) request(object uint32) bool {
	if _, ok := t.cache.GetIfPresent(object); ok {
		return true
	}
	t.cache.Set(object, struct{}{})
	return false
}
