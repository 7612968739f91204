package ratelimit

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/test/sequential"
)

func TestAboveTheCeiling(t *testing.T) {
	limit := Limit{3, time.Minute}
	l := New(limit, Options{MaxClients: 2})
	in := func(s string, at time.Duration) Decision { return l.Allow(netip.MustParseAddr(s), t0.Add(at)) }
	in("192.0.2.1", 0)
	in("2001:db8::1", 0)
	// These addresses share a /24.
	for i, s := range []string{"198.51.100.1", "198.51.100.2", "198.51.100.3", "198.51.100.4"} {
		if d := in(s, 30*time.Second); d.OK != (i < 3) {
			t.Errorf("%s, above the ceiling: %+v", s, d)
		}
	}
	if d := in("192.0.2.1", 30*time.Second); d.Remaining != 1 {
		t.Errorf("an earlier client has %d calls left, want 1", d.Remaining)
	}
	// The ceiling of shared windows is 1 here, so further clients share a wider window, which has a
	// limit too.
	for i, s := range []string{"203.0.113.1", "203.0.114.1", "203.1.1.1", "203.2.2.2"} {
		if d := in(s, 30*time.Second); d.OK != (i < 3) {
			t.Errorf("%s, above both ceilings: %+v", s, d)
		}
	}
	// There is room again, but the shared window still counts, so no client gets a second window
	// before it is empty.
	l.Sweep(t0.Add(95 * time.Second))
	if got := l.Stats(); got != (Stats{}) {
		t.Fatalf("Stats = %+v after all windows are idle", got)
	}
	if d := in("198.51.100.1", 95*time.Second); d.Remaining != 2 {
		t.Errorf("a client in a new window of its own has %d calls left, want 2", d.Remaining)
	}
}

func TestSharedWindowGoesOn(t *testing.T) {
	l := New(Limit{2, time.Minute}, Options{MaxClients: 1})
	l.Allow(alice, t0)
	// one and two are in the same /48.
	one, two := netip.MustParseAddr("2001:db8:1:1::1"), netip.MustParseAddr("2001:db8:1:2::1")
	l.Allow(one, t0.Add(40*time.Second))
	l.Allow(two, t0.Add(40*time.Second))
	l.Sweep(t0.Add(70 * time.Second)) // removes the window of alice, so there is room
	if d := l.Allow(one, t0.Add(70*time.Second)); d.OK {
		t.Errorf("a second window before the first is empty: %+v", d)
	}
	if d := l.Allow(one, t0.Add(100*time.Second)); !d.OK {
		t.Errorf("refused after the shared window is empty: %+v", d)
	}
}

// Tokens share a window with those that have the same first 16 bits of the hash, then 8 bits, and
// never with addresses.
func TestTokensAboveTheCeiling(t *testing.T) {
	l := New(Limit{1, time.Minute}, Options{MaxClients: 1})
	l.Allow(alice, t0)
	n := uint64(0)
	next := func(accept func(bits uint64) bool) (token [16]byte) {
		for ok := false; !ok; n++ {
			binary.BigEndian.PutUint64(token[:], n)
			ok = accept(keyOfToken(l.seed, token).bits >> 48)
		}
		return token
	}
	var bits uint64
	first := next(func(b uint64) bool { bits = b; return true })
	near := func(b uint64) bool { return b == bits }
	wide := func(b uint64) bool { return b != bits && b>>8 == bits>>8 }
	other := func(b uint64) bool { return b>>8 != bits>>8 }
	for i, row := range []struct {
		token [16]byte
		ok    bool
	}{{first, true}, {next(near), false}, // the ceiling of shared windows is 1
		{next(wide), true}, {next(wide), false}, {next(other), true}} {
		if d := l.AllowKey(row.token, t0); d.OK != row.ok {
			t.Errorf("token %d: %+v", i, d)
		}
	}
	if d := l.Allow(bob, t0); !d.OK {
		t.Errorf("an address: %+v", d)
	}
}

// At the ceiling no client ever gets more calls through than the limit, a client is refused only if
// its network has used up the limit, and there are no more windows than configured.
func TestCeilingHolds(t *testing.T) {
	sequential.Test(t)
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 2))
		limit := Limit{1 + r.IntN(20), 10 * time.Second}
		l := New(limit, Options{MaxClients: 8})
		allowed := map[netip.Addr][]time.Time{}
		for now := t0; now.Before(t0.Add(2 * time.Minute)); now = now.Add(time.Duration(r.IntN(int(100 * time.Millisecond)))) {
			a := netip.AddrFrom4([4]byte{10, byte(r.IntN(2)), byte(r.IntN(3)), byte(r.IntN(5))})
			if !l.Allow(a, now).OK {
				if n := counting(allowed, limit, now); n < limit.N {
					t.Fatalf("seed %d: %v is refused while only %d calls of all clients count", seed, a, n)
				}
				continue
			}
			allowed[a] = append(allowed[a], now)
			if n := len(allowed[a]); n > limit.N && now.Sub(allowed[a][n-1-limit.N]) < limit.Window {
				t.Fatalf("seed %d: %v got %d calls through within %v", seed, a, limit.N+1, now.Sub(allowed[a][n-1-limit.N]))
			}
			if got := l.Stats(); got.Clients > 8 || got.Shared > 2+1 {
				t.Fatalf("seed %d: %+v above the ceiling", seed, got)
			}
		}
	}
}

// counting returns the number of calls that count at now.
func counting(allowed map[netip.Addr][]time.Time, limit Limit, now time.Time) (n int) {
	for _, times := range allowed {
		for _, at := range times {
			if now.Sub(at) < limit.Window {
				n++
			}
		}
	}
	return n
}

// While a call is about to create a window above the ceiling, its client gets no other window, even
// if there is room again.
func TestWindowsAreCreatedOneAtATime(t *testing.T) {
	l, decisions := lockedLimiter()
	l.Sweep(t0.Add(70 * time.Second))
	allowCarol(l, decisions, 2)
	if len(decisions) > 0 {
		t.Error("the second call did not wait for the first")
	}
	l.createMu.Unlock()
	if a, b := <-decisions, <-decisions; a.OK == b.OK || l.Stats() != (Stats{Clients: 1}) {
		t.Errorf("%+v and %+v with one call left, %+v", a, b, l.Stats())
	}
}

// A call that waits to create a window uses the shared window that was created meanwhile, even if
// there is room for a window of its own.
func TestWindowCreatedMeanwhile(t *testing.T) {
	l, decisions := lockedLimiter()
	l.take(keyOf(carol).near(), l.moment(t0.Add(30*time.Second)), createIfRoom)
	l.Sweep(t0.Add(70 * time.Second))
	l.createMu.Unlock()
	if d := <-decisions; d.OK || l.Stats() != (Stats{Shared: 1}) {
		t.Errorf("%+v although the shared window is full, %+v", d, l.Stats())
	}
}

var carol = netip.MustParseAddr("198.51.100.1")

// lockedLimiter returns a limiter with room for alice alone, and starts a call for carol that waits
// for its lock. The caller unlocks it.
func lockedLimiter() (*Limiter, chan Decision) {
	l := New(Limit{1, time.Minute}, Options{MaxClients: 1})
	l.Allow(alice, t0)
	l.createMu.Lock()
	decisions := make(chan Decision, 2)
	allowCarol(l, decisions, 1)
	return l, decisions
}

// allowCarol starts a call for carol, and returns when n calls wait or one has been decided.
func allowCarol(l *Limiter, decisions chan Decision, n int64) {
	go func() { decisions <- l.Allow(carol, t0.Add(70*time.Second)) }()
	for l.overCeiling.Load() < n && len(decisions) == 0 {
		runtime.Gosched()
	}
}

// While windows are created and removed at the ceiling, parallel calls of a client get no more than
// one limit through.
func TestParallelAtTheCeiling(t *testing.T) {
	limit := Limit{5, time.Minute}
	l := New(limit, Options{MaxClients: 4})
	rounds := uint32(6000)
	if testing.Short() {
		rounds = 1000
	}
	for round := range rounds {
		now := t0.Add(time.Duration(round) * limit.Window)
		client := netip.AddrFrom4([4]byte{byte(10 + round%50), 0, 0, 1})
		var through atomic.Int64
		var all sync.WaitGroup
		for i := range uint32(8) {
			all.Go(func() {
				for j := range uint32(4) {
					if l.Allow(client, now).OK {
						through.Add(1)
					}
					l.Allow(address(round<<5+i<<2+j), now)
				}
			})
		}
		all.Wait()
		if got := through.Load(); got > int64(limit.N) {
			t.Fatalf("round %d: %d calls got through, want at most %d", round, got, limit.N)
		}
	}
}
