package cache

import (
	"iter"
	"runtime"
	"slices"
	"sync"
	"time"
)

// A purge may have to check all stored entries, while requests need the same locks and processors.
// It holds a lock only for one batch, some tens of microseconds. After some batches it sleeps, so
// that the scheduler polls the network even on a single processor.
const (
	batch     = 32
	restAfter = 32 // batches
	rest      = 50 * time.Microsecond
)

// inBatches calls do for each value of seq, with the lock held. If seq iterates over a map that
// others change between batches, it yields every key that stays in the map throughout.
func inBatches[T any](l sync.Locker, seq iter.Seq[T], do func(T)) {
	n := 0
	l.Lock()
	defer l.Unlock()
	for x := range seq {
		if n > 0 && n%batch == 0 {
			l.Unlock()
			pause(n / batch)
			l.Lock()
		}
		do(x)
		n++
	}
}

// pause yields the processor after a number of batches.
func pause(batches int) {
	if batches%restAfter == 0 {
		time.Sleep(rest)
	} else {
		runtime.Gosched()
	}
}

func values[T any](list []T) iter.Seq[T] { return slices.Values(list) }
