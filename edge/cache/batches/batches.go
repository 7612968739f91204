// Package batches decides how long work on many entries may hold a lock, and when it rests.
package batches

import (
	"iter"
	"runtime"
	"sync"
	"time"
)

// A purge may have to check all stored entries, while requests need the same locks and processors.
// It holds a lock only for one batch, some tens of microseconds. After some batches it sleeps, so
// that the scheduler polls the network even on a single processor.
const (
	Size      = 32 // values of a batch
	restAfter = 32 // batches
	rest      = 50 * time.Microsecond
)

// Each calls do for each value of seq, with the lock held. If seq iterates over a map that others
// change between batches, it yields every key that stays in the map throughout.
func Each[T any](l sync.Locker, seq iter.Seq[T], do func(T)) {
	n := 0
	l.Lock()
	defer l.Unlock()
	for x := range seq {
		if n > 0 && n%Size == 0 {
			l.Unlock()
			Pause(n / Size)
			l.Lock()
		}
		do(x)
		n++
	}
}

// Pause yields the processor after a number of batches.
func Pause(batches int) {
	if batches%restAfter == 0 {
		time.Sleep(rest)
	} else {
		runtime.Gosched()
	}
}
