package cache

import "time"

// A memory keeps what is to be known of some keys, each for a while, and never of more than so many.
type memory[T any] struct {
	most  int
	known map[string]known[T]
}

type known[T any] struct {
	what  T
	until time.Time
}

func newMemory[T any](most int) memory[T] { return memory[T]{most, map[string]known[T]{}} }

// keep keeps something for a while. Where too much is kept what is over goes, or else this is not kept.
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

// recall returns what is kept of a key, if it is not over.
func (m *memory[T]) recall(key string, now time.Time) (what T, ok bool) {
	k, ok := m.known[key]
	if !ok || now.Before(k.until) {
		return k.what, ok
	}
	delete(m.known, key)
	var none T
	return none, false
}

// forget drops what is kept of a key.
func (m *memory[T]) forget(key string) { delete(m.known, key) }
