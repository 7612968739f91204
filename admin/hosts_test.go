package admin

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func hosts(t testing.TB, names ...string) (h Hosts) {
	t.Helper()
	for _, name := range names {
		if err := h.Set(name); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestHosts(t *testing.T) {
	named := hosts(t, "Edge.Example.org", "*.svc.cluster.local", "eu.example.net.")
	for _, row := range []struct {
		host        string
		plain, with bool // accepted without configured names, and with the names above
	}{
		{"127.0.0.1", true, true},
		{"127.0.0.1:8082", true, true},
		{"10.244.3.17:8082", true, true}, // a kubelet's probe, Prometheus by endpoints
		{"203.0.113.7", true, true},      // the owner of a page can't redirect an address
		{"[::1]", true, true},
		{"[::1]:8082", true, true},
		{"[2001:DB8::1]:8082", true, true},
		{"[::ffff:127.0.0.1]:8082", true, true},
		{"[fe80::1%eth0]:8082", true, true},
		{"localhost", true, true},
		{"localhost:8082", true, true},
		{"LocalHost:8082", true, true},
		{"localhost:", true, true}, // RFC 3986, section 3.2.3: a port may be empty
		{"edge-1:8082", true, true},
		{"eu_1:8082", true, true}, // a container's name
		{"2130706433", true, true},
		{"edge.example.org", false, true},
		{"EDGE.example.ORG:8082", false, true},
		{"edge.example.org.", false, true},
		{"eu.example.net", false, true},
		{"edge.ns.svc.cluster.local:8082", false, true},
		{"a.svc.cluster.local.", false, true},

		{"evil.example", false, false}, // DNS rebinding
		{"evil.example:8082", false, false},
		{"127.0.0.1.evil.example", false, false},
		{"localhost.evil.example", false, false},
		{"edge.example.org.evil.example", false, false},
		{"x.edge.example.org", false, false},
		{"xedge.example.org", false, false},
		{"svc.cluster.local", false, false},  // a wildcard does not cover the name itself
		{".svc.cluster.local", false, false}, // nor an empty label
		{"a..svc.cluster.local", false, false},
		{"xsvc.cluster.local", false, false},
		{"*.svc.cluster.local", false, false},
		{"localhost.", false, false}, // its dot makes it a name of the public DNS
		{"127.0.0.1.", false, false},
		{"127.1", false, false}, // browsers send addresses in full
		{"0x7f.0.0.1", false, false},
		{"0177.0.0.1", false, false},
		{"256.0.0.1", false, false},
		{"", false, false},
		{".", false, false},
		{"..", false, false},
		{":8082", false, false},
		{"::1", false, false},
		{"[::1", false, false},
		{"::1]", false, false},
		{"[127.0.0.1]", false, false},
		{"[localhost]", false, false},
		{"[::1]evil.example", false, false},
		{"[::1]:8082.evil.example", false, false},
		{"[v1.x]", false, false},
		{"localhost:evil", false, false},
		{"localhost:99999", false, false},
		{"localhost:+1", false, false},
		{"localhost:1:2", false, false},
		{"user@localhost", false, false},
		{"localhost/evil.example", false, false},
		{"localhost\\@evil.example", false, false},
		{"local host", false, false},
		{"localhost\x00", false, false},
		{"evil%2eexample", false, false},
		{"evil。example", false, false}, // browsers replace this character by a dot
		{"loc\u212alhost", false, false},
		{"lo\u212a", false, false}, // the Kelvin sign, which becomes k in lower case
		{strings.Repeat("a", 255), false, false},
	} {
		if got := Hosts(nil).Accept(row.host); got != row.plain {
			t.Errorf("Accept(%q) without names = %v, want %v", row.host, got, row.plain)
		}
		if got := named.Accept(row.host); got != row.with {
			t.Errorf("Accept(%q) = %v, want %v", row.host, got, row.with)
		}
	}
}

func TestSetHosts(t *testing.T) {
	h := hosts(t, "Edge.Example.org.", "*.Svc", "edge-1")
	if want := (Hosts{"edge.example.org", "*.svc", "edge-1"}); !slices.Equal(h, want) || h.String() != "edge.example.org *.svc edge-1" {
		t.Errorf("%q, want %q", h, want)
	}
	for _, wrong := range []string{"", "*", "*.", "*.*", "*.*.org", "a.*", "*a.org", "edge:8082", "http://edge", "a b", ".", "edge..org", "[::1]", "ed\u212ae"} {
		if err := h.Set(wrong); err == nil {
			t.Errorf("Set(%q) returns no error", wrong)
		}
	}
	if (*Hosts)(nil).String() != "" {
		t.Error("String of a nil *Hosts is not empty; the flag package calls it")
	}
}

// For each host that Accept accepts, net/url too finds an IP address, a name without a dot, or a
// name below a configured one. Neither the case of letters nor a port changes the result.
func FuzzHosts(f *testing.F) {
	for _, seed := range []string{"localhost:8082", "[::1]:8082", "10.0.0.1", "evil.example", "a.b.example.org.", "edge.example.org", "::1", "localhost.", "a:b@c", "EXAMPLE.org:80"} {
		f.Add(seed)
	}
	named := Hosts{"*.example.org"}
	f.Fuzz(func(t *testing.T, host string) {
		plain, with := Hosts(nil).Accept(host), named.Accept(host)
		if plain && !with {
			t.Fatalf("%q is accepted without configured names, but not with one", host)
		}
		if !with {
			return
		}
		u, err := url.Parse("http://" + strings.ReplaceAll(host, "%", "%25") + "/metrics")
		if err != nil || u.User != nil || u.Path != "/metrics" {
			t.Fatalf("%q is accepted, but is no host of a URL: %v", host, err)
		}
		name := u.Hostname()
		_, err = netip.ParseAddr(name)
		if dotless := err == nil || !strings.Contains(name, "."); plain != dotless {
			t.Fatalf("%q is accepted without configured names: %v; net/url finds the name %q", host, plain, name)
		}
		if !plain && !strings.HasSuffix(strings.ToLower(strings.TrimSuffix(name, ".")), ".example.org") {
			t.Fatalf("%q is accepted, but is not below example.org", host)
		}
		if other := strings.ToUpper(host); named.Accept(other) != with && !strings.Contains(host, "%") {
			t.Fatalf("%q is accepted, but %q is not", host, other)
		}
		if u.Port() == "" && !strings.HasSuffix(host, ":") && !named.Accept(host+":8082") {
			t.Fatalf("%q is accepted, but not with a port", host)
		}
	})
}
