//go:build linux

package mix

import (
	"math"
	"math/rand/v2"
	"sort"
)

// A draw picks numbers by weight.
type draw []float64 // cumulative weights

func newDraw(weights []float64) draw {
	d, sum := make(draw, len(weights)), 0.0
	for i, w := range weights {
		sum += w
		d[i] = sum
	}
	return d
}

func (d draw) next(random *rand.Rand) int { return d.at(random.Float64()) }

// at returns the number at a position between 0 and 1 of the cumulative weights.
func (d draw) at(place float64) int {
	at := place * d[len(d)-1]
	return min(sort.Search(len(d), func(i int) bool { return d[i] > at }), len(d)-1)
}

// Zipf returns an order of n paths in which path k has a frequency proportional to 1/k^skew. On the
// web the skew is near 1 (Breslau and others, "Web caching and Zipf-like distributions", 1999). The
// same seed gives the same order, so all servers get the same requests.
func Zipf(n int, skew float64, seed uint64) []uint32 {
	weights := make([]float64, n)
	for k := range weights {
		weights[k] = math.Pow(float64(k+1), -skew)
	}
	d, random := newDraw(weights), rand.New(rand.NewPCG(seed, 0))
	order := make([]uint32, max(leastDrawn, 4*n))
	// one draw from each of as many equal intervals makes the frequencies exact; then the order is
	// shuffled
	for i := range order {
		order[i] = uint32(d.at((float64(i) + random.Float64()) / float64(len(order))))
	}
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// leastDrawn is the minimum length of an order before it repeats.
const leastDrawn = 1 << 16

// Shuffled returns a random order that contains each of n paths once.
func Shuffled(n int, seed uint64) []uint32 {
	order := Recorded(n)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// Recorded returns the paths in their given order.
func Recorded(n int) []uint32 {
	order := make([]uint32, n)
	for i := range order {
		order[i] = uint32(i)
	}
	return order
}
