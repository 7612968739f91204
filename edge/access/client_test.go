package access

import (
	"net"
	"net/netip"
	"testing"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/exchange"
)

func TestClient(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:ffff::/48"),
		netip.MustParsePrefix("fe80::/64")}
	type fields [][2]string
	tests := []struct {
		name   string
		peer   string
		fields fields
		want   string
	}{
		{"no proxy", "192.0.2.1", nil, "192.0.2.1"},
		{"an untrusted proxy", "192.0.2.1", fields{{"X-Forwarded-For", "198.51.100.1"}, {"Forwarded", "for=198.51.100.1"}}, "192.0.2.1"},
		{"a trusted proxy", "10.0.0.1", fields{{"X-Forwarded-For", "198.51.100.1"}}, "198.51.100.1"},
		{"IPv4 written as IPv6", "::ffff:10.0.0.1", fields{{"X-Forwarded-For", "::ffff:198.51.100.1"}}, "198.51.100.1"},
		{"rightmost that is not trusted", "10.0.0.1", fields{{"X-Forwarded-For", "203.0.113.9, 198.51.100.1, 10.0.0.2"}}, "198.51.100.1"},
		{"several lines", "10.0.0.1", fields{{"X-Forwarded-For", "203.0.113.9"}, {"X-Forwarded-For", "198.51.100.1"},
			{"X-Forwarded-For", "10.0.0.2"}}, "198.51.100.1"},
		{"all trusted: the farthest counts", "10.0.0.1", fields{{"X-Forwarded-For", "10.0.0.3,10.0.0.2"}}, "10.0.0.3"},
		{"both name the same client", "10.0.0.1", fields{{"X-Forwarded-For", "192.0.2.7, 203.0.113.9, 10.0.0.2"},
			{"Forwarded", "for=203.0.113.9;proto=https"}}, "203.0.113.9"},
		{"each in its own spelling", "10.0.0.1", fields{{"X-Forwarded-For", "2001:DB8:0::1"},
			{"Forwarded", `for="[2001:db8::1]:80"`}}, "2001:db8::1"},
		{"they name different clients", "10.0.0.1",
			fields{{"X-Forwarded-For", "198.51.100.1"}, {"Forwarded", "for=203.0.113.9"}}, "10.0.0.1"},
		{"different clients, behind a proxy that sends both", "10.0.0.1",
			fields{{"X-Forwarded-For", "198.51.100.1, 10.0.0.2"}, {"Forwarded", "for=203.0.113.9, for=10.0.0.2"}}, "10.0.0.1"},
		{"no address in Forwarded", "10.0.0.1", fields{{"X-Forwarded-For", "198.51.100.1"}, {"Forwarded", "for=unknown"}}, "10.0.0.1"},
		{"no address in X-Forwarded-For", "10.0.0.1",
			fields{{"X-Forwarded-For", "unknown"}, {"Forwarded", "for=198.51.100.1"}}, "10.0.0.1"},
		{"a client's own Forwarded, behind a proxy that does not know it", "10.0.0.1",
			fields{{"Forwarded", "for=203.0.113.66"}, {"X-Forwarded-For", "198.51.100.1"}}, "10.0.0.1"},
		{"IPv6 with a port", "10.0.0.1", fields{{"Forwarded", `proto=https;For="[2001:db8::1]:4711"`}}, "2001:db8::1"},
		{"IPv6 without one", "10.0.0.1", fields{{"X-Forwarded-For", "2001:db8::1"}}, "2001:db8::1"},
		{"IPv4 with a port", "10.0.0.1", fields{{"X-Forwarded-For", "198.51.100.1:1234"}}, "198.51.100.1"},
		{"a trusted IPv6 proxy", "2001:db8:ffff::1", fields{{"Forwarded", "for=198.51.100.1"}}, "198.51.100.1"},
		{"an element without an address ends the search", "10.0.0.1", fields{{"X-Forwarded-For", "198.51.100.1, unknown"}}, "10.0.0.1"},
		{"also behind another proxy", "10.0.0.1", fields{{"X-Forwarded-For", "198.51.100.1, unknown, 10.0.0.2"}}, "10.0.0.2"},
		{"a client hidden by its proxy", "10.0.0.1", fields{{"Forwarded", "for=_secret"}}, "10.0.0.1"},
		{"no for", "10.0.0.1", fields{{"Forwarded", "proto=https"}}, "10.0.0.1"},
		{"empty", "10.0.0.1", fields{{"X-Forwarded-For", ""}}, "10.0.0.1"},
		{"a quote that a client left open", "10.0.0.1", fields{{"Forwarded", `for="198.51.100.1, for=203.0.113.9`}}, "203.0.113.9"},
		{"commas in quotes", "10.0.0.1", fields{{"Forwarded", `for=203.0.113.9;by="a, for=198.51.100.1"`}}, "203.0.113.9"},
		{"a zone", "10.0.0.1", fields{{"X-Forwarded-For", "fe80::1%eth0"}}, "10.0.0.1"},
		{"a trusted proxy on the link", "fe80::2%eth0", fields{{"X-Forwarded-For", "198.51.100.1"}}, "198.51.100.1"},
		{"no other field counts", "10.0.0.1", fields{{"X-Real-IP", "198.51.100.1"},
			{"True-Client-IP", "198.51.100.1"}, {"CF-Connecting-IP", "198.51.100.1"}, {"X-Client-IP", "198.51.100.1"}}, "10.0.0.1"},
	}
	for _, tt := range tests {
		var ctx fasthttp.RequestCtx
		ctx.Init(&fasthttp.Request{}, net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(tt.peer), 1)), nil)
		for _, f := range tt.fields {
			ctx.Request.Header.Add(f[0], f[1])
		}
		if got := (Clients{trusted}).Of(&exchange.Request{Peer: exchange.Address(ctx.RemoteAddr()),
			Lines: ctx.Request.Header.PeekAll}); got.String() != tt.want {
			t.Errorf("%s: %v from %s is %s, want %s", tt.name, tt.fields, tt.peer, got, tt.want)
		}
	}
}

// Whatever a client writes into the field, the element that its proxy appended is still read.
func FuzzForwarded(f *testing.F) {
	for _, s := range []string{"", "for=1.2.3.4", `for="`, `for="[::1]:1", for=_x`, `a="\"`, ",", `";for=9.9.9.9`} {
		f.Add(s)
	}
	trusted := Clients{[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	peer := netip.MustParseAddr("10.0.0.1")
	f.Fuzz(func(t *testing.T, s string) {
		got := trusted.behind(peer, [][]byte{[]byte(s), []byte("for=198.51.100.7")}, forwardedFor)
		if got.String() != "198.51.100.7" {
			t.Errorf("a line of its own after %q gives %s", s, got)
		}
		got = trusted.behind(peer, [][]byte{[]byte(s + ", for=198.51.100.7")}, forwardedFor)
		if got.String() != "198.51.100.7" {
			t.Errorf("appended to %q gives %s", s, got)
		}
		trusted.behind(peer, [][]byte{[]byte(s)}, forwardedFor)
		trusted.behind(peer, [][]byte{[]byte(s)}, parseNode)
	})
}
