package upstream

import "time"

const (
	mostFailures = 5                // in a row: then the breaker opens
	firstPause   = time.Second      // for which nothing is asked
	longestPause = 15 * time.Second // it doubles up to here while probes fail
)

// A breaker keeps requests from an origin that fails, so that callers do not wait for it, and one that starts again is not
// met by all of them at once. When the pause is over one request at a time is let through, the probe, and decides.
type breaker struct {
	failures int           // in a row, while closed
	pause    time.Duration // zero: closed
	until    time.Time     // the end of pause
	probing  bool
}

// What became of a try, as far as the origin's health goes.
type verdict int

const (
	nothing verdict = iota // that tells of the origin: the caller went away, or no connection was free
	success                // it answered, whatever it said
	failure                // no connection, lost, too late
)

func (b *breaker) closed() bool { return b.pause == 0 }

// admit reports whether a request may go out now, and whether it is the probe. Whatever is admitted must be settled.
func (b *breaker) admit(now time.Time) (probe, ok bool) {
	if b.closed() {
		return false, true
	}
	if b.probing || now.Before(b.until) {
		return false, false
	}
	b.probing = true
	return true, true
}

// settle takes the verdict on what was admitted, and reports whether the breaker opened by it or closed. While
// it is open only the probe counts: other requests began before it opened.
func (b *breaker) settle(probe bool, v verdict, now time.Time) (opened, closed bool) {
	if !probe && !b.closed() {
		return false, false
	}
	if probe {
		b.probing = false
	}
	switch v {
	case success:
		*b = breaker{}
		return false, probe
	case failure:
		if b.failures++; probe || b.failures >= mostFailures {
			b.pause = max(firstPause, min(2*b.pause, longestPause))
			b.until = now.Add(b.pause)
			return !probe, false
		}
	}
	return false, false
}
