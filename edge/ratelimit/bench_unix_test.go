//go:build unix

package ratelimit

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"net/netip"
	"sync"
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the processor time that this process has used. On a shared machine it says more
// than elapsed time does.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A counter does the least that a limiter could do: it counts calls by address in a map, with the
// same number of shards.
type counter struct {
	seed  maphash.Seed
	parts [numShards]struct {
		mu sync.Mutex
		of map[netip.Addr]int
		_  [64]byte
	}
}

func newCounter() *counter {
	c := &counter{seed: maphash.MakeSeed()}
	for i := range c.parts {
		c.parts[i].of = map[netip.Addr]int{}
	}
	return c
}

func (c *counter) add(a netip.Addr) {
	s := &c.parts[maphash.Comparable(c.seed, a)%numShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[a]++
}

// BenchmarkCheck calls for one client, and for many clients in random order, so that hardly any
// window is in a processor cache. The clients have ten or sixty calls in a window. The counter runs
// beside it for comparison.
func BenchmarkCheck(b *testing.B) {
	for _, size := range []struct{ clients, calls uint32 }{{1, 10}, {1000, 10}, {100_000, 10}, {100_000, 60}, {1_000_000, 10}} {
		b.Run(fmt.Sprintf("clients=%d/calls=%d", size.clients, size.calls), func(b *testing.B) {
			l, c, now := New(Limit{60, time.Minute}, Options{}), newCounter(), time.Now()
			step := time.Minute / time.Duration(size.clients*size.calls)
			limited := func(a netip.Addr) {
				now = now.Add(step)
				l.Allow(a, now)
			}
			for i := range size.clients * size.calls {
				limited(address(i % size.clients))
				c.add(address(i % size.clients))
			}
			b.Run("limiter", func(b *testing.B) { benchCalls(b, size.clients, limited) })
			b.Run("map", func(b *testing.B) { benchCalls(b, size.clients, c.add) })
		})
	}
}

// benchCalls times calls for n clients in random order.
func benchCalls(b *testing.B, n uint32, call func(netip.Addr)) {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	began := cpuTime()
	b.ReportAllocs()
	for b.Loop() {
		call(address(r.Uint32N(n)))
	}
	b.ReportMetric(float64(cpuTime()-began)/float64(b.N), "cpu-ns/op")
}

// BenchmarkNew calls for new clients, up to the ceiling and beyond, and reports the processor time
// of the slowest call, including garbage collection meanwhile.
func BenchmarkNew(b *testing.B) {
	l, i := New(Limit{60, time.Minute}, Options{}), uint32(0)
	var slowest time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := cpuTime()
		l.Allow(address(i), t0)
		slowest = max(slowest, cpuTime()-began)
		i++
	}
	b.ReportMetric(float64(slowest)/1e3, "slowest-cpu-us")
}
