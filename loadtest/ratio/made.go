package ratio

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
)

// A Scale is how long made-up traces are.
type Scale struct{ Requests, Objects int }

// MinObjects is the minimum number of objects of a made-up trace: less make caches whose recency
// window has no entries.
const MinObjects = 1000

// Made returns the made-up traces: popularity by Zipf's law with several exponents, alone, with
// shifts, with scans and with loops, and with sizes. They are the same in each run.
func Made(s Scale) []*Trace {
	traces := []*Trace{
		zipf("Zipf 0.7", s, .7, 0), zipf("Zipf 0.9", s, .9, 0), zipf("Zipf 1.1", s, 1.1, 0),
		zipf("Zipf 0.9, popularity shifts", s, .9, s.Requests/10),
		scans(s), loops(s), sized(s),
	}
	for i, t := range traces {
		traces[i] = t.Cut(s.Requests)
	}
	return traces
}

func source() *rand.Rand { return rand.New(rand.NewPCG(44, 2)) }

// A popularity draws ranks by Zipf's law: rank r with a probability of 1 / (r + 1) ^ exponent.
type popularity struct {
	random *rand.Rand
	upTo   []float64 // sums of the probabilities, not divided by the last one
}

func newPopularity(random *rand.Rand, objects int, exponent float64) *popularity {
	p := &popularity{random, make([]float64, objects)}
	sum := 0.0
	for i := range p.upTo {
		sum += math.Pow(float64(i+1), -exponent)
		p.upTo[i] = sum
	}
	return p
}

func (p *popularity) rank() int {
	return sort.SearchFloat64s(p.upTo, p.random.Float64()*p.upTo[len(p.upTo)-1])
}

// zipf returns a trace by Zipf's law. Each time after so many requests, a fifth of the ranks get
// other objects, popular ones too; 0: never.
func zipf(name string, s Scale, exponent float64, shift int) *Trace {
	random := source()
	p := newPopularity(random, s.Objects, exponent)
	objects := make([]uint32, s.Objects) // by rank
	for i := range objects {
		objects[i] = uint32(i)
	}
	t := &Trace{Name: name, Objects: s.Objects}
	for n := range s.Requests {
		if shift > 0 && n > 0 && n%shift == 0 {
			for range s.Objects / 10 {
				i, j := p.rank(), random.IntN(s.Objects)
				objects[i], objects[j] = objects[j], objects[i]
			}
		}
		t.Requests = append(t.Requests, objects[p.rank()])
	}
	return t
}

// scans returns a trace by Zipf's law with a crawler now and then, whose objects nobody requests
// again: a third of all requests.
func scans(s Scale) *Trace {
	t := &Trace{Name: "Zipf 0.9, scans of one-hit keys", Objects: s.Objects}
	p := newPopularity(source(), s.Objects, .9)
	const scan = 5000
	for len(t.Requests) < s.Requests {
		for range 2 * scan {
			t.Requests = append(t.Requests, uint32(p.rank()))
		}
		for range scan {
			t.Requests = append(t.Requests, uint32(t.Objects))
			t.Objects++
		}
	}
	return t
}

// loops returns a trace of which half is by Zipf's law, and half are loops over objects: for each
// of the sizes of the cache that are usual, one that is a fifth larger than the cache.
func loops(s Scale) *Trace {
	t := &Trace{Name: "Zipf 0.9 and loops", Objects: s.Objects}
	p := newPopularity(source(), s.Objects, .9)
	for _, share := range Shares {
		length := int(share * 1.2 * float64(s.Objects))
		for n := range s.Requests / len(Shares) / 2 {
			t.Requests = append(t.Requests, uint32(p.rank()), uint32(t.Objects+n%length))
		}
		t.Objects += length
	}
	return t
}

// sized returns a trace by Zipf's law with objects whose sizes are lognormal, with a median of 4 kB
// and a mean of 14 kB, whatever their popularity.
func sized(s Scale) *Trace {
	s.Objects /= 2
	t := zipf("Zipf 0.9, lognormal sizes", s, .9, 0)
	random := source()
	for range t.Objects {
		t.Sizes = append(t.Sizes, int(min(maxSize, 4000*math.Exp(1.6*random.NormFloat64()))))
	}
	return t
}

// Shares are the sizes of the cache, as shares of all objects.
var Shares = []float64{.01, .1}

// Cut returns the first requests of a trace, with objects numbered anew so that all are requested.
func (t *Trace) Cut(requests int) *Trace {
	numbers := make([]uint32, t.Objects)
	u := &Trace{Name: t.Name, Requests: slices.Clone(t.Requests[:min(requests, len(t.Requests))])}
	for i, object := range u.Requests {
		if numbers[object] == 0 {
			u.Objects++
			numbers[object] = uint32(u.Objects)
			if t.Sizes != nil {
				u.Sizes = append(u.Sizes, t.Sizes[object])
			}
		}
		u.Requests[i] = numbers[object] - 1
	}
	return u
}
