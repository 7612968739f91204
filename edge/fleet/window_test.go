package fleet

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/iconedge/iconedge/edge/fleet/fleettest"
	"github.com/iconedge/iconedge/edge/ratelimit"
)

var alice, bob = netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")

// scriptedClock is the script with a clock that the test sets.
var scriptedClock = redis.NewScript(strings.Replace(windowSource, "redis.call('TIME')", "{ARGV[4], ARGV[5]}", 1))

// at makes a call when the window's clock is at so many microseconds.
func (w *Window) at(t *testing.T, client netip.Addr, clock int64) ratelimit.Decision {
	t.Helper()
	w.script, w.args = scriptedClock, append(w.args[:3:3], clock/1e6, clock%1e6)
	d, err := w.check(w.fleet.calls.Load(), ratelimit.ClientKey(client).String(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// For any history of calls Redis decides as package ratelimit does, which has a test against a
// model of its own.
func TestSameAsOwnWindow(t *testing.T) {
	f := open(t, fleettest.Start(t).URL, "here", nil)
	refused := 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		// Windows this long do not expire while the test runs.
		limit := ratelimit.Limit{N: 1 + r.IntN(40)*r.IntN(20), Window: time.Duration(300+r.IntN(90)) * time.Second}
		own := ratelimit.New(limit, ratelimit.Options{})
		w, start := f.SharedWindow("search", own), time.Now().Truncate(time.Microsecond)
		clock := start.UnixMicro()
		for range 1000 {
			clock += pause4(r, limit)
			client := netip.AddrFrom4([4]byte{192, 0, 2, byte(r.IntN(3))})
			want := own.Allow(client, start.Add(time.Duration(clock-start.UnixMicro())*time.Microsecond))
			got := w.at(t, client, clock)
			if got != want {
				t.Fatalf("seed %d, limit %v: %+v, want %+v", seed, limit, got, want)
			}
			if !got.OK {
				refused++
				if d := w.at(t, client, clock+got.RetryAfter.Microseconds()); !d.OK {
					t.Fatalf("seed %d: refused after a Retry-After: %+v", seed, d)
				}
				own.Allow(client, start.Add(time.Duration(clock-start.UnixMicro())*time.Microsecond+got.RetryAfter))
				clock += got.RetryAfter.Microseconds()
			}
		}
	}
	if refused < 100 {
		t.Errorf("only %d calls were refused", refused)
	}
}

// pause4 returns a pause in microseconds after which the limit is sometimes reached; in one of
// twenty cases it ends exactly when a place frees, or a microsecond before.
func pause4(r *rand.Rand, l ratelimit.Limit) int64 {
	switch r.IntN(20) {
	case 0:
		return l.Window.Microseconds() - int64(r.IntN(2))
	case 1:
		return r.Int64N(3 * l.Window.Microseconds())
	}
	return r.Int64N(l.Window.Microseconds() / int64(l.N))
}

// A server's clock that is put back lets no client exceed the limit. If it is put back by more than
// the window, no client is locked out either.
func TestServersClockGoesBack(t *testing.T) {
	const second, start = 1e6, 1_800_000_000 * 1e6
	f := open(t, fleettest.Start(t).URL, "here", nil)
	w := f.SharedWindow("search", ratelimit.New(ratelimit.Limit{N: 2, Window: time.Minute}, ratelimit.Options{}))
	for i, row := range []struct {
		at    int64
		ok    bool
		left  int
		reset time.Duration
	}{
		{0, true, 1, time.Minute},
		{-30 * second, true, 0, time.Minute}, // counts as made at 0
		{-20 * second, false, 0, time.Minute},
		{59 * second, false, 0, time.Second},
		{60*second - 1, false, 0, time.Microsecond},
		{60 * second, true, 1, time.Minute}, // both calls are a full minute old
		{-3600 * second, true, 1, time.Minute},
		{-3600 * second, true, 0, time.Minute},
		{-3600 * second, false, 0, time.Minute},
	} {
		if d := w.at(t, alice, start+row.at); d.OK != row.ok || d.Remaining != row.left || d.Reset != row.reset {
			t.Errorf("call %d: %+v, want %v, %d left, reset %v", i, d, row.ok, row.left, row.reset)
		}
	}
}

// Edges of a region share a window exactly. Another region, client, class or limit has another
// window.
func TestEdgesShareAWindow(t *testing.T) {
	s := fleettest.Start(t)
	share := func(region, name string, n int) *Window {
		return open(t, s.URL, region, nil).SharedWindow(name, ratelimit.New(ratelimit.Limit{N: n, Window: time.Hour}, ratelimit.Options{}))
	}
	one, two, away := share("here", "search", 60), share("here", "search", 60), share("there", "search", 60)
	if got := callsThrough(200, alice, one, two); got != 60 {
		t.Errorf("%d of 200 got through two edges, want 60", got)
	}
	if got := callsThrough(100, alice, away); got != 60 {
		t.Errorf("%d of 100 got through in another region, want 60", got)
	}
	for what, w := range map[string]*Window{"class": share("here", "icon", 1), "limit": share("here", "search", 1)} {
		if !w.Allow(alice, time.Now()).OK {
			t.Errorf("another %s has the same window", what)
		}
	}
	if !one.Allow(bob, time.Now()).OK {
		t.Error("another client has the same window")
	}
	if sum := one.fleet.Stats().Local + two.fleet.Stats().Local + away.fleet.Stats().Local; sum != 0 {
		t.Errorf("the edge's own window decided %d checks, want 0", sum)
	}
}

// callsThrough makes calls in parallel, over the windows in turn, and returns how many got through.
func callsThrough(calls int, client netip.Addr, windows ...*Window) int64 {
	var got atomic.Int64
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			if windows[i%len(windows)].Allow(client, time.Now()).OK {
				got.Add(1)
			}
		})
	}
	all.Wait()
	return got.Load()
}

// A client is an IPv4 address, an IPv6 /64 or a token.
func TestClientKeys(t *testing.T) {
	f := open(t, fleettest.Start(t).URL, "here", nil)
	w := f.SharedWindow("search", ratelimit.New(ratelimit.Limit{N: 1, Window: time.Hour}, ratelimit.Options{}))
	for _, row := range []struct {
		client string
		ok     bool
	}{
		{"192.0.2.1", true}, {"::ffff:192.0.2.1", false}, {"192.0.2.2", true},
		{"2001:db8::1", true}, {"2001:db8::ffff:1", false}, {"2001:db8:0:1::1", true},
	} {
		if d := w.Allow(netip.MustParseAddr(row.client), time.Now()); d.OK != row.ok {
			t.Errorf("%s: %v, want %v", row.client, d.OK, row.ok)
		}
	}
	for i, ok := range []bool{true, false} {
		if d := w.AllowKey([16]byte{1}, time.Now()); d.OK != ok {
			t.Errorf("call %d of a token: %v", i, d.OK)
		}
	}
}

// A window's key expires, but not before its calls have left the window.
func TestWindowsExpire(t *testing.T) {
	s := fleettest.Start(t)
	f := open(t, s.URL, "here", nil)
	f.SharedWindow("search", ratelimit.New(ratelimit.Limit{N: 1, Window: time.Hour}, ratelimit.Options{})).Allow(alice, time.Now())
	const key = "iconedge:w:here:search:1/1h0m0s:192.0.2.1/32"
	if left := s.PTTL(t.Context(), key).Val(); left < 50*time.Minute || left > time.Hour+expiryMargin {
		t.Errorf("%s expires in %v", key, left)
	}
}

// Redis 7.0 expires keys while a script runs, and the key of a probe lives for a millisecond. On a
// busy machine it ends before the script does, which is no failure of Redis.
func TestKeyExpiresInTheScript(t *testing.T) {
	f := open(t, fleettest.Start(t).URL, "here", nil)
	const expiresAtOnce = 0
	w := &Window{fleet: f, prefix: "iconedge:probe:", args: []any{1, 1, expiresAtOnce}, script: windowScript}
	if d, err := w.check(f.calls.Load(), "here", time.Minute); err != nil || !d.OK {
		t.Errorf("%+v, %v", d, err)
	}
}

// If all calls of a client with the largest limit have left the window, its next call is still
// fast.
func TestManyCallsLeaveAtOnce(t *testing.T) {
	s := fleettest.Start(t)
	limit := ratelimit.Limit{N: ratelimit.MaxN, Window: time.Hour}
	w := open(t, s.URL, "here", nil).SharedWindow("search", ratelimit.New(limit, ratelimit.Options{}))
	const start = 1_800_000_000 * 1e6
	w.at(t, alice, start)
	key := w.prefix + "192.0.2.1/32"
	must(t, s.Eval(t.Context(), `for i = 2, ARGV[1] do redis.call('RPUSH', KEYS[1], ARGV[2]) end return 1`,
		[]string{key}, limit.N, int64(start)).Err())
	if d := w.at(t, alice, start+1); d.OK {
		t.Fatalf("%+v, want it refused", d)
	}
	s.ConfigResetStat(t.Context())
	if d := w.at(t, alice, start+limit.Window.Microseconds()); !d.OK || d.Remaining != limit.N-1 {
		t.Fatalf("%+v, want one call counted", d)
	}
	_, after, _ := strings.Cut(s.Info(t.Context(), "commandstats").Val(), "cmdstat_ltrim:calls=")
	var calls int
	if fmt.Sscan(after, &calls); calls < 2 || calls > 10_000 {
		t.Errorf("%d LTRIM calls, want 2 to 10,000", calls)
	}
}

// BenchmarkShared measures a check in a local Redis, BenchmarkLocal one in the edge's own window,
// and BenchmarkPing the round trip.
func BenchmarkShared(b *testing.B) {
	f := open(b, fleettest.Start(b).URL, "here", nil)
	benchmark(b, f.SharedWindow("search", ratelimit.New(ratelimit.Limit{N: 60, Window: time.Minute}, ratelimit.Options{})).Allow)
	if s := f.Stats(); s.Local > 0 {
		b.Errorf("%d of %d checks were not decided by Redis", s.Local, s.Local+s.Shared)
	}
}

func BenchmarkLocal(b *testing.B) {
	benchmark(b, ratelimit.New(ratelimit.Limit{N: 60, Window: time.Minute}, ratelimit.Options{}).Allow)
}

func BenchmarkPing(b *testing.B) {
	s := fleettest.Start(b)
	benchmark(b, func(netip.Addr, time.Time) (d ratelimit.Decision) {
		d.OK = s.Ping(b.Context()).Err() == nil
		return d
	})
}

func benchmark(b *testing.B, allow func(netip.Addr, time.Time) ratelimit.Decision) {
	b.ReportAllocs()
	b.SetParallelism(16) // goroutines wait for connections as in an edge
	b.RunParallel(func(p *testing.PB) {
		for n := byte(0); p.Next(); n++ {
			allow(netip.AddrFrom4([4]byte{192, 0, 2, n}), time.Now())
		}
	})
}
