package access

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/iconedge/iconedge/edge/exchange"
)

// The description of a request depends on the peer and on the fields that it sent.
func TestForwarded(t *testing.T) {
	clients := Clients{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	const proxy, stranger = "10.0.0.1", "192.0.2.1"
	all := []string{"X-Forwarded-For: 203.0.113.9", "X-Forwarded-Host: shop.example", "X-Forwarded-Proto: https",
		"Forwarded: for=203.0.113.9;host=shop.example;proto=https"}
	for _, row := range []struct {
		name, peer     string
		tier           bool
		fields         []string
		scheme, host   string // of the client's request; the connection's are http and edge.example
		xff, forwarded string
	}{
		{"nothing is named", proxy, false, nil, "http", "edge.example", "", ""},
		{"a stranger names everything", stranger, false, all, "http", "edge.example", "", ""},
		{"a trusted proxy names everything", proxy, false, all, "https", "shop.example", "203.0.113.9",
			"for=203.0.113.9;host=shop.example;proto=https"},
		{"an edge behind this one does", stranger, true, all, "https", "shop.example", "203.0.113.9",
			"for=203.0.113.9;host=shop.example;proto=https"},
		{"only X-Forwarded-*", proxy, false, all[:3], "https", "shop.example", "203.0.113.9", "for=203.0.113.9"},
		{"only Forwarded", proxy, false, all[3:], "https", "shop.example", "203.0.113.9", "for=203.0.113.9;host=shop.example;proto=https"},
		{"only the scheme", proxy, false, all[2:3], "https", "edge.example", "", ""},
		{"upper case", proxy, false, []string{"X-Forwarded-Host: Shop.Example:8443", "X-Forwarded-Proto: HTTPS"},
			"https", "shop.example:8443", "", ""},
		{"IPv6", proxy, false, []string{"X-Forwarded-For: 2001:db8::1"}, "http", "edge.example", "2001:db8::1", `for="[2001:db8::1]"`},
		{"Forwarded with IPv6 and a port", proxy, false,
			[]string{`Forwarded: For="[2001:db8::1]:99"; Host="shop.example:8443"`}, "http", "shop.example:8443",
			"2001:db8::1", `For="[2001:db8::1]:99"; Host="shop.example:8443"`},
		// No trusted proxy wrote those before the first untrusted address.
		{"a client forged a hop", proxy, false, []string{"X-Forwarded-For: 198.51.100.66, 203.0.113.9, 10.0.0.2"},
			"http", "edge.example", "203.0.113.9, 10.0.0.2", "for=203.0.113.9, for=10.0.0.2"},
		{"a client forged an element", proxy, false,
			[]string{"Forwarded: for=10.0.0.9;host=evil.test;proto=https, for=203.0.113.9"}, "http", "edge.example",
			"203.0.113.9", "for=203.0.113.9"},
		{"in several lines", proxy, false, []string{"X-Forwarded-For: 203.0.113.9", "X-Forwarded-For: 10.0.0.2"},
			"http", "edge.example", "203.0.113.9, 10.0.0.2", "for=203.0.113.9, for=10.0.0.2"},
		{"the outer proxy knew the scheme", proxy, false,
			[]string{"Forwarded: for=203.0.113.9;proto=https;host=shop.example, for=10.0.0.2"}, "https",
			"shop.example", "203.0.113.9, 10.0.0.2", "for=203.0.113.9;proto=https;host=shop.example, for=10.0.0.2"},
		{"an edge keeps hops that it does not trust itself", stranger, true,
			[]string{"X-Forwarded-For: 203.0.113.9, 198.51.100.1"}, "http", "edge.example",
			"203.0.113.9, 198.51.100.1", "for=203.0.113.9, for=198.51.100.1"},
		{"of a list the nearest proxy wrote the last", proxy, false,
			[]string{"X-Forwarded-Host: evil.test, shop.example", "X-Forwarded-Proto: http,https"}, "https", "shop.example", "", ""},
		{"the client can't be read", proxy, false, []string{"X-Forwarded-For: 203.0.113.9, unknown, 10.0.0.2"},
			"http", "edge.example", "10.0.0.2", "for=10.0.0.2"},
		{"an element without a client", proxy, false, []string{"Forwarded: host=shop.example;proto=https"}, "https",
			"shop.example", "", ""},
		// A proxy may write one field, and pass the other on.
		{"different clients", proxy, false, []string{"X-Forwarded-For: 203.0.113.9",
			"Forwarded: for=198.51.100.66;host=evil.test"}, "http", "edge.example", "", ""},
		{"different hosts", proxy, false, []string{"X-Forwarded-Host: shop.example",
			"Forwarded: for=203.0.113.9;host=evil.test"}, "http", "edge.example", "203.0.113.9", "for=203.0.113.9;host=evil.test"},
		{"different schemes", proxy, false, []string{"X-Forwarded-Proto: http", "Forwarded: proto=https"}, "http", "edge.example", "", ""},
		// Malformed values are no values.
		{"malformed hosts", proxy, false, []string{"X-Forwarded-Host: a/../b", "Forwarded: host=\"a b\""}, "http", "edge.example", "", ""},
		{"empty values", proxy, false, []string{"X-Forwarded-Host:", "X-Forwarded-Proto: ", "X-Forwarded-For:",
			"Forwarded:"}, "http", "edge.example", "", ""},
		{"another scheme", proxy, false, []string{"X-Forwarded-Proto: gopher", "Forwarded: proto=wss"}, "http", "edge.example", "", ""},
		{"a parameter inside a quoted one", proxy, false,
			[]string{`Forwarded: host="a;for=198.51.100.66;host=evil.test;";for=203.0.113.9`}, "http", "edge.example",
			"203.0.113.9", `host="a;for=198.51.100.66;host=evil.test;";for=203.0.113.9`},
		{"an open quote", proxy, false, []string{`Forwarded: for=198.51.100.66;host="evil.test, for=203.0.113.9`},
			"http", "edge.example", "203.0.113.9", "for=203.0.113.9"},
	} {
		x := &exchange.Request{Peer: netip.MustParseAddr(row.peer), Tier: row.tier, Lines: func(name string) (lines [][]byte) {
			for _, f := range row.fields {
				if n, value, _ := strings.Cut(f, ":"); n == name {
					lines = append(lines, []byte(strings.Trim(value, " ")))
				}
			}
			return lines
		}}
		f := clients.Forwarded(x, "Edge.Example", func(host string) bool { return host != "" && !strings.ContainsAny(host, "/; ") })
		if f.Scheme != row.scheme || f.Host != row.host || f.Peer != x.Peer || strings.Join(f.For, ", ") != row.xff ||
			strings.Join(f.Elements, ", ") != row.forwarded {
			t.Errorf("%s: %+v, want %s://%s, %q, %q", row.name, f, row.scheme, row.host, row.xff, row.forwarded)
		}
	}
}

// Whatever fields a client sends, its request is described by its connection alone.
func FuzzForwardedOfAStranger(f *testing.F) {
	f.Add("for=1.2.3.4;host=evil.test;proto=https", "1.2.3.4", "evil.test")
	f.Add(`host="a;\\";for=_x, for="[::1]:9"`, "a, ,::1", "")
	f.Fuzz(func(t *testing.T, forwarded, xff, host string) {
		fields := map[string]string{"Forwarded": forwarded, "X-Forwarded-For": xff, "X-Forwarded-Host": host, "X-Forwarded-Proto": "https"}
		x := &exchange.Request{Peer: netip.MustParseAddr("192.0.2.1"),
			Lines: func(name string) [][]byte { return [][]byte{[]byte(fields[name])} }}
		valid := func(string) bool { return true }
		if got := (Clients{}).Forwarded(x, "edge.example", valid); got.Scheme != "http" ||
			got.Host != "edge.example" || len(got.For)+len(got.Elements) > 0 {
			t.Errorf("%+v", got)
		}
		// The kept hops of a trusted proxy name the client that the limits count, if any.
		c := Clients{Trusted: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}
		got := c.Forwarded(x, "edge.example", valid)
		if len(got.For) == 0 {
			return
		}
		if client, ok := parseNode(got.For[0]); !ok || client != c.Of(x) {
			t.Errorf("X-Forwarded-For begins with %q, the client is %v", got.For[0], c.Of(x))
		}
	})
}
