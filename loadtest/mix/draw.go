//go:build linux

package mix

import (
	"math"
	"math/rand/v2"
	"sort"
)

// A draw picks numbers by their weights.
type draw []float64 // the sums of the weights up to each number

func newDraw(weights []float64) draw {
	d, sum := make(draw, len(weights)), 0.0
	for i, w := range weights {
		sum += w
		d[i] = sum
	}
	return d
}

func (d draw) next(random *rand.Rand) int { return d.at(random.Float64()) }

// at is the number at a place between 0 and 1 in the row of all weights.
func (d draw) at(place float64) int {
	at := place * d[len(d)-1]
	return min(sort.Search(len(d), func(i int) bool { return d[i] > at }), len(d)-1)
}

// Zipf is an order of n paths in which the k-th is asked for in proportion to 1/k^skew, as pages and pictures on the web are, with a
// skew near 1 (Breslau and others, "Web caching and Zipf-like distributions", 1999). The same seed gives the same order, so that
// every server is asked for the same.
func Zipf(n int, skew float64, seed uint64) []uint32 {
	weights := make([]float64, n)
	for k := range weights {
		weights[k] = math.Pow(float64(k+1), -skew)
	}
	d, random := newDraw(weights), rand.New(rand.NewPCG(seed, 0))
	order := make([]uint32, max(leastDrawn, 4*n))
	for i := range order { // one from each of as many equal parts, so that shares are right to a single request, then shuffled
		order[i] = uint32(d.at((float64(i) + random.Float64()) / float64(len(order))))
	}
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// leastDrawn is how many numbers are drawn at least before they come again.
const leastDrawn = 1 << 16

// Shuffled is an order in which each of n paths comes once in a round, wherever.
func Shuffled(n int, seed uint64) []uint32 {
	order := Recorded(n)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// Recorded is the order in which the paths stand.
func Recorded(n int) []uint32 {
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	return order
}
