package guesses

// Memory is a map of bounded size. It has two generations: when the young one is full, it becomes
// the old one, and the keys of the old one are forgotten. A key that is used moves to the young
// one, so a flood of new keys displaces only keys that are not in use. It is not safe for
// concurrent use.
type Memory[K comparable, V any] struct {
	max        int
	young, old map[K]V
}

// NewMemory returns a Memory with at most max keys in each generation.
func NewMemory[K comparable, V any](max int) *Memory[K, V] {
	return &Memory[K, V]{max: max, young: map[K]V{}}
}

// Get returns the value of a key, which counts as a use of it.
func (m *Memory[K, V]) Get(k K) (v V, ok bool) {
	if v, ok = m.young[k]; ok {
		return v, true
	}
	if v, ok = m.old[k]; ok {
		m.Put(k, v)
	}
	return v, ok
}

// Put sets the value of a key.
func (m *Memory[K, V]) Put(k K, v V) {
	if _, known := m.young[k]; !known && len(m.young) >= m.max {
		m.young, m.old = map[K]V{}, m.young
	}
	m.young[k] = v
}
