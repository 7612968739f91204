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

// rule makes a sentence count from now on, and returns its mark.
func (m *marks) rule(s sentence) Mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := m.now() + 1
	m.pass(next, s)
	m.last.Store(uint64(next))
	return next
}

// impose makes a sentence count that was ruled at a mark in an earlier life.
func (m *marks) impose(at Mark, s sentence) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pass(at, s)
}

// begin makes a mark the first: everything there is was judged by what was ruled before.
func (m *marks) begin(at Mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.horizon = at
	m.last.Store(uint64(at))
}

func (m *marks) pass(at Mark, s sentence) {
	verdict := ruling{hard: at}
	if s.soft {
		verdict = ruling{soft: at, when: s.when.UnixNano()}
	}
	if s.all {
		m.all = m.all.and(verdict)
	}
	if m.labels == nil {
		m.labels, m.prefixes = map[uint64]ruling{}, map[string]ruling{}
	}
	for _, l := range s.labels {
		m.labels[l] = m.labels[l].and(verdict)
	}
	for _, p := range s.prefixes {
		m.prefixes[p] = m.prefixes[p].and(verdict)
	}
}

// A subject is what a ruling may concern.
type subject struct {
	key     string
	labels  []uint64
	asked   Mark
	checked *atomic.Uint64
}

// keep reports whether nothing that concerns e was dropped after e was asked for, and marks it stale if that was ruled.
func (m *marks) keep(e *Entry) bool {
	return m.judge(e.subject(), func(r ruling) { e.expire(time.Unix(0, r.when), r.soft) })
}

// keepCell is keep for an entry on its shelf, which is locked. What was judged once is not judged again before the next ruling.
func (m *marks) keepCell(l *cell) bool {
	return l.checked.Load() == m.last.Load()+1 || m.judge(l.subject(), func(r ruling) { l.soften(time.Unix(0, r.when), r.soft) })
}

func (m *marks) judge(s subject, expire func(ruling)) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if s.asked < m.horizon && s.checked.Load() <= uint64(m.horizon) {
		return false // nobody knows any more what was ruled since it was asked for
	}
	r := m.about(s.key, s.labels)
	if r.hard > s.asked {
		return false
	}
	if r.soft > s.asked {
		expire(r)
	}
	s.checked.Store(m.last.Load() + 1) // one more, so that an entry begins unjudged
	return true
}

// about is all that was ruled about an entry, in one.
func (m *marks) about(key string, labels []uint64) ruling {
	r := m.aboutLabels(labels)
	for p, other := range m.prefixes {
		if strings.HasPrefix(key, p) {
			r = r.and(other)
		}
	}
	return r
}

func (m *marks) aboutLabels(labels []uint64) ruling {
	r := m.all
	for _, l := range labels {
		r = r.and(m.labels[l])
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

// dropped reports whether what has such labels, and was asked for at a mark, was dropped since. Prefixes are not looked at.
func (m *marks) dropped(labels []uint64, asked Mark) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.aboutLabels(labels).hard > asked
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
