package cache

import (
	"math"
	"time"
)

// never represents the zero time.
const never = math.MinInt64

// moment returns a time in nanoseconds that is not zero, because zero means that there is none.
func moment(t time.Time) int64 {
	if n := t.UnixNano(); n != 0 {
		return n
	}
	return 1
}

// nanos returns a time in nanoseconds. ok is false if the time is out of range.
func nanos(t time.Time) (n int64, ok bool) {
	if t.IsZero() {
		return never, true
	}
	n = t.UnixNano()
	return n, timeOf(n).Equal(t)
}

// timeOf is the inverse of nanos.
func timeOf(n int64) time.Time {
	if n == never {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
