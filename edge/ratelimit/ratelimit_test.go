package ratelimit

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var t0 = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

var alice, bob = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")

func TestAllow(t *testing.T) {
	l := New(Limit{2, time.Minute}, Options{})
	for i, s := range []struct {
		at        time.Duration
		ok        bool
		remaining int
		reset     time.Duration
	}{
		{0, true, 1, 60 * time.Second},
		{30 * time.Second, true, 0, 30 * time.Second},
		{59 * time.Second, false, 0, time.Second},
		{60*time.Second - 1, false, 0, 1},
		{60 * time.Second, true, 0, 30 * time.Second}, // the first is a full minute old
		{61 * time.Second, false, 0, 29 * time.Second},
		{90 * time.Second, true, 0, 30 * time.Second},
		{10 * time.Minute, true, 1, 60 * time.Second}, // idle in between
		{9 * time.Minute, true, 0, 60 * time.Second},  // late: the windows' clock does not go back
		{10 * time.Minute, false, 0, 60 * time.Second},
	} {
		d := l.Allow(alice, t0.Add(s.at))
		if d.OK != s.ok || d.Remaining != s.remaining || d.Reset != s.reset {
			t.Errorf("call %d, at %v: %+v, want %v, %d left, reset %v", i, s.at, d, s.ok, s.remaining, s.reset)
		}
		if !d.OK && (d.RetryAfter < d.Reset || d.RetryAfter >= d.Reset+time.Second || d.RetryAfter%time.Second != 0) {
			t.Errorf("call %d: RetryAfter %v, with Reset %v", i, d.RetryAfter, d.Reset)
		}
	}
	if d := l.Allow(bob, t0.Add(10*time.Minute)); !d.OK {
		t.Error("another client is refused")
	}
}

func TestOff(t *testing.T) {
	l := New(Limit{}, Options{})
	for range 1000 {
		if d := l.Allow(alice, t0); !d.OK {
			t.Fatal("refused without a limit")
		}
	}
	if got := l.Stats(); got != (Stats{}) {
		t.Errorf("Stats = %+v, want nothing kept", got)
	}
}

// naive keeps moments in plain lists and looks at each of them every time.
type naive struct {
	limit   Limit
	allowed map[netip.Prefix][]time.Time
}

func (n *naive) allow(client netip.Addr, now time.Time) (ok bool, remaining int) {
	k := ClientKey(client)
	inside := slices.DeleteFunc(n.allowed[k], func(t time.Time) bool { return now.Sub(t) >= n.limit.Window })
	n.allowed[k] = inside
	if len(inside) >= n.limit.N {
		return false, 0
	}
	n.allowed[k] = append(inside, now)
	return true, n.limit.N - len(inside) - 1
}

// Any mixture of clients and pauses gets the verdicts of the naive model, and what Retry-After promises is true.
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		limit := Limit{1 + r.IntN(40), time.Duration(1+r.IntN(90)) * time.Second}
		l, model := New(limit, Options{}), &naive{limit, map[netip.Prefix][]time.Time{}}
		now, pause := t0, int64(limit.Window)/int64(limit.N)
		for i := range 3000 {
			switch r.IntN(20) {
			case 0: // to the nanosecond at which a place frees, or one before it
				now = now.Add(limit.Window - time.Duration(r.IntN(2)))
			case 1:
				now = now.Add(time.Duration(r.Int64N(3 * int64(limit.Window))))
			default:
				now = now.Add(time.Duration(r.Int64N(pause)))
			}
			client := randomClient(r)
			got := l.Allow(client, now)
			ok, remaining := model.allow(client, now)
			if got.OK != ok || got.Remaining != remaining {
				t.Fatalf("seed %d, limit %v, call %d: %+v, want %v, %d left", seed, limit, i, got, ok, remaining)
			}
			if !got.OK && r.IntN(10) == 0 {
				now = now.Add(got.RetryAfter)
				if again := l.Allow(client, now); !again.OK {
					t.Fatalf("seed %d, call %d: refused %v after a Retry-After of it", seed, i, got.RetryAfter)
				}
				model.allow(client, now)
			}
		}
	}
}

// randomClient is one of few, in each of the spellings that an address may come in.
func randomClient(r *rand.Rand) netip.Addr {
	a := netip.AddrFrom4([4]byte{192, 0, 2, byte(r.IntN(4))})
	switch r.IntN(3) {
	case 0:
		return netip.AddrFrom16(a.As16()) // ::ffff:192.0.2.n
	case 1:
		six := [16]byte{0x20, 0x01, 0xd, 0xb8, 7: byte(r.IntN(4))}
		binary.BigEndian.PutUint64(six[8:], r.Uint64())
		return netip.AddrFrom16(six)
	}
	return a
}

// However a history is cut, no window holds more than the limit; and who keeps to the limit is never refused.
func TestNoWindowHoldsMore(t *testing.T) {
	limit := Limit{10, time.Minute}
	l := New(limit, Options{})
	r := rand.New(rand.NewPCG(1, 2))
	var let []time.Time
	for now := t0; len(let) < 2000; now = now.Add(time.Duration(r.Int64N(int64(3 * time.Second)))) {
		if l.Allow(alice, now).OK {
			let = append(let, now)
		}
	}
	for i := limit.N; i < len(let); i++ {
		if d := let[i].Sub(let[i-limit.N]); d < limit.Window {
			t.Fatalf("%d calls within %v", limit.N+1, d)
		}
	}
	for i := range 1000 { // ten at once, a full window apart
		if !l.Allow(bob, t0.Add(time.Duration(i/limit.N)*limit.Window)).OK {
			t.Fatalf("call %d of one who keeps to the limit is refused", i)
		}
	}
}

// 200 at once at the edge of the window: exactly the limit gets through, each time.
func TestParallel(t *testing.T) {
	limit := Limit{60, time.Minute}
	l := New(limit, Options{})
	for round := range 5 {
		var through atomic.Int64
		var start, done sync.WaitGroup
		start.Add(1)
		for range 200 {
			done.Go(func() {
				start.Wait()
				if l.Allow(alice, t0.Add(time.Duration(round)*limit.Window)).OK {
					through.Add(1)
				}
			})
		}
		start.Done()
		done.Wait()
		if got := through.Load(); got != int64(limit.N) {
			t.Fatalf("round %d: %d of 200 got through, want %d", round, got, limit.N)
		}
	}
}

// address is the nth of many; consecutive ones are in different /24 networks.
func address(n uint32) netip.Addr {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], n*2654435761) // odd, so that no two are the same
	return netip.AddrFrom4(a)
}

func TestIdleAreForgotten(t *testing.T) {
	const n = 100_000
	l := New(Limit{10, time.Minute}, Options{})
	for i := range uint32(n) {
		l.Allow(address(i), t0)
	}
	l.Allow(alice, t0.Add(30*time.Second))
	if got := l.Stats().Clients; got != n+1 {
		t.Fatalf("%d clients are kept, want %d", got, n+1)
	}
	l.Sweep(t0.Add(time.Minute - 1))
	if got := l.Stats().Clients; got != n+1 {
		t.Fatalf("a moment too early %d clients are kept, want %d", got, n+1)
	}
	l.Sweep(t0.Add(time.Minute))
	if got := l.Stats().Clients; got != 1 {
		t.Fatalf("after a window %d clients are kept, want 1", got)
	}
	kept := 0
	for i := range l.shardings {
		kept += l.shardings[i].clients.cap()
	}
	if kept > 8*shards*chunkLen {
		t.Errorf("there is still room for %d clients", kept)
	}
	if d := l.Allow(alice, t0.Add(time.Minute)); d.Remaining != 8 {
		t.Errorf("the one that stays has %d calls left, want 8", d.Remaining)
	}
}

// Without a Sweep, calls of others make room bit by bit.
func TestIdleAreForgottenOnTheWay(t *testing.T) {
	l := New(Limit{10, time.Minute}, Options{})
	for i := range uint32(50_000) {
		l.Allow(address(i), t0)
	}
	for i := range uint32(100_000) {
		l.Allow(address(100_000+i%100), t0.Add(time.Minute))
	}
	if got := l.Stats().Clients; got > 50_000/2 {
		t.Errorf("%d clients are kept of 50,000 idle ones", got)
	}
}

// A client that goes on calling does not keep others from being forgotten for long, wherever in the list it stands.
func TestBusyClientsDoNotKeepIdleOnes(t *testing.T) {
	l := New(Limit{1000, time.Minute}, Options{})
	for i := range uint32(10_000) {
		l.Allow(address(i), t0)
	}
	now := t0
	for ; now.Before(t0.Add(64 * time.Second)); now = now.Add(100 * time.Millisecond) {
		for i := range uint32(50) {
			l.Allow(address(i*7), now)
		}
	}
	l.Sweep(now)
	if got := l.Stats().Clients; got != 50 {
		t.Errorf("%d clients are kept, want the 50 that call", got)
	}
}

// Moving to smaller slabs loses no call: the survivors have what they had.
func TestRehouse(t *testing.T) {
	l := New(Limit{40, time.Minute}, Options{})
	for i := range uint32(100_000) {
		l.Allow(address(i), t0)
	}
	const survivors = 300
	for i := range uint32(survivors) {
		for range i % 40 {
			l.Allow(address(i), t0.Add(30*time.Second))
		}
	}
	now := t0.Add(time.Minute)
	for i := range uint32(survivors) {
		l.Allow(address(i), now) // its first call has left the window
	}
	l.Sweep(now)
	for i := range uint32(survivors) {
		d := l.Allow(address(i), now)
		if want := max(0, 38-int(i%40)); d.Remaining != want || d.OK != (i%40 < 39) {
			t.Fatalf("client %d: %+v, want %d left", i, d, want)
		}
		if i%40 > 0 && d.Reset != 30*time.Second {
			t.Fatalf("client %d: reset in %v, want 30s", i, d.Reset)
		}
	}
}

func TestAboveTheCeiling(t *testing.T) {
	limit := Limit{3, time.Minute}
	l := New(limit, Options{MaxClients: 2})
	in := func(s string, at time.Duration) Decision { return l.Allow(netip.MustParseAddr(s), t0.Add(at)) }
	in("192.0.2.1", 0)
	in("2001:db8::1", 0)
	for i, s := range []string{"198.51.100.1", "198.51.100.2", "198.51.100.3", "198.51.100.4"} { // share a /24
		if d := in(s, 30*time.Second); d.OK != (i < 3) {
			t.Errorf("%s, above the ceiling: %+v", s, d)
		}
	}
	if d := in("192.0.2.1", 30*time.Second); d.Remaining != 1 {
		t.Errorf("a client from before has %d left, want 1", d.Remaining)
	}
	// The ceiling of shared windows is 1 here: others share a wider one, and are counted too.
	for i, s := range []string{"203.0.113.1", "203.0.114.1", "203.1.1.1", "203.2.2.2"} {
		if d := in(s, 30*time.Second); d.OK != (i < 3) {
			t.Errorf("%s, above both ceilings: %+v", s, d)
		}
	}
	// There is room again, but the shared window still counts: nobody gets a second one within its time.
	l.Sweep(t0.Add(95 * time.Second))
	if got := l.Stats(); got != (Stats{}) {
		t.Fatalf("Stats = %+v after all are idle", got)
	}
	if d := in("198.51.100.1", 95*time.Second); d.Remaining != 2 {
		t.Errorf("a window of its own has %d left, want 2", d.Remaining)
	}
}

func TestSharedWindowGoesOn(t *testing.T) {
	l := New(Limit{2, time.Minute}, Options{MaxClients: 1})
	l.Allow(alice, t0)
	one, two := netip.MustParseAddr("2001:db8:1:1::1"), netip.MustParseAddr("2001:db8:1:2::1") // of one /48
	l.Allow(one, t0.Add(40*time.Second))
	l.Allow(two, t0.Add(40*time.Second))
	l.Sweep(t0.Add(70 * time.Second)) // alice is gone: there is room
	if d := l.Allow(one, t0.Add(70*time.Second)); d.OK {
		t.Errorf("a second window within the time of the first: %+v", d)
	}
	if d := l.Allow(one, t0.Add(100*time.Second)); !d.OK {
		t.Errorf("refused after the shared window is empty: %+v", d)
	}
}

func TestAllowDoesNotAllocate(t *testing.T) {
	l := New(Limit{60, time.Minute}, Options{})
	now := t0
	call := func() { now = now.Add(time.Second); l.Allow(alice, now) }
	for range 500 {
		call()
	}
	if n := testing.AllocsPerRun(1000, call); n != 0 {
		t.Errorf("a known client's call allocates %v times", n)
	}
}

// A million clients with ten calls each fit into 300 MB; here a quarter of them.
func TestMemory(t *testing.T) {
	const n = 250_000
	if used := memory(t, n); used > 75<<20 {
		t.Errorf("%d clients of ten calls take %d MB, want at most 75", n, used>>20)
	}
}

// BenchmarkMillion measures the whole million.
func BenchmarkMillion(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(memory(b, 1_000_000))/(1<<20), "MB")
	}
}

// memory is what n clients with ten calls each take, in bytes.
func memory(t testing.TB, n uint32) int64 {
	before := heap()
	l := New(Limit{60, time.Minute}, Options{})
	for range 10 {
		for i := range n {
			l.Allow(address(i), t0)
		}
	}
	used := heap() - before
	if got := l.Stats(); got.Clients != int(n) || got.Shared != 0 {
		t.Fatalf("Stats = %+v, want %d clients", got, n)
	}
	runtime.KeepAlive(l)
	return used
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkAllow(b *testing.B) {
	l := New(Limit{60, time.Minute}, Options{})
	now := t0
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		if !l.Allow(alice, now).OK {
			b.Fatal("refused")
		}
	}
}

// BenchmarkAllowOfMany calls for 100,000 clients of ten calls in turn, from every processor: hardly anything is in a cache.
func BenchmarkAllowOfMany(b *testing.B) {
	l := New(Limit{60, time.Minute}, Options{})
	for range 10 {
		for i := range uint32(100_000) {
			l.Allow(address(i), t0)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		now, i := t0, rand.Uint32()
		for pb.Next() {
			i++
			now = now.Add(10 * time.Microsecond)
			l.Allow(address(i%100_000), now)
		}
	})
}
