package cache

import (
	"math"
	"time"
)

// never stands for the zero time.
const never = math.MinInt64

// moment is a time in nanoseconds, and not zero, which says that there is none.
func moment(t time.Time) int64 {
	if n := t.UnixNano(); n != 0 {
		return n
	}
	return 1
}

// nanos is a time in nanoseconds; not ok, if it lies too far away for that.
func nanos(t time.Time) (n int64, ok bool) {
	if t.IsZero() {
		return never, true
	}
	n = t.UnixNano()
	return n, timeOf(n).Equal(t)
}

// timeOf is the time that nanos made a number of.
func timeOf(n int64) time.Time {
	if n == never {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
