// Package invalidation decides which entries drops and purges make invalid or stale, also entries
// whose requests are in flight.
package invalidation

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/iconedge/iconedge/edge/cache/batches"
)

// A Generation is a generation: a moment in the order of drops and purges. An entry has the
// generation at which its request began, and is valid while no later invalidation concerns it. A
// purge therefore takes effect at once, however many entries it concerns, and also for responses
// that are in flight.
type Generation uint64

// Above these limits, invalidations against which every stored entry was checked are discarded.
const (
	MaxLabels      = 1 << 16 // labels of keys and surrogate keys
	MaxPrefixes    = 1 << 16 // prefixes of keys
	maxPrefixBytes = 16 << 20
)

// Latest has the generations at which something was last dropped, and last made stale.
type Latest struct {
	Hard, Soft Generation
	When       int64 // of Soft, in nanoseconds
}

// A Table holds all invalidations that apply. A long purge delays no request: its invalidations are
// added in batches, and the time of a lookup depends only on the length of the key.
type Table struct {
	last     atomic.Uint64 // the newest generation; set when all of its invalidations are in place
	applying sync.Mutex    // held while the fields below change; taken before mu
	mu       sync.RWMutex
	all      Latest
	labels   map[uint64]Latest
	prefixes prefixes
	// The low-water mark: invalidations up to it may have been discarded, so an entry that was not
	// checked since is invalid.
	lowWater Generation
}

// Current returns the newest generation, for requests that begin now.
func (m *Table) Current() Generation { return Generation(m.last.Load()) }

// Apply makes a purge effective, and returns its generation.
func (m *Table) Apply(s *Spec) Generation {
	m.applying.Lock()
	defer m.applying.Unlock()
	next := m.Current() + 1
	m.add(next, s)
	m.last.Store(uint64(next))
	return next
}

// ApplyAt makes a purge effective that was applied at a generation in an earlier run.
func (m *Table) ApplyAt(at Generation, s *Spec) {
	m.applying.Lock()
	defer m.applying.Unlock()
	m.add(at, s)
}

// StartAt sets the first generation. Everything stored was checked against earlier invalidations.
func (m *Table) StartAt(at Generation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lowWater = at
	m.last.Store(uint64(at))
}

// add adds the invalidations of a purge in batches. An entry that is checked in between is checked
// again, because the generation is not the newest yet.
func (m *Table) add(at Generation, s *Spec) {
	v := Latest{Hard: at}
	if s.Soft {
		v = Latest{Soft: at, When: s.When.UnixNano()}
	}
	m.mu.Lock()
	if s.All {
		m.all = m.all.Merge(v)
	}
	if m.labels == nil {
		m.labels = map[uint64]Latest{}
	}
	m.mu.Unlock()
	batches.Each(&m.mu, slices.Values(s.Labels), func(l uint64) { m.labels[l] = m.labels[l].Merge(v) })
	batches.Each(&m.mu, slices.Values(s.Prefixes), func(p string) { m.prefixes.add(p, v) })
}

// A Subject has the parts of an entry on which invalidations depend.
type Subject struct {
	Key        string
	Labels     []uint64
	Generation Generation
	Checked    *atomic.Uint64
}

// IsChecked reports whether check was called since the newest invalidation; checked is the value
// that it stored.
func (m *Table) IsChecked(checked uint64) bool { return checked == m.last.Load()+1 }

// Check reports whether an entry is valid: no drop or hard purge since its request began concerns
// it. It calls expire if a soft purge since then concerns it.
func (m *Table) Check(s Subject, expire func(Latest)) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if s.Generation < m.lowWater && s.Checked.Load() <= uint64(m.lowWater) {
		return false // invalidations since its request began may have been discarded
	}
	v := m.Newest(s.Key, s.Labels)
	if v.Hard > s.Generation {
		return false
	}
	if v.Soft > s.Generation {
		expire(v)
	}
	s.Checked.Store(m.last.Load() + 1) // one more, so that an entry begins unchecked
	return true
}

// Newest merges all invalidations that concern an entry. The caller holds mu.
func (m *Table) Newest(key string, labels []uint64) Latest {
	return m.prefixes.matchKey(key).Merge(m.newestOfLabels(labels))
}

// NewestOf is Newest for a caller that does not hold mu.
func (m *Table) NewestOf(key string, labels []uint64) Latest {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.Newest(key, labels)
}

func (m *Table) newestOfLabels(labels []uint64) Latest {
	v := m.all
	for _, l := range labels {
		v = v.Merge(m.labels[l])
	}
	return v
}

// Merge returns the newest of both.
func (v Latest) Merge(other Latest) Latest {
	v.Hard = max(v.Hard, other.Hard)
	if other.Soft > v.Soft {
		v.Soft, v.When = other.Soft, other.When
	}
	return v
}

// last returns the generation of the newer one.
func (v Latest) last() Generation { return max(v.Hard, v.Soft) }

// DroppedKey reports whether an entry whose request began at a generation was dropped or purged
// since.
func (m *Table) DroppedKey(key string, labels []uint64, generation Generation) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.Newest(key, labels).Hard > generation
}

// Dropped reports whether an entry with these labels, whose request began at a generation, was
// dropped since. It ignores prefixes.
func (m *Table) Dropped(labels []uint64, generation Generation) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.newestOfLabels(labels).Hard > generation
}

// Count returns the numbers of labels and of prefixes with invalidations.
func (m *Table) Count() (labels, prefixes int) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.labels), m.prefixes.n
}

// TooMany reports whether the limits are exceeded.
func (m *Table) TooMany() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.labels) > MaxLabels || m.prefixes.n > MaxPrefixes || m.prefixes.bytes > maxPrefixBytes
}

// Discard removes invalidations up to a generation once every stored entry has been checked against
// them. A response that has been in flight since before then may be invalid, so it is not stored.
// The rest is copied, so that no check waits.
func (m *Table) Discard(upTo Generation) {
	m.applying.Lock()
	defer m.applying.Unlock()
	labels, left := map[uint64]Latest{}, prefixes{}
	for l, v := range m.labels {
		if v.last() > upTo {
			labels[l] = v
		}
	}
	m.prefixes.all(func(p string, v Latest) {
		if v.last() > upTo {
			left.add(p, v)
		}
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lowWater, m.labels, m.prefixes = upTo, labels, left
}
