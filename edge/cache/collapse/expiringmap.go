package collapse

import "time"

// An expiringMap holds values for a limited time, and at most max of them.
type expiringMap[T any] struct {
	max    int
	values map[string]expiringValue[T]
}

type expiringValue[T any] struct {
	value T
	until time.Time
}

func newExpiringMap[T any](max int) expiringMap[T] {
	return expiringMap[T]{max, map[string]expiringValue[T]{}}
}

// set stores a value for a while. If the map is full, it removes expired values; if it is still
// full, it does not store the value.
func (m *expiringMap[T]) set(key string, value T, now time.Time, during time.Duration) {
	if len(m.values) >= m.max {
		m.sweep(now)
	}
	if len(m.values) < m.max {
		m.values[key] = expiringValue[T]{value, now.Add(during)}
	}
}

// sweep removes expired values, and returns how many are left.
func (m *expiringMap[T]) sweep(now time.Time) (left int) {
	for k, old := range m.values {
		if !now.Before(old.until) {
			delete(m.values, k)
		}
	}
	if len(m.values) == 0 {
		m.values = map[string]expiringValue[T]{} // a map that was large stays large
	}
	return len(m.values)
}

// get returns the value of a key unless it has expired.
func (m *expiringMap[T]) get(key string, now time.Time) (value T, ok bool) {
	k, ok := m.values[key]
	if !ok || now.Before(k.until) {
		return k.value, ok
	}
	delete(m.values, key)
	var none T
	return none, false
}

// delete removes the value of a key.
func (m *expiringMap[T]) delete(key string) { delete(m.values, key) }
