package cache

import (
	"iter"
	"runtime"
	"slices"
	"sync"
	"time"
)

// A purge looks at everything that is stored. Requests need the same locks and processors meanwhile, and are not to notice: a lock
// is held for a batch, some tens of microseconds, and after some batches there is a rest, in which even a single processor looks for
// what has come in over the network.
const (
	batch     = 32
	restAfter = 32 // batches
	rest      = 50 * time.Microsecond
)

// inBatches calls do for each of a sequence, with the lock held. Of a map that others change in between, those that were there at
// the beginning and still are when their turn comes are among them.
func inBatches[T any](l sync.Locker, seq iter.Seq[T], do func(T)) {
	n := 0
	l.Lock()
	defer l.Unlock()
	for x := range seq {
		if n > 0 && n%batch == 0 {
			l.Unlock()
			breathe(n / batch)
			l.Lock()
		}
		do(x)
		n++
	}
}

// breathe lets others have the processor after a number of batches.
func breathe(batches int) {
	if batches%restAfter == 0 {
		time.Sleep(rest)
	} else {
		runtime.Gosched()
	}
}

func values[T any](list []T) iter.Seq[T] { return slices.Values(list) }
