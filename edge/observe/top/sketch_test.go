package top

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

// exact counts by a map, as a sketch with unlimited memory would.
type exact map[string]Count

func (e exact) add(key string, by Count) {
	e[key] = e[key].plus(by)
}

// check compares every count of a sketch with the exact ones: none is below what the sketch
// guarantees, none above what it allows, and a key with more than its share of the weight is there.
func check(t *testing.T, s *sketch[string], want exact) {
	t.Helper()
	var all int64
	for _, c := range want {
		all += c.Requests
	}
	seen := map[string]bool{}
	for _, c := range s.counters {
		seen[c.key] = true
		true_, over := want[c.key], c.over
		if c.Requests < true_.Requests || c.Requests-over > true_.Requests {
			t.Fatalf("%s is counted as %d to %d; it has %d", c.key, c.Requests-over, c.Requests, true_.Requests)
		}
		if over*int64(s.most) > all {
			t.Fatalf("%s may have %d too many, of %d in %d counters", c.key, over, all, s.most)
		}
		if c.Refused > true_.Refused || c.Bytes > true_.Bytes {
			t.Fatalf("%s has %+v, more than %+v", c.key, c.Count, true_)
		}
	}
	for key, c := range want {
		if c.Requests*int64(s.most) > all && !seen[key] {
			t.Fatalf("%s is missing with %d of %d in %d counters", key, c.Requests, all, s.most)
		}
	}
	if len(s.counters) > s.most || len(s.at) != len(s.counters) {
		t.Fatalf("%d counters and %d keys, at most %d are allowed", len(s.counters), len(s.at), s.most)
	}
}

// A sketch keeps the bounds of Metwally et al. for any stream and any weights. The model is a map.
func TestSketchKeepsItsBounds(t *testing.T) {
	for _, row := range []struct {
		most, keys int
		skew       float64 // of Zipf; 0: each key is as likely
		weight     int64   // at most
	}{
		{1, 3, 0, 1}, {2, 2, 0, 1}, {8, 8, 0, 5}, {8, 1000, 0, 1}, {16, 1000, 1.1, 1}, {16, 100_000, 1.5, 64}, {64, 300, 1.01, 1000},
	} {
		for seed := range uint64(20) {
			random := rand.New(rand.NewPCG(seed, 25))
			draw := func() int { return random.IntN(row.keys) }
			if row.skew > 0 {
				zipf := rand.NewZipf(random, row.skew, 1, uint64(row.keys-1))
				draw = func() int { return int(zipf.Uint64()) }
			}
			s, want := newSketch[string](row.most), exact{}
			for i := range 4000 {
				by := Count{Requests: 1 + random.Int64N(row.weight), Bytes: random.Int64N(1000)}
				by.Refused = random.Int64N(by.Requests + 1)
				key := strconv.Itoa(draw())
				s.add(key, by)
				want.add(key, by)
				if i%500 == 0 {
					check(t, s, want)
				}
			}
			check(t, s, want)
			s.reset()
			check(t, s, exact{})
		}
	}
}

// While there are fewer keys than counters, a sketch is exact.
func TestSketchIsExactForFewKeys(t *testing.T) {
	s, want := newSketch[string](10), exact{}
	for i := range 1000 {
		by := Count{Requests: int64(i%7 + 1), Refused: int64(i % 2), Bytes: int64(i)}
		s.add(strconv.Itoa(i%10), by)
		want.add(strconv.Itoa(i%10), by)
	}
	for _, c := range s.counters {
		if c.Count != want[c.key] || c.over != 0 {
			t.Errorf("%s: %+v with an error of %d, want %+v", c.key, c.Count, c.over, want[c.key])
		}
	}
}

// The sum of several sketches keeps the bounds of each key in the sum of their streams.
func TestMergedSketches(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 25))
	zipf := rand.NewZipf(random, 1.2, 1, 9999)
	want, parts := exact{}, []*sketch[string]{newSketch[string](32), newSketch[string](32), newSketch[string](32)}
	for i := range 30_000 {
		key, by := strconv.FormatUint(zipf.Uint64(), 10), Count{Requests: 1, Bytes: 10}
		parts[i%3].add(key, by)
		want.add(key, by)
	}
	all := merge(parts)
	if len(all) < 32 {
		t.Fatalf("%d keys", len(all))
	}
	for _, c := range all {
		if w := want[c.key]; c.Requests < w.Requests || c.Requests-c.over > w.Requests || c.Bytes > w.Bytes {
			t.Errorf("%s is counted as %d to %d with %d bytes; it has %+v", c.key, c.Requests-c.over, c.Requests, c.Bytes, w)
		}
	}
}

// A sketch that has grown once allocates nothing but the keys.
func TestSketchAllocatesNothing(t *testing.T) {
	s, key := newSketch[int](64), 0
	for range 1000 {
		key++
		s.add(key, Count{Requests: 1})
	}
	if n := testing.AllocsPerRun(1000, func() { key++; s.add(key, Count{Requests: 1}) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
