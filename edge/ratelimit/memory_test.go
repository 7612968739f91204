package ratelimit

import (
	"runtime"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/slabs"
	"github.com/iconedge/iconedge/test/sequential"
)

// A million clients with ten calls each fit into 300 MB; the test uses an eighth of them.
func TestMemory(t *testing.T) {
	sequential.Test(t)
	const n = 125_000
	if used := memory(t, n); used > 37.5e6 {
		t.Errorf("%d clients of ten calls take %d MB, want at most 37", n, used/1e6)
	}
}

// BenchmarkMillion measures the whole million.
func BenchmarkMillion(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(memory(b, 1_000_000))/1e6, "MB")
	}
}

// memory returns the peak memory in bytes that n clients with ten calls each need, including
// garbage from growing.
func memory(t testing.TB, n uint32) (most int64) {
	before := heap(true)
	l := New(Limit{60, time.Minute}, Options{})
	for i := range n {
		for range 10 {
			l.Allow(address(i), t0)
		}
		if i%10_000 == 0 {
			most = max(most, heap(false)+mapped(l)-before)
		}
	}
	most = max(most, heap(false)+mapped(l)-before)
	if got := l.Stats(); got.Clients != int(n) || got.Shared != 0 {
		t.Fatalf("Stats = %+v, want %d clients", got, n)
	}
	runtime.KeepAlive(l)
	return most
}

// mapped returns the bytes of tables and blocks outside of the heap.
func mapped(l *Limiter) int64 { return mappedBy(l.pools.tables) + mappedBy(l.pools.chunks) }

func mappedBy[T any](p *pool[T]) (n int64) {
	for _, s := range p.slabs {
		if s.mapped != nil {
			n += slabs.HugePage
		}
	}
	return n
}

// heap returns the bytes allocated on the heap, after a garbage collection if collected is set.
func heap(collected bool) int64 {
	if collected {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
