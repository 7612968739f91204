package ratelimit

import (
	"sync/atomic"
	"time"
)

// PerSecond counts events in the current second of the clock.
type PerSecond struct{ second, count atomic.Int64 }

// Allow counts an event and reports whether the second of now has had no more than most of them.
func (r *PerSecond) Allow(now time.Time, most int64) bool {
	if s := now.Unix(); r.second.Swap(s) != s {
		r.count.Store(0)
	}
	return r.count.Add(1) <= most
}
