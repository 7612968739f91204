package ratelimit

import (
	"math"
	"sync"
	"time"
)

// A shard holds a part of the windows. Its clock is the latest time that it was called with, so that moments within it
// never go back, and the list of its clients by their last call is in order of time.
type shard struct {
	mu      sync.Mutex
	clock   time.Duration
	index   map[key]uint32
	clients slab[client]
	blocks  slab[block]
	old     uint32 // the client whose last call is the longest ago; none where there is no client
	young   uint32
	due     time.Duration // no client's last call is older than this: a look at old costs two cache lines
	_       [64]byte      // the next shard's mutex is in another cache line
}

// A client's calls are a queue of moments, in blocks of a cache line each.
type client struct {
	key          key
	older, newer uint32 // neighbours in the shard's list
	first, last  uint32 // blocks; none while there are no calls
	calls        int32
	from, to     uint8 // of the first block's moments the first that counts; of the last's the next that is free
}

const blockLen = 7

type block struct {
	at   [blockLen]time.Duration
	next uint32
}

const none = ^uint32(0)

// reset empties s; its clock goes on.
func (s *shard) reset() {
	s.index = map[key]uint32{}
	s.clients, s.blocks = slab[client]{}, slab[block]{}
	s.old, s.young, s.due = none, none, math.MinInt64
}

// add makes an empty window for k. Its caller takes a place in it at once: only then is it in the list.
func (s *shard) add(k key) uint32 {
	i := s.clients.take()
	*s.clients.at(i) = client{key: k, older: none, newer: none, first: none, last: none}
	s.index[k] = i
	return i
}

// take lets a call at the shard's clock into window i, or refuses it.
func (s *shard) take(i uint32, limit Limit) Decision {
	c := s.clients.at(i)
	for c.calls > 0 && s.first(c)+limit.Window <= s.clock {
		s.pop(c) // a full window ago: its place is free
	}
	d := Decision{OK: int(c.calls) < limit.N}
	if d.OK {
		s.push(c, s.clock)
		s.touch(i, c)
	}
	d.Remaining = limit.N - int(c.calls)
	d.Reset = s.first(c) + limit.Window - s.clock
	if !d.OK {
		d.RetryAfter = ceilSeconds(d.Reset)
	}
	return d
}

// first is the moment of the oldest call that is kept of c.
func (s *shard) first(c *client) time.Duration { return s.blocks.at(c.first).at[c.from] }

// push adds a moment to c's calls.
func (s *shard) push(c *client, at time.Duration) {
	if c.last == none || c.to == blockLen {
		b := s.blocks.take()
		s.blocks.at(b).next = none
		if c.last == none {
			c.first, c.from = b, 0
		} else {
			s.blocks.at(c.last).next = b
		}
		c.last, c.to = b, 0
	}
	s.blocks.at(c.last).at[c.to] = at
	c.to++
	c.calls++
}

// pop takes the oldest of c's calls away.
func (s *shard) pop(c *client) {
	c.calls--
	c.from++
	if c.calls > 0 && c.from < blockLen {
		return
	}
	b := c.first
	c.first, c.from = s.blocks.at(b).next, 0
	if c.calls == 0 {
		c.first, c.last, c.to = none, none, 0
	}
	s.blocks.free(b)
}

// idle is a client whose last call was at before or earlier, if there is one.
func (s *shard) idle(before time.Duration) (i uint32, ok bool) {
	if before < s.due || s.old == none {
		return 0, false
	}
	c := s.clients.at(s.old)
	s.due = s.blocks.at(c.last).at[c.to-1]
	return s.old, s.due <= before
}

// touch moves client i, which has just called, to the young end of the list.
func (s *shard) touch(i uint32, c *client) {
	if s.young == i {
		return
	}
	s.unlink(i, c)
	c.older, c.newer = s.young, none
	if s.young == none {
		s.old = i
	} else {
		s.clients.at(s.young).newer = i
	}
	s.young = i
}

// unlink takes client i out of the list, if it is in it.
func (s *shard) unlink(i uint32, c *client) {
	if c.older != none {
		s.clients.at(c.older).newer = c.newer
	} else if s.old == i {
		s.old = c.newer
	}
	if c.newer != none {
		s.clients.at(c.newer).older = c.older
	} else if s.young == i {
		s.young = c.older
	}
}

// remove forgets client i. When most of what the slabs hold is free, the rest moves to new ones: after a flood the memory
// goes back.
func (s *shard) remove(i uint32) {
	c := s.clients.at(i)
	for c.calls > 0 {
		s.pop(c)
	}
	s.unlink(i, c)
	delete(s.index, c.key)
	s.clients.free(i)
	if len(s.index) < s.clients.cap()/8 && s.clients.cap() > 2*chunkLen {
		s.rehouse()
	}
}

// rehouse copies the clients, oldest first, into fresh slabs of their size.
func (s *shard) rehouse() {
	was := &shard{clients: s.clients, blocks: s.blocks, old: s.old}
	s.reset()
	for i := was.old; i != none; i = was.clients.at(i).newer {
		from := was.clients.at(i)
		j := s.add(from.key)
		to := s.clients.at(j)
		for b, at := from.first, from.from; to.calls < from.calls; at++ {
			if at == blockLen {
				b, at = was.blocks.at(b).next, 0
			}
			s.push(to, was.blocks.at(b).at[at])
		}
		s.touch(j, to)
	}
}
