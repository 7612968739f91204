package cache

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Generation is a generation: a moment in the order of drops and purges. An entry has the
// generation at which its request began, and is valid while no later invalidation concerns it. A
// purge therefore takes effect at once, however many entries it concerns, and also for responses
// that are in flight.
type Generation uint64

// Above these limits, invalidations against which every stored entry was checked are discarded.
const (
	maxLabels      = 1 << 16
	maxPrefixes    = 1 << 16
	maxPrefixBytes = 16 << 20
)

// An invalidation has the generations at which something was last dropped, and last made stale.
type invalidation struct {
	hard, soft Generation
	when       int64 // of soft, in nanoseconds
}

// invalidations are all that apply. A long purge delays no request: its invalidations are added in
// batches, and the time of a lookup depends only on the length of the key.
type invalidations struct {
	last     atomic.Uint64 // the newest generation; set when all of its invalidations are in place
	applying sync.Mutex    // held while the fields below change; taken before mu
	mu       sync.RWMutex
	all      invalidation
	labels   map[uint64]invalidation
	prefixes prefixes
	// The low-water mark: invalidations up to it may have been discarded, so an entry that was not
	// checked since is invalid.
	lowWater Generation
}

func (m *invalidations) current() Generation { return Generation(m.last.Load()) }

// Generation returns the generation for requests that begin now.
func (c *Cache) Generation() Generation { return c.invalidations.current() }

// apply makes a purge effective, and returns its generation.
func (m *invalidations) apply(s *purgeSpec) Generation {
	m.applying.Lock()
	defer m.applying.Unlock()
	next := m.current() + 1
	m.add(next, s)
	m.last.Store(uint64(next))
	return next
}

// applyAt makes a purge effective that was applied at a generation in an earlier run.
func (m *invalidations) applyAt(at Generation, s *purgeSpec) {
	m.applying.Lock()
	defer m.applying.Unlock()
	m.add(at, s)
}

// startAt sets the first generation. Everything stored was checked against earlier invalidations.
func (m *invalidations) startAt(at Generation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lowWater = at
	m.last.Store(uint64(at))
}

// add adds the invalidations of a purge in batches. An entry that is checked in between is checked
// again, because the generation is not the newest yet.
func (m *invalidations) add(at Generation, s *purgeSpec) {
	v := invalidation{hard: at}
	if s.soft {
		v = invalidation{soft: at, when: s.when.UnixNano()}
	}
	m.mu.Lock()
	if s.all {
		m.all = m.all.merge(v)
	}
	if m.labels == nil {
		m.labels = map[uint64]invalidation{}
	}
	m.mu.Unlock()
	inBatches(&m.mu, values(s.labels), func(l uint64) { m.labels[l] = m.labels[l].merge(v) })
	inBatches(&m.mu, values(s.prefixes), func(p string) { m.prefixes.add(p, v) })
}

// A subject has the parts of an entry on which invalidations depend.
type subject struct {
	key        string
	labels     []uint64
	generation Generation
	checked    *atomic.Uint64
}

// checkEntry reports whether e is valid: no drop or hard purge since its request began concerns it.
// It expires e if a soft purge since then concerns it.
func (m *invalidations) checkEntry(e *Entry) bool {
	return m.check(e.subject(), func(v invalidation) { e.expire(time.Unix(0, v.when), v.soft) })
}

// checkSlot is checkEntry for an entry in a shard, which is locked. It checks an entry once between
// two purges.
func (m *invalidations) checkSlot(l *slot) bool {
	return l.checked.Load() == m.last.Load()+1 || m.check(l.subject(), func(v invalidation) { l.expire(time.Unix(0, v.when), v.soft) })
}

func (m *invalidations) check(s subject, expire func(invalidation)) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if s.generation < m.lowWater && s.checked.Load() <= uint64(m.lowWater) {
		return false // invalidations since its request began may have been discarded
	}
	v := m.newest(s.key, s.labels)
	if v.hard > s.generation {
		return false
	}
	if v.soft > s.generation {
		expire(v)
	}
	s.checked.Store(m.last.Load() + 1) // one more, so that an entry begins unchecked
	return true
}

// newest merges all invalidations that concern an entry. The caller holds mu.
func (m *invalidations) newest(key string, labels []uint64) invalidation {
	return m.prefixes.matchKey(key).merge(m.newestOfLabels(labels))
}

func (m *invalidations) newestOfLabels(labels []uint64) invalidation {
	v := m.all
	for _, l := range labels {
		v = v.merge(m.labels[l])
	}
	return v
}

func (v invalidation) merge(other invalidation) invalidation {
	v.hard = max(v.hard, other.hard)
	if other.soft > v.soft {
		v.soft, v.when = other.soft, other.when
	}
	return v
}

// last returns the generation of the newer one.
func (v invalidation) last() Generation { return max(v.hard, v.soft) }

// dropped reports whether an entry with these labels, whose request began at a generation, was
// dropped since. It ignores prefixes.
func (m *invalidations) dropped(labels []uint64, generation Generation) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.newestOfLabels(labels).hard > generation
}

// tooMany reports whether the limits are exceeded.
func (m *invalidations) tooMany() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.labels) > maxLabels || m.prefixes.n > maxPrefixes || m.prefixes.bytes > maxPrefixBytes
}

// discard removes invalidations up to a generation once every stored entry has been checked against
// them. A response that has been in flight since before then may be invalid, so it is not stored.
// The rest is copied, so that no check waits.
func (m *invalidations) discard(upTo Generation) {
	m.applying.Lock()
	defer m.applying.Unlock()
	labels, left := map[uint64]invalidation{}, prefixes{}
	for l, v := range m.labels {
		if v.last() > upTo {
			labels[l] = v
		}
	}
	m.prefixes.all(func(p string, v invalidation) {
		if v.last() > upTo {
			left.add(p, v)
		}
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lowWater, m.labels, m.prefixes = upTo, labels, left
}
