package upstream

import "time"

const (
	mostFailures = 5                      // in a row: then the breaker opens
	firstPause   = 100 * time.Millisecond // before the first probe: an origin may be gone for no longer than it takes to start again
	longestPause = time.Second            // between two probes: it doubles up to here, and who comes back is found within it
)

// A breaker keeps requests from an origin that fails, so that callers do not wait for it, and one that starts again is not
// met by all of them at once. While it is open one request in each pause is let through, the probe, also when the one before it
// still waits for an answer: of what hangs nobody knows when it will be given up, and the origin may be back by then.
type breaker struct {
	failures int           // in a row, while closed
	pause    time.Duration // after the next probe; zero: it is closed
	until    time.Time     // the end of the pause
}

// What became of a try, as far as the origin's health goes.
type verdict int

const (
	nothing verdict = iota // that tells of the origin: the caller went away, or no connection was free
	success                // it answered, whatever it said
	failure                // no connection, lost, too late
)

func (b *breaker) open() bool { return b.pause > 0 }

// forgotten reports whether it is open, and no request has come that could have been its probe.
func (b *breaker) forgotten(now time.Time) bool { return b.open() && now.Sub(b.until) > longestPause }

// admit reports whether a request may go out now, and whether it is a probe. Whatever is admitted must be settled.
func (b *breaker) admit(now time.Time) (probe, ok bool) {
	if !b.open() {
		return false, true
	}
	if now.Before(b.until) {
		return false, false
	}
	b.until, b.pause = now.Add(b.pause), min(2*b.pause, longestPause)
	return true, true
}

// settle takes the verdict on what was admitted, and reports whether the breaker opened by it or closed. While
// it is open only probes count: other requests began before it opened.
func (b *breaker) settle(probe bool, v verdict, now time.Time) (opened, closed bool) {
	switch {
	case !b.open() && v == success, b.open() && probe && v == success:
		closed = b.open()
		*b = breaker{}
	case b.open() && probe && v == nothing:
		b.until = now // it told nothing: the next may go out
	case !b.open() && !probe && v == failure: // what fails behind one that closed it was a probe of the same bad time
		if b.failures++; b.failures >= mostFailures {
			b.until, b.pause, opened = now.Add(firstPause), 2*firstPause, true
		}
	}
	return opened, closed
}
