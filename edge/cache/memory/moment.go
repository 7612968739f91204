package memory

import (
	"math"
	"time"
)

// never represents the zero time.
const never = math.MinInt64

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
