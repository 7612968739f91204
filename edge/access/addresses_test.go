package access

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/internal/hostport"
)

func TestAddresses(t *testing.T) {
	const text = "# those who did harm\n\n192.0.2.0/24   # a " +
		"network\n\t198.51.100.7\r\n2001:db8::/32\n10.0.0.0/9\n10.128.0.0/9\n10.3.0.0/16\n::1"
	set, err := parseAddresses([]byte(text))
	if err != nil || set.ranges() != 5 { // both halves of 10.0.0.0/8 and a part of it merge
		t.Fatalf("%v (%v)", set, err)
	}
	for client, want := range map[string]bool{
		"192.0.2.0": true, "192.0.2.255": true, "192.0.1.255": false, "192.0.3.0": false,
		"198.51.100.7": true, "198.51.100.6": false, "198.51.100.8": false,
		"::ffff:198.51.100.7": true, // an IPv4 address, written as IPv6
		"2001:db8::1":         true, "2001:db9::": false, "2001:db8::1%eth0": true,
		"10.0.0.0": true, "10.127.255.255": true, "10.128.0.0": true, "10.255.255.255": true, "11.0.0.0": false, "9.255.255.255": false,
		"::1": true, "::1%eth0": true, "::2": false, "0.0.0.0": false, "0.0.0.1": false,
	} {
		if got := set.has(netip.MustParseAddr(client)); got != want {
			t.Errorf("%s is in the set: %v, want %v", client, got, want)
		}
	}
	if none, err := parseAddresses([]byte("# nobody\n")); err != nil || none.has(netip.MustParseAddr("192.0.2.1")) ||
		none.has(netip.Addr{}) {
		t.Errorf("an empty list: %v (%v)", none, err)
	}
	if all, err := parseAddresses([]byte("0.0.0.0/0\n::/0\n")); err != nil ||
		!all.has(netip.MustParseAddr("255.255.255.255")) || !all.has(netip.MustParseAddr("ffff::")) {
		t.Errorf("a list of all addresses: %v (%v)", all, err)
	}
}

func TestWrongAddresses(t *testing.T) {
	for text, line := range map[string]string{
		"icons.test":               "line 1",
		"192.0.2.1\n10.0.0.0/33":   "line 2",
		"192.0.2.1 192.0.2.2":      "line 1",
		"# a\n\n192.0.2.0-9":       "line 3",
		"::ffff:192.0.2.0/120":     "IPv4",
		"fe80::1%eth0":             "line 1",
		"192.0.2.1;\n":             "line 1",
		"\x00":                     "line 1",
		"192.0.2.0/24\n192.0.2.01": "line 2",
	} {
		if set, err := parseAddresses([]byte(text)); err == nil || !strings.Contains(err.Error(), line) || set != nil {
			t.Errorf("%q: %v, %v, want an error about %s", text, set, err, line)
		}
	}
}

// A set contains an address if and only if one of its networks does. Its ranges are in order and do
// not touch.
func FuzzAddresses(f *testing.F) {
	f.Add([]byte("192.0.2.0/24\n192.0.2.128/25 # half\n::/0\n"), []byte{192, 0, 2, 1})
	f.Add([]byte("255.255.255.255\n0.0.0.0"), []byte{255, 255, 255, 255})
	f.Add([]byte("1.2.3.4\n1.2.3.5\n"), make([]byte, 16))
	f.Fuzz(func(t *testing.T, text, address []byte) {
		set, err := parseAddresses(text)
		if err != nil {
			return
		}
		var networks []netip.Prefix
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(line, "#")
			if p, err := hostport.ParsePrefix(strings.TrimSpace(line)); err == nil {
				networks = append(networks, p)
			}
		}
		probe := func(a netip.Addr) {
			want := slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) })
			if got := set.has(a); got != want {
				t.Fatalf("%q: %s is in the set: %v, want %v", text, a, got, want)
			}
		}
		ranges := set.set.Ranges()
		for i, s := range ranges {
			if s.To().Less(s.From()) || i > 0 && !ranges[i-1].To().Next().Less(s.From()) && ranges[i-1].To().Next().IsValid() {
				t.Fatalf("%q: %v are not in order and apart", text, ranges)
			}
			for _, a := range []netip.Addr{s.From(), s.To(), s.From().Prev(), s.To().Next()} {
				if a.IsValid() {
					probe(a)
				}
			}
		}
		if a, ok := netip.AddrFromSlice(address); ok {
			probe(a)
		}
	})
}

// BenchmarkAddresses looks one client up among a hundred thousand networks.
func BenchmarkAddresses(b *testing.B) {
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "%d.%d.%d.0/25\n", i>>16, i>>8&255, i&255)
	}
	set, err := parseAddresses([]byte(text.String()))
	if err != nil {
		b.Fatal(err)
	}
	clients := make([]netip.Addr, 1<<12)
	for i := range clients {
		n := rand.Uint32N(100_000)
		clients[i] = netip.AddrFrom4([4]byte{byte(n >> 16), byte(n >> 8), byte(n), byte(rand.Uint32())})
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c := clients[i%len(clients)]
		if set.has(c) != (c.As4()[3] < 128) {
			b.Fatal(c)
		}
	}
}
