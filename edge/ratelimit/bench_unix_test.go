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

// spent is the processor time that this process has used: on a machine that others use as well it says more than the wall's clock.
func spent() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// A counter is the least that a limiter could do: add one for an address in a map, under the same sharding.
type counter struct {
	seed   maphash.Seed
	shards [shards]struct {
		mu sync.Mutex
		of map[netip.Addr]int
		_  [64]byte
	}
}

func newCounter() *counter {
	c := &counter{seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].of = map[netip.Addr]int{}
	}
	return c
}

func (c *counter) add(a netip.Addr) {
	s := &c.shards[maphash.Comparable(c.seed, a)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[a]++
}

// BenchmarkCheck calls for one client, and for many in random turn, so that hardly anything is in a cache: clients of ten calls in a window,
// and of sixty. Beside it stands what counting in a map costs in the same run.
func BenchmarkCheck(b *testing.B) {
	for _, size := range []struct{ clients, calls uint32 }{{1, 10}, {1000, 10}, {100_000, 10}, {100_000, 60}, {1_000_000, 10}} {
		l, c, now := New(Limit{60, time.Minute}, Options{}), newCounter(), t0
		step := time.Minute / time.Duration(size.clients*size.calls)
		limited := func(a netip.Addr) {
			now = now.Add(step)
			l.Allow(a, now)
		}
		for i := range size.clients * size.calls {
			limited(address(i % size.clients))
			c.add(address(i % size.clients))
		}
		b.Run(fmt.Sprintf("clients=%d/calls=%d/limiter", size.clients, size.calls), func(b *testing.B) { inTurn(b, size.clients, limited) })
		b.Run(fmt.Sprintf("clients=%d/calls=%d/map", size.clients, size.calls), func(b *testing.B) { inTurn(b, size.clients, c.add) })
	}
}

// inTurn times calls for n clients in random turn.
func inTurn(b *testing.B, n uint32, call func(netip.Addr)) {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	began := spent()
	b.ReportAllocs()
	for b.Loop() {
		call(address(r.Uint32N(n)))
	}
	b.ReportMetric(float64(spent()-began)/float64(b.N), "cpu-ns/op")
}

// BenchmarkNew calls for clients that were never there, up to the ceiling and beyond, and says how much processor time the slowest took,
// what the collector did meanwhile included.
func BenchmarkNew(b *testing.B) {
	l, i := New(Limit{60, time.Minute}, Options{}), uint32(0)
	var slowest time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := spent()
		l.Allow(address(i), t0)
		slowest = max(slowest, spent()-began)
		i++
	}
	b.ReportMetric(float64(slowest)/1e3, "slowest-cpu-us")
}
