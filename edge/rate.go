package edge

import (
	"sync/atomic"
	"time"
)

// A rate counts what happens in a second of the clock.
type rate struct{ second, count atomic.Int64 }

// allow reports whether this is one of the most that may happen in the second of now.
func (r *rate) allow(now time.Time, most int64) bool {
	if s := now.Unix(); r.second.Swap(s) != s {
		r.count.Store(0)
	}
	return r.count.Add(1) <= most
}
