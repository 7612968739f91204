package observe

import (
	"strconv"
	"time"
)

// FieldServerTiming is the field with the times of a response. A response of an origin may have
// some too, which stay in fields of their own.
const FieldServerTiming = "Server-Timing"

// AppendTiming appends the times of a response: what the cache did, how long the edge took without
// the origin, and how long the origin took; 0: it was not asked.
func AppendTiming(dst []byte, cache string, took, origin time.Duration) []byte {
	dst = append(append(append(dst, `cache;desc="`...), cache...), `", edge;dur=`...)
	dst = appendMilliseconds(dst, took-origin)
	if origin > 0 {
		dst = appendMilliseconds(append(dst, ", origin;dur="...), origin)
	}
	return dst
}

func appendMilliseconds(dst []byte, d time.Duration) []byte {
	return strconv.AppendFloat(dst, float64(max(d, 0))/float64(time.Millisecond), 'f', 3, 64)
}
