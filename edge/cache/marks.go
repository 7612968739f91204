package cache

import (
	"sync"
	"sync/atomic"
)

// A Mark is a moment in the order of drops. An entry is asked for at a mark, and lives while none of its tags was dropped after
// it: so a drop takes no time however much it concerns, needs no list of keys by tag, and catches what is still on its way.
type Mark uint64

// maxMarks is how many dropped tags are remembered one by one: more than a library has icons. Beyond it everything is dropped.
const maxMarks = 1 << 20

type marks struct {
	last  atomic.Uint64 // the newest mark; set after its tags are in place
	mu    sync.RWMutex
	floor Mark            // everything asked for before it is dropped
	tags  map[string]Mark // when each was dropped last
}

func (m *marks) now() Mark { return Mark(m.last.Load()) }

// Now is the mark at which whatever is asked for from here on is asked for.
func (c *Cache) Now() Mark { return c.marks.now() }

// Drop forgets every entry that has one of the surrogate keys, also those that are on their way.
func (c *Cache) Drop(tags ...string) {
	if len(tags) > 0 {
		c.marks.drop(tags)
	}
}

// DropAll forgets everything.
func (c *Cache) DropAll() { c.marks.drop(nil) }

// drop marks tags; nil stands for all of them.
func (m *marks) drop(tags []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := Mark(m.last.Load()) + 1
	if m.tags == nil || tags == nil || len(m.tags)+len(tags) > maxMarks {
		if tags == nil || m.tags != nil {
			m.floor = next
		}
		m.tags = map[string]Mark{}
	}
	for _, t := range tags {
		m.tags[t] = next
	}
	m.last.Store(uint64(next))
}

// keep reports whether none of e's tags was dropped after e was asked for. What was judged once is not judged again before
// the next drop.
func (m *marks) keep(e *Entry) bool {
	last := m.last.Load()
	if e.checked.Load() == last+1 {
		return true
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if e.mark < m.floor {
		return false
	}
	for _, t := range e.Tags {
		if m.tags[t] > e.mark {
			return false
		}
	}
	e.checked.Store(last + 1) // one more, so that an entry begins unjudged
	return true
}
