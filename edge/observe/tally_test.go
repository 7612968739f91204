package observe

import (
	"math/rand/v2"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/routes"
)

// A tally counts every hit on the hit path, and the bytes of its body. It times each of the first
// hits, and then one of every few, which stands for those before it. No sum is lost when settle
// moves the counts of ready.
func TestHitsAreCounted(t *testing.T) {
	a := newTallies(time.Now())
	tally := a.of(exchange.H1, routes.CDN, exchange.Hit, http.StatusOK)
	now, requests, bytes := time.Now(), uint64(0), uint64(0)
	hit := func(n int) {
		for range n {
			size := rand.IntN(32 << 10)
			tally.hit(now, 1, size)
			requests, bytes = requests+1, bytes+uint64(size)
			if r, b := tally.sums(); r != requests || b != bytes {
				t.Fatalf("%d hits of %d bytes are counted as %d hits of %d bytes", requests, bytes, r, b)
			}
		}
	}
	timed := func(least, most uint64) {
		t.Helper()
		c, n := newCounts(), uint64(0)
		c.add(&tally.durations)
		for _, m := range c.cells {
			n += m
		}
		if n < least || n > most {
			t.Errorf("the histogram has %d of %d hits, want %d to %d", n, requests, least, most)
		}
	}
	hit(timedFirst)
	timed(timedFirst, timedFirst)
	hit(1000*timedEvery - 1)
	timed(requests-timedEvery+1, requests-timedEvery+1)
	ahead := uint64(settleAt - 3000)
	tally.ready[1].Add(ahead << bytesBits)
	requests += ahead
	hit(10_000)
	if tally.requests.Load() < settleAt {
		t.Errorf("ready was not settled: requests is %d", tally.requests.Load())
	}
}

// The results of sums never decrease while other goroutines count hits.
func TestHitsAreCountedAtOnce(t *testing.T) {
	tally := newTallies(time.Now()).of(exchange.H1, routes.CDN, exchange.Hit, http.StatusOK)
	const each, size = 20_000, 100
	var all sync.WaitGroup
	for i := range 4 {
		at := uint8(i / 2) // some share a stripe
		all.Go(func() {
			for range each {
				tally.hit(time.Now(), at, size)
				tally.settle(&tally.ready[at])
			}
		})
	}
	done := make(chan struct{})
	go func() { defer close(done); all.Wait() }()
	for most, over := uint64(0), false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		n, b := tally.sums()
		if n < most || b < most*size || n > 4*each {
			t.Fatalf("sums returned %d hits and %d bytes after it had returned %d hits", n, b, most)
		}
		most = n
	}
	if n, b := tally.sums(); n != 4*each || b != n*size {
		t.Errorf("sums returned %d hits and %d bytes, want %d and %d", n, b, 4*each, 4*each*size)
	}
}

// While a settle is in progress, sums waits for its end.
func TestHitsAreCountedWhileSettling(t *testing.T) {
	tally := newTallies(time.Now()).of(exchange.H1, routes.CDN, exchange.Hit, http.StatusOK)
	for i := range uint64(50) {
		tally.hit(time.Now(), 3, 1)
		tally.settling.Lock()
		v := tally.ready[3].Swap(0)
		looks, seen := make(chan struct{}), make(chan uint64, 1)
		go func() {
			close(looks)
			n, _ := tally.sums()
			seen <- n
		}()
		<-looks
		for range 100 {
			runtime.Gosched()
		}
		tally.requests.Add(v >> bytesBits)
		tally.settling.Unlock()
		if n := <-seen; n != i+1 {
			t.Fatalf("sums returned %d hits, want %d", n, i+1)
		}
	}
}

// BenchmarkHit is the counting of one hit.
func BenchmarkHit(b *testing.B) {
	m, now := NewMetrics("test"), time.Now()
	hit := Hit{Protocol: exchange.H1, Route: routes.CDN, Outcome: exchange.Hit, Status: http.StatusOK, Bytes: 1000}
	b.ReportAllocs()
	for b.Loop() {
		m.Hit(&hit, now)
	}
}

// Hits of a site that several processors count are one sum, whenever it is read, and after a reload
// too, which asks for the counters again.
func TestHitsOfSite(t *testing.T) {
	m := NewMetrics("test")
	m.ConfigReloaded(true)
	for round := range 3 {
		hits := m.SiteHits("shop")
		for at := range uint8(2 * Stripes) {
			hits.Count(at, exchange.Hit, http.StatusOK)
		}
		m.SiteAnswered("shop", exchange.Hit, http.StatusOK) // of the pipeline
		families, err := m.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := 0.0
		for _, f := range families {
			if f.GetName() == "iconedge_edge_site_responses_total" {
				for _, s := range f.GetMetric() {
					got += s.GetCounter().GetValue()
				}
			}
		}
		if want := float64((round + 1) * (2*Stripes + 1)); got != want {
			t.Errorf("%v responses, want %v", got, want)
		}
	}
}
