//go:build race

package cache

// countsAtOnce is 1 under the race detector. Ristretto collects uses in a sync.Pool, which drops
// every fourth value under the race detector, so hardly any batch would be complete.
const countsAtOnce = 1
