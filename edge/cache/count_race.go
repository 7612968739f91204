//go:build race

package cache

// countsAtOnce is one under the race detector: with it a sync.Pool, in which ristretto gathers them, loses every fourth of what it is
// given, and so all but none of them would arrive.
const countsAtOnce = 1
