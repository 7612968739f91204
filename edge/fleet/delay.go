package fleet

import "time"

const (
	retryDelay = 200 * time.Millisecond // after the first failure, about
	mostDelay  = 600 * time.Millisecond // after many; with its spread less than a second
)

// retryAfter returns how long to wait after a failure that so many others preceded. The delays grow
// and differ, so that the edges of a fleet come back to a Redis one after the other. random is
// between 0 and 1.
func retryAfter(failures int, random float64) time.Duration {
	return spread(min(mostDelay, retryDelay<<min(failures, 8)), random)
}

// spread returns a time between a half of d and one and a half.
func spread(d time.Duration, random float64) time.Duration {
	return d/2 + time.Duration(random*float64(d))
}
