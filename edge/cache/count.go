//go:build !race

package cache

// countsAtOnce is how many uses of entries are gathered before ristretto is told of them: as its makers advise.
const countsAtOnce = 64
