// Package clock is the time by which an edge measures ages, freshness lifetimes and the windows of
// limits. A test stops it, and moves it on. The deadlines of connections, origins and transfers
// keep to the time of the system, because sockets and timers do.
package clock

import "time"

// A Clock returns the present time; nil is the clock of the system.
type Clock func() time.Time

// Now returns the present time.
func (c Clock) Now() time.Time {
	if c == nil {
		return time.Now()
	}
	return c()
}

// At returns the present time where the caller has just read now from the clock of the system, so
// that the hit path reads that clock only once.
func (c Clock) At(now time.Time) time.Time {
	if c == nil {
		return now
	}
	return c()
}
