package edge

import (
	"sync/atomic"
	"time"
)

// A rate counts events in the current second of the clock.
type rate struct{ second, count atomic.Int64 }

// allow counts an event and reports whether the second of now has had no more than most of them.
func (r *rate) allow(now time.Time, most int64) bool {
	if s := now.Unix(); r.second.Swap(s) != s {
		r.count.Store(0)
	}
	return r.count.Add(1) <= most
}
