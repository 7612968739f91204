//go:build !race

package cache

// countsAtOnce is the number of uses that ristretto collects before it counts them: the number that
// its makers recommend.
const countsAtOnce = 64
