package cache

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Mark is a moment in the order of drops and purges. An entry is asked for at a mark, and lives while none of its labels was
// dropped after it: so a drop takes no time however much it concerns, and catches what is still on its way.
type Mark uint64

// Beyond so many rulings, those that everything stored was judged by are forgotten.
const (
	maxLabels   = 1 << 16
	maxPrefixes = 1 << 8
)

// A ruling is when something was dropped, and when it was marked stale, last.
type ruling struct {
	hard, soft Mark
	when       int64 // of soft, in nanoseconds
}

// A sentence is what one drop or purge rules.
type sentence struct {
	all      bool
	labels   []uint64
	prefixes []string
	soft     bool
	when     time.Time
}

type marks struct {
	last     atomic.Uint64 // the newest mark; set after its rulings are in place
	mu       sync.RWMutex
	all      ruling
	labels   map[uint64]ruling
	prefixes map[string]ruling
	horizon  Mark // rulings up to here may be forgotten: what was not judged since is not trusted
}

func (m *marks) now() Mark { return Mark(m.last.Load()) }

// Now is the mark at which whatever is asked for from here on is asked for.
func (c *Cache) Now() Mark { return c.marks.now() }

// Drop forgets every entry that has one of the surrogate keys, also those that are on their way.
func (c *Cache) Drop(tags ...string) {
	if len(tags) == 0 {
		return
	}
	labels := make([]uint64, len(tags))
	for i, t := range tags {
		labels[i] = c.seeds.labelOfTag(t)
	}
	c.marks.rule(sentence{labels: labels})
	c.counts.drops.Add(1)
	c.janitor.call()
}

// DropAll forgets everything.
func (c *Cache) DropAll() {
	c.marks.rule(sentence{all: true})
	c.counts.drops.Add(1)
	c.janitor.call()
}

// rule makes a sentence count from now on, and returns its mark.
func (m *marks) rule(s sentence) Mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := m.now() + 1
	amend := func(r ruling) ruling {
		if s.soft {
			r.soft, r.when = next, s.when.UnixNano()
		} else {
			r.hard = next
		}
		return r
	}
	if s.all {
		m.all = amend(m.all)
	}
	if m.labels == nil {
		m.labels, m.prefixes = map[uint64]ruling{}, map[string]ruling{}
	}
	for _, l := range s.labels {
		m.labels[l] = amend(m.labels[l])
	}
	for _, p := range s.prefixes {
		m.prefixes[p] = amend(m.prefixes[p])
	}
	m.last.Store(uint64(next))
	return next
}

// keep reports whether nothing that concerns e was dropped after e was asked for, and marks it stale if that was ruled. What was
// judged once is not judged again before the next ruling.
func (m *marks) keep(e *Entry) bool {
	if e.checked.Load() == m.last.Load()+1 {
		return true
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if e.mark < m.horizon && e.checked.Load() <= uint64(m.horizon) {
		return false // nobody knows any more what was ruled since it was asked for
	}
	r := m.about(e)
	if r.hard > e.mark {
		return false
	}
	if r.soft > e.mark {
		e.expire(time.Unix(0, r.when))
	}
	e.checked.Store(m.last.Load() + 1) // one more, so that an entry begins unjudged
	return true
}

// about is all that was ruled about an entry, in one.
func (m *marks) about(e *Entry) ruling {
	r := m.all
	for _, l := range e.labels {
		r = r.and(m.labels[l])
	}
	for p, other := range m.prefixes {
		if strings.HasPrefix(e.Key, p) {
			r = r.and(other)
		}
	}
	return r
}

func (r ruling) and(other ruling) ruling {
	r.hard = max(r.hard, other.hard)
	if other.soft > r.soft {
		r.soft, r.when = other.soft, other.when
	}
	return r
}

// many reports whether more rulings are kept than should be.
func (m *marks) many() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.labels) > maxLabels || len(m.prefixes) > maxPrefixes
}

// forget forgets the rulings up to a mark, by all of which everything stored was judged. Of what is on its way nobody knows then
// whether they concern it: it is not stored.
func (m *marks) forget(upTo Mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.horizon = upTo
	for l, r := range m.labels {
		if max(r.hard, r.soft) <= upTo {
			delete(m.labels, l)
		}
	}
	for p, r := range m.prefixes {
		if max(r.hard, r.soft) <= upTo {
			delete(m.prefixes, p)
		}
	}
}
