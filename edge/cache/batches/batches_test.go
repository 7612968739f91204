package batches

import (
	"slices"
	"sync"
	"testing"
)

// A counter is a lock that counts the operations while it is held.
type counter struct {
	sync.Mutex
	held, most, times int
}

func (c *counter) Lock() {
	c.Mutex.Lock()
	c.held = 0
	c.times++
}

func (c *counter) Unlock() {
	c.most = max(c.most, c.held)
	c.Mutex.Unlock()
}

// Each holds the lock for one batch at a time, and omits no value.
func TestBatches(t *testing.T) {
	for _, n := range []int{0, 1, Size - 1, Size, Size + 1, 10*Size + 3} {
		list, seen := make([]int, n), 0
		var lock counter
		Each(&lock, slices.Values(list), func(int) { lock.held++; seen++ })
		if seen != n || lock.most > Size || lock.times != max(1, (n+Size-1)/Size) || !lock.TryLock() {
			t.Errorf("of %d values %d were seen, at most %d in one of %d batches", n, seen, lock.most, lock.times)
		}
	}
}
