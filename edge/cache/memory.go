package cache

import "time"

// An expiringMap holds values for a limited time, and at most max of them.
type memory[T any] struct {
	most  int
	known map[string]known[T]
}

type known[T any] struct {
	what  T
	until time.Time
}

func newMemory[T any](most int) memory[T] { return memory[T]{most, map[string]known[T]{}} }

// set stores a value for a while. If the map is full, it removes expired values; if it is still
// full, it does not store the value.
func (m *memory[T]) keep(key string, what T, now time.Time, during time.Duration) {
	if len(m.known) >= m.most {
		for k, old := range m.known {
			if !now.Before(old.until) {
				delete(m.known, k)
			}
		}
	}
	if len(m.known) < m.most {
		m.known[key] = known[T]{what, now.Add(during)}
	}
}

// get returns the value of a key unless it has expired.
func (m *memory[T]) recall(key string, now time.Time) (what T, ok bool) {
	k, ok := m.known[key]
	if !ok || now.Before(k.until) {
		return k.what, ok
	}
	delete(m.known, key)
	var none T
	return none, false
}

// delete removes the value of a key.
func (m *memory[T]) forget(key string) { delete(m.known, key) }
