package ratelimit

import (
	"net/netip"
	"testing"
	"time"
)

func TestParseLimit(t *testing.T) {
	for s, want := range map[string]Limit{
		"60/1m": {60, time.Minute}, "1/1s": {1, time.Second}, "600/1m30s": {600, 90 * time.Second}, "1000000/24h": {MaxN, MaxWindow},
		"off": {}, "10/1d": {10, MaxWindow},
	} {
		if got, err := ParseLimit(s); err != nil || got != want {
			t.Errorf("ParseLimit(%q) = %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "60", "60/", "/1m", "0/1m", "-1/1m", "+1/1m", "60/0s", "60/-1m", "60/500ms",
		"60/1.5s", "60/1", "60/25h", "60/2d", "60/1d1s",
		"1000001/1m", "60/1m/1m", " 60/1m", "60 / 1m", "OFF", "0x10/1m", "6_0/1m"} {
		if got, err := ParseLimit(s); err != ErrLimit {
			t.Errorf("ParseLimit(%q) = %v, %v; want ErrLimit", s, got, err)
		}
	}
}

// ParseLimit reads what String writes.
func FuzzParseLimit(f *testing.F) {
	for _, s := range []string{"60/1m", "off", "1/1h1m1s", "60/1e3s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseLimit(s)
		if err != nil {
			return
		}
		if again, err := ParseLimit(l.String()); err != nil || again != l {
			t.Fatalf("ParseLimit(%q) = %v, which is read back as %v, %v", s, l, again, err)
		}
	})
}

func TestFields(t *testing.T) {
	if got, want := string(AppendPolicy(nil, "search", Limit{60, time.Minute})), `"search";q=60;w=60`; got != want {
		t.Errorf("AppendPolicy = %s, want %s", got, want)
	}
	for reset, want := range map[time.Duration]string{
		time.Minute:     `"search";r=59;t=60`,
		time.Second:     `"search";r=59;t=1`,
		time.Second + 1: `"search";r=59;t=2`, // rounded up, so that no client comes too early
		1:               `"search";r=59;t=1`,
	} {
		if got := string(AppendState(nil, "search", Decision{OK: true, Remaining: 59, Reset: reset})); got != want {
			t.Errorf("AppendState with a reset of %v = %s, want %s", reset, got, want)
		}
	}
	buf := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { AppendState(buf, "search", Decision{Remaining: 59, Reset: time.Minute}) }); n != 0 {
		t.Errorf("AppendState allocates %v times", n)
	}
}

// A window has a whole number of ticks, at least a billion, which fits into 32 bits. Up to an hour
// a microsecond has one, too.
func TestTick(t *testing.T) {
	for window := time.Second; window <= MaxWindow; window += time.Second {
		l := Limit{1, window}
		if n := window / l.tick(); window%l.tick() != 0 || n > 1<<32 || n < 1e9 || window <= time.Hour && time.Microsecond%l.tick() != 0 {
			t.Fatalf("a window of %v has %d ticks of %v", window, n, l.tick())
		}
	}
}

func TestClientKey(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1":              "192.0.2.1/32",
		"::ffff:192.0.2.1":       "192.0.2.1/32",
		"2001:db8:1:2:3:4:5:6":   "2001:db8:1:2::/64",
		"2001:db8:1:2::":         "2001:db8:1:2::/64",
		"fe80::1%eth0":           "fe80::/64",
		"::ffff:192.0.2.1%eth0":  "192.0.2.1/32",
		"::192.0.2.1":            "::/64",
		"64:ff9b::192.0.2.1":     "64:ff9b::/64",
		"2001:db8:1:2:ffff::1%9": "2001:db8:1:2::/64",
	} {
		if got := ClientKey(netip.MustParseAddr(addr)); got.String() != want {
			t.Errorf("ClientKey(%s) = %v, want %s", addr, got, want)
		}
	}
	if got := ClientKey(netip.Addr{}); got != (netip.Prefix{}) {
		t.Errorf("ClientKey of no address = %v", got)
	}
}

// Two addresses have the same window if and only if they are one client, and shared windows are as
// wide as documented.
func FuzzKey(f *testing.F) {
	add := func(a, b string) {
		x, y := netip.MustParseAddr(a).As16(), netip.MustParseAddr(b).As16()
		f.Add(x[:], y[:])
	}
	add("192.0.2.1", "::ffff:192.0.2.1")
	add("2001:db8::1", "2001:db8::2")
	add("2001:db8:0:1::1", "2001:db8::1")
	add("192.0.2.1", "192.0.2.255")
	f.Fuzz(func(t *testing.T, x, y []byte) {
		a, ok := netip.AddrFromSlice(x)
		b, ok2 := netip.AddrFromSlice(y)
		if !ok || !ok2 {
			return
		}
		if (keyOf(a) == keyOf(b)) != (ClientKey(a) == ClientKey(b)) {
			t.Fatalf("keys of %v and %v: %v and %v", a, b, keyOf(a), keyOf(b))
		}
		near, wide := 48, 16
		if a.Unmap().Is4() {
			near, wide = 24, 8
		}
		if p, _ := a.Unmap().Prefix(near); (keyOf(a).near() == keyOf(b).near()) != p.Contains(b.Unmap()) {
			t.Fatalf("the keys near %v and %v do not match a prefix of %d bits", a, b, near)
		}
		if p, _ := a.Unmap().Prefix(wide); (keyOf(a).wide() == keyOf(b).wide()) != p.Contains(b.Unmap()) {
			t.Fatalf("the wide keys of %v and %v do not match a prefix of %d bits", a, b, wide)
		}
	})
}
