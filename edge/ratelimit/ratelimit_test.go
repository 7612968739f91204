package ratelimit

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/test/sequential"
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
		{60*time.Second - l.tick, false, 0, l.tick},
		{60 * time.Second, true, 0, 30 * time.Second}, // the first call is a full minute old
		{61 * time.Second, false, 0, 29 * time.Second},
		{90 * time.Second, true, 0, 30 * time.Second},
		{10 * time.Minute, true, 1, 60 * time.Second}, // after an idle time
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

// Times far in the past or future do not lift the limit.
func TestFarTimes(t *testing.T) {
	for _, now := range []time.Time{{}, time.Unix(1<<40, 0), time.Unix(-1<<40, 0), time.Unix(0, 0)} {
		l := New(Limit{1, time.Minute}, Options{})
		if a, b := l.Allow(alice, now), l.Allow(alice, now); !a.OK || b.OK || b.RetryAfter != time.Minute {
			t.Errorf("at %v: %+v, then %+v", now, a, b)
		}
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
		t.Errorf("Stats = %+v, want no windows", got)
	}
}

// No window, wherever it begins, holds more calls than the limit, and a client that keeps to the
// limit is never refused.
func TestNoWindowHoldsMore(t *testing.T) {
	limit := Limit{10, time.Minute}
	l := New(limit, Options{})
	r := rand.New(rand.NewPCG(1, 2))
	var allowed []time.Time
	for now := t0; len(allowed) < 2000; now = now.Add(time.Duration(r.Int64N(int64(3 * time.Second)))) {
		if l.Allow(alice, now).OK {
			allowed = append(allowed, now)
		}
	}
	for i := limit.N; i < len(allowed); i++ {
		if d := allowed[i].Sub(allowed[i-limit.N]); d < limit.Window {
			t.Fatalf("%d calls within %v", limit.N+1, d)
		}
	}
	l = New(limit, Options{}) // with a clock behind the calls of alice
	for i := range 1000 {     // ten calls at once, a full window apart
		if !l.Allow(bob, t0.Add(time.Duration(i/limit.N)*limit.Window)).OK {
			t.Fatalf("call %d of a client that keeps to the limit is refused", i)
		}
	}
}

// A client can use the largest limit, and get all places back.
func TestLargestLimit(t *testing.T) {
	sequential.Test(t)
	l := New(Limit{MaxN, MaxWindow}, Options{})
	now := t0
	for round := range 2 {
		for i := range MaxN {
			if d := l.Allow(alice, now); !d.OK || d.Remaining != MaxN-1-i {
				t.Fatalf("round %d, call %d: %+v", round, i, d)
			}
		}
		if d := l.Allow(alice, now.Add(MaxWindow-time.Second)); d.OK || d.RetryAfter != time.Second {
			t.Fatalf("round %d, above the limit: %+v", round, d)
		}
		now = now.Add(MaxWindow)
	}
	l.Sweep(now.Add(MaxWindow))
	if tables, chunks := size(l); l.Stats() != (Stats{}) || tables > numShards || chunks > 1 {
		t.Errorf("%+v, %d tables and %d chunks of blocks are left", l.Stats(), tables, chunks)
	}
}

// Of 200 parallel calls at the end of a window exactly the limit gets through, each time.
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

// address returns the nth of many addresses; consecutive ones are in different /24 networks.
func address(n uint32) netip.Addr {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], n*2654435761) // an odd factor, so that all addresses differ
	return netip.AddrFrom4(a)
}

// A token is a client of its own: it shares a window neither with the address of the same bytes nor
// with a token that has the same first bits.
func TestAllowKey(t *testing.T) {
	l := New(Limit{1, time.Minute}, Options{})
	var like4, like6, other [16]byte
	copy(like4[:], alice.AsSlice())
	copy(like6[:], netip.MustParseAddr("2001:db8::").AsSlice())
	other = like4
	other[15] = 1
	for now := t0; now.Before(t0.Add(2 * time.Minute)); now = now.Add(time.Minute) {
		for i, d := range []Decision{l.Allow(alice, now), l.Allow(netip.MustParseAddr("2001:db8::"), now),
			l.AllowKey([16]byte{}, now), l.AllowKey(like4, now), l.AllowKey(like6, now), l.AllowKey(other, now)} {
			if !d.OK {
				t.Errorf("client %d is refused its first call", i)
			}
		}
		for i, d := range []Decision{l.Allow(alice, now), l.AllowKey([16]byte{}, now), l.AllowKey(like4, now),
			l.AllowKey(like6, now), l.AllowKey(other, now)} {
			if d.OK || d.RetryAfter != time.Minute {
				t.Errorf("client %d got a second call: %+v", i, d)
			}
		}
	}
}

// Calls of known clients allocate nothing, let through or refused, with few calls or many, in
// windows of their own or shared.
func TestAllowDoesNotAllocate(t *testing.T) {
	now := t0
	for name, row := range map[string]struct {
		limit Limit
		o     Options
		pause time.Duration
		n     uint32
	}{
		"one":       {Limit{60, time.Minute}, Options{}, time.Second, 1},
		"refused":   {Limit{60, time.Minute}, Options{}, time.Millisecond, 1},
		"many":      {Limit{60, time.Minute}, Options{}, 2 * time.Millisecond, 5000},
		"shared":    {Limit{60, time.Minute}, Options{MaxClients: 1}, time.Second, 2},
		"many more": {Limit{600, time.Minute}, Options{}, 100 * time.Millisecond, 1},
	} {
		l, i := New(row.limit, row.o), uint32(0)
		call := func() {
			now = now.Add(row.pause)
			i++
			l.Allow(address(i%row.n), now)
			l.AllowKey([16]byte{15: byte(i % row.n)}, now)
		}
		for range 20_000 {
			call()
		}
		if n := testing.AllocsPerRun(10_000, call); n != 0 {
			t.Errorf("%s: a known client's call allocates %v times", name, n)
		}
	}
}
