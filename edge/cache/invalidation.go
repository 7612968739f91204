package cache

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Mark is a moment in the order of drops and purges: a generation. An entry is asked for at a mark, and lives while nothing that
// concerns it was invalidated after it: so a purge takes effect at once however much it concerns, and catches what is still on its
// way.
type Mark uint64

// Beyond so many invalidations, those that every stored entry was checked against are forgotten.
const (
	maxLabels      = 1 << 16
	maxPrefixes    = 1 << 16
	maxPrefixBytes = 16 << 20
)

// An invalidation is when something was dropped, and when it was marked stale, last.
type invalidation struct {
	hard, soft Mark
	when       int64 // of soft, in nanoseconds
}

// invalidations are all that count. No request waits for the length of a purge: they are added a few at a time, and a lookup takes
// the time of its key, whatever their number.
type invalidations struct {
	last     atomic.Uint64 // the newest mark; set when all of its invalidations are in place
	applying sync.Mutex    // held while what follows changes; taken before mu
	mu       sync.RWMutex
	all      invalidation
	labels   map[uint64]invalidation
	prefixes prefixes
	lowWater Mark // invalidations up to here may be forgotten: an entry that was not checked since is not trusted
}

func (m *invalidations) now() Mark { return Mark(m.last.Load()) }

// Now is the mark at which whatever is asked for from here on is asked for.
func (c *Cache) Now() Mark { return c.marks.now() }

// apply makes a purge count from now on, and returns its mark.
func (m *invalidations) apply(s *purgeSpec) Mark {
	m.applying.Lock()
	defer m.applying.Unlock()
	next := m.now() + 1
	m.add(next, s)
	m.last.Store(uint64(next))
	return next
}

// applyAt makes a purge count that was applied at a mark in an earlier life.
func (m *invalidations) applyAt(at Mark, s *purgeSpec) {
	m.applying.Lock()
	defer m.applying.Unlock()
	m.add(at, s)
}

// begin makes a mark the first: everything there is was checked against what was invalidated before.
func (m *invalidations) begin(at Mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lowWater = at
	m.last.Store(uint64(at))
}

// add puts a purge in place, piece by piece. An entry that is checked in between is checked again, because the mark is not yet the
// newest.
func (m *invalidations) add(at Mark, s *purgeSpec) {
	v := invalidation{hard: at}
	if s.soft {
		v = invalidation{soft: at, when: s.when.UnixNano()}
	}
	m.mu.Lock()
	if s.all {
		m.all = m.all.and(v)
	}
	if m.labels == nil {
		m.labels = map[uint64]invalidation{}
	}
	m.mu.Unlock()
	inBatches(&m.mu, values(s.labels), func(l uint64) { m.labels[l] = m.labels[l].and(v) })
	inBatches(&m.mu, values(s.prefixes), func(p string) { m.prefixes.add(p, v) })
}

// A subject is what an invalidation may concern.
type subject struct {
	key     string
	labels  []uint64
	asked   Mark
	checked *atomic.Uint64
}

// keep reports whether nothing that concerns e was dropped after e was asked for, and marks it stale if a purge since says so.
func (m *invalidations) keep(e *Entry) bool {
	return m.check(e.subject(), func(v invalidation) { e.expire(time.Unix(0, v.when), v.soft) })
}

// keepCell is keep for an entry on its shelf, which is locked. It is checked once between two purges.
func (m *invalidations) keepCell(l *cell) bool {
	return l.checked.Load() == m.last.Load()+1 || m.check(l.subject(), func(v invalidation) { l.soften(time.Unix(0, v.when), v.soft) })
}

func (m *invalidations) check(s subject, expire func(invalidation)) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if s.asked < m.lowWater && s.checked.Load() <= uint64(m.lowWater) {
		return false // what was invalidated since it was asked for is no longer known
	}
	v := m.about(s.key, s.labels)
	if v.hard > s.asked {
		return false
	}
	if v.soft > s.asked {
		expire(v)
	}
	s.checked.Store(m.last.Load() + 1) // one more, so that an entry begins unchecked
	return true
}

// about is all that concerns an entry, in one. The caller holds mu.
func (m *invalidations) about(key string, labels []uint64) invalidation {
	v, _ := m.prefixes.about(key)
	return v.and(m.aboutLabels(labels))
}

func (m *invalidations) aboutLabels(labels []uint64) invalidation {
	v := m.all
	for _, l := range labels {
		v = v.and(m.labels[l])
	}
	return v
}

func (v invalidation) and(other invalidation) invalidation {
	v.hard = max(v.hard, other.hard)
	if other.soft > v.soft {
		v.soft, v.when = other.soft, other.when
	}
	return v
}

// newest is the mark of the last purge in it.
func (v invalidation) newest() Mark { return max(v.hard, v.soft) }

// dropped reports whether what has such labels, and was asked for at a mark, was dropped since. Prefixes are not looked at.
func (m *invalidations) dropped(labels []uint64, asked Mark) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.aboutLabels(labels).hard > asked
}

// many reports whether more is known than should be.
func (m *invalidations) many() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.labels) > maxLabels || m.prefixes.n > maxPrefixes || m.prefixes.bytes > maxPrefixBytes
}

// forget discards the invalidations up to a mark, against all of which every stored entry was checked. It is then unknown whether
// they concern an answer that is on its way: that is not stored. What is left is copied, so that no check waits.
func (m *invalidations) forget(upTo Mark) {
	m.applying.Lock()
	defer m.applying.Unlock()
	labels, left := map[uint64]invalidation{}, prefixes{}
	for l, v := range m.labels {
		if v.newest() > upTo {
			labels[l] = v
		}
	}
	m.prefixes.all(func(p string, v invalidation) {
		if v.newest() > upTo {
			left.add(p, v)
		}
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lowWater, m.labels, m.prefixes = upTo, labels, left
}
