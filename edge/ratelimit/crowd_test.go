package ratelimit

import (
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

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

// Tokens share a window with those that begin with the same 16 bits, then 8, and nothing with addresses.
func TestTokensAboveTheCeiling(t *testing.T) {
	l := New(Limit{1, time.Minute}, Options{MaxClients: 1})
	l.Allow(alice, t0)
	for i, row := range []struct {
		token [16]byte
		ok    bool
	}{
		{[16]byte{1, 2, 3}, true}, {[16]byte{1, 2, 4}, false}, // one ceiling of shared windows is 1
		{[16]byte{1, 3}, true}, {[16]byte{1, 4}, false}, {[16]byte{2}, true}, {[16]byte{192, 0, 2, 2}, true},
	} {
		if d := l.AllowKey(row.token, t0); d.OK != row.ok {
			t.Errorf("token %d: %+v", i, d)
		}
	}
}

// Whatever comes and goes at the ceiling, nobody gets more than the limit, who is refused has a network that has used it up, and
// no more windows are kept than was said.
func TestCeilingHolds(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 2))
		limit := Limit{1 + r.IntN(20), 10 * time.Second}
		l := New(limit, Options{MaxClients: 8})
		let := map[netip.Addr][]time.Time{}
		for now := t0; now.Before(t0.Add(2 * time.Minute)); now = now.Add(time.Duration(r.IntN(int(100 * time.Millisecond)))) {
			a := netip.AddrFrom4([4]byte{10, byte(r.IntN(2)), byte(r.IntN(3)), byte(r.IntN(5))})
			if !l.Allow(a, now).OK {
				if n := inside(let, limit, now); n < limit.N {
					t.Fatalf("seed %d: %v is refused while %d calls of all count", seed, a, n)
				}
				continue
			}
			let[a] = append(let[a], now)
			if n := len(let[a]); n > limit.N && now.Sub(let[a][n-1-limit.N]) < limit.Window {
				t.Fatalf("seed %d: %v got %d calls through within %v", seed, a, limit.N+1, now.Sub(let[a][n-1-limit.N]))
			}
			if got := l.Stats(); got.Clients > 8 || got.Shared > 2+1 {
				t.Fatalf("seed %d: %+v above the ceiling", seed, got)
			}
		}
	}
}

// inside counts the calls that count at now.
func inside(let map[netip.Addr][]time.Time, limit Limit, now time.Time) (n int) {
	for _, times := range let {
		for _, at := range times {
			if now.Sub(at) < limit.Window {
				n++
			}
		}
	}
	return n
}

// While a call is about to make a window above the ceiling, its client gets none in another way, though there is room again.
func TestOneDoor(t *testing.T) {
	l, decisions := heldDoor()
	l.Sweep(t0.Add(70 * time.Second))
	allowAtDoor(l, decisions, 2)
	if len(decisions) > 0 {
		t.Error("a call did not wait for the one before it")
	}
	l.door.Unlock()
	if a, b := <-decisions, <-decisions; a.OK == b.OK || l.Stats() != (Stats{Clients: 1}) {
		t.Errorf("%+v and %+v with one place left, %+v", a, b, l.Stats())
	}
}

// A window that was made for a client while he stood at the door is his, though there is room for another.
func TestMadeMeanwhile(t *testing.T) {
	l, decisions := heldDoor()
	l.take(keyOf(carol).near(), l.moment(t0.Add(30*time.Second)), ifRoom)
	l.Sweep(t0.Add(70 * time.Second))
	l.door.Unlock()
	if d := <-decisions; d.OK || l.Stats() != (Stats{Shared: 1}) {
		t.Errorf("%+v where the shared window is full, %+v", d, l.Stats())
	}
}

var carol = netip.MustParseAddr("198.51.100.1")

// heldDoor is a limiter with room for alice alone, and a call for carol that waits at its door, which the caller opens.
func heldDoor() (*Limiter, chan Decision) {
	l := New(Limit{1, time.Minute}, Options{MaxClients: 1})
	l.Allow(alice, t0)
	l.door.Lock()
	decisions := make(chan Decision, 2)
	allowAtDoor(l, decisions, 1)
	return l, decisions
}

// allowAtDoor calls for carol, and returns when n calls wait, or one did not.
func allowAtDoor(l *Limiter, decisions chan Decision, n int64) {
	go func() { decisions <- l.Allow(carol, t0.Add(70*time.Second)) }()
	for l.waiting.Load() < n && len(decisions) == 0 {
		runtime.Gosched()
	}
}

// While windows are made and forgotten at the ceiling, a client whose calls come at once gets one: exactly the limit.
func TestParallelAtTheCeiling(t *testing.T) {
	limit := Limit{5, time.Minute}
	l := New(limit, Options{MaxClients: 4})
	for round := range uint32(6000) {
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
