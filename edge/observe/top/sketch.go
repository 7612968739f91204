package top

import "slices"

// A Count is a part of the responses of an edge.
type Count struct {
	Requests int64 `json:"requests"`
	Refused  int64 `json:"refused"` // with 429
	Bytes    int64 `json:"bytes"`   // of bodies
}

func (c Count) plus(d Count) Count {
	return Count{c.Requests + d.Requests, c.Refused + d.Refused, c.Bytes + d.Bytes}
}

// A sketch finds the keys with the most requests of a stream in bounded memory, by the algorithm
// Space-Saving (Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k Elements
// in Data Streams, ICDT 2005). A new key takes the counter of the key with the fewest requests, and
// inherits its number. So a counter is never too low, at most too high by the inherited number, and
// every key with more than 1/most of all requests has a counter.
//
// Refused and Bytes of a counter count from the time when its key took it.
type sketch[K comparable] struct {
	most     int
	counters []counter[K] // a heap; the first has the fewest requests
	at       map[K]int    // index of each key in counters
}

type counter[K comparable] struct {
	key K
	Count
	over int64 // Requests may be too high by so much
}

func newSketch[K comparable](most int) *sketch[K] {
	return &sketch[K]{most: most, at: map[K]int{}}
}

// add counts a response to key.
func (s *sketch[K]) add(key K, by Count) {
	i, known := s.at[key]
	switch {
	case known:
		s.counters[i].Count = s.counters[i].plus(by)
	case len(s.counters) < s.most:
		i = len(s.counters)
		s.counters = append(s.counters, counter[K]{key: key, Count: by})
		s.at[key] = i
		for i > 0 && s.less(i, (i-1)/2) {
			s.swap(i, (i-1)/2)
			i = (i - 1) / 2
		}
		return
	default:
		least := &s.counters[0]
		delete(s.at, least.key)
		inherited := least.Requests
		*least = counter[K]{key: key, Count: by, over: inherited}
		least.Requests += inherited
		s.at[key] = 0
	}
	s.sink(i)
}

// sink restores the heap below a counter that has grown.
func (s *sketch[K]) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(s.counters) {
			return
		}
		if child+1 < len(s.counters) && s.less(child+1, child) {
			child++
		}
		if !s.less(child, i) {
			return
		}
		s.swap(i, child)
		i = child
	}
}

func (s *sketch[K]) less(i, j int) bool { return s.counters[i].Requests < s.counters[j].Requests }

func (s *sketch[K]) swap(i, j int) {
	s.counters[i], s.counters[j] = s.counters[j], s.counters[i]
	s.at[s.counters[i].key], s.at[s.counters[j].key] = i, j
}

// copy returns a copy for merge.
func (s *sketch[K]) copy() *sketch[K] {
	return &sketch[K]{most: s.most, counters: slices.Clone(s.counters)}
}

// missing returns how many requests a key without a counter may have.
func (s *sketch[K]) missing() int64 {
	if len(s.counters) < s.most {
		return 0
	}
	return s.counters[0].Requests
}

// reset removes all keys.
func (s *sketch[K]) reset() {
	clear(s.counters) // releases the keys
	s.counters = s.counters[:0]
	clear(s.at)
}

// merge returns the sums of several sketches. A key that a sketch lacks may have as many requests
// there as its smallest counter (Agarwal et al.: Mergeable Summaries, PODS 2012).
func merge[K comparable](parts []*sketch[K]) map[K]counter[K] {
	sums := map[K]counter[K]{}
	var missing int64
	for _, s := range parts {
		missing += s.missing()
	}
	for _, s := range parts {
		for _, c := range s.counters {
			sum, ok := sums[c.key]
			if !ok {
				sum = counter[K]{key: c.key, Count: Count{Requests: missing}, over: missing}
			}
			least := s.missing() // was added above, in case that s lacks the key
			sum.Count = sum.plus(c.Count)
			sum.Requests -= least
			sum.over += c.over - least
			sums[c.key] = sum
		}
	}
	return sums
}
