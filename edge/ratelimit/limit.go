package ratelimit

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// A Limit lets N calls through in any Window. The zero Limit is off and lets every call through.
type Limit struct {
	N      int
	Window time.Duration // whole seconds
}

// Bounds of a Limit: a client needs memory for N moments, and the header fields give the window in
// whole seconds.
const (
	MaxN      = 1_000_000
	MaxWindow = 24 * time.Hour
)

// ErrLimit means that a string is not a limit.
var ErrLimit = errors.New(`a limit is a number of calls and a window of whole seconds, such as 60/1m, at most 1000000/24h, or off`)

// ParseLimit reads "60/1m" (60 calls a minute; the window as in time.ParseDuration, or 1d) or
// "off". The error is ErrLimit.
func ParseLimit(s string) (Limit, error) {
	if s == "off" {
		return Limit{}, nil
	}
	calls, window, _ := strings.Cut(s, "/")
	n, err := strconv.ParseUint(calls, 10, 32)
	if err != nil || n < 1 || n > MaxN {
		return Limit{}, ErrLimit
	}
	if window == "1d" {
		window = "24h"
	}
	w, err := time.ParseDuration(window)
	if err != nil || w < time.Second || w > MaxWindow || w%time.Second != 0 {
		return Limit{}, ErrLimit
	}
	return Limit{int(n), w}, nil
}

// tick returns the step of the clock on which l is exact, such as 20 ns for a minute and 50 µs for
// a day: a divisor of a second, so that a window has whole ticks, and at most 1<<32 of them. Up to
// an hour it is a divisor of a microsecond, which is the step of the windows that edges share.
func (l Limit) tick() time.Duration {
	tick := time.Duration(1)
	for i := 0; l.Window/tick > 1<<32; i++ {
		if i%3 == 1 {
			tick += tick * 3 / 2
		} else {
			tick *= 2
		}
	}
	return tick
}

// Off reports whether l lets everything through.
func (l Limit) Off() bool { return l.N <= 0 || l.Window <= 0 }

// String returns l in the form that ParseLimit reads.
func (l Limit) String() string {
	if l.Off() {
		return "off"
	}
	return strconv.Itoa(l.N) + "/" + l.Window.String()
}

// AppendPolicy appends the value of RateLimit-Policy for a limit with this name,
// `"search";q=60;w=60` (draft-ietf-httpapi-ratelimit-headers-11, section 3). The name is one of our
// own constants.
func AppendPolicy(dst []byte, name string, l Limit) []byte {
	dst = appendName(dst, name)
	dst = strconv.AppendInt(append(dst, ";q="...), int64(l.N), 10)
	return strconv.AppendInt(append(dst, ";w="...), int64(l.Window/time.Second), 10)
}

// AppendState appends the value of RateLimit, `"search";r=59;t=60` (section 4 there): the calls
// left, and the seconds until the next place frees, rounded up.
func AppendState(dst []byte, name string, d Decision) []byte {
	dst = appendName(dst, name)
	dst = strconv.AppendInt(append(dst, ";r="...), int64(d.Remaining), 10)
	return strconv.AppendInt(append(dst, ";t="...), int64(ceilSeconds(d.Reset)/time.Second), 10)
}

func appendName(dst []byte, name string) []byte {
	return append(append(append(dst, '"'), name...), '"')
}

// ceilSeconds rounds up to whole seconds, so that a client that waits for so long does not come too
// early.
func ceilSeconds(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}
