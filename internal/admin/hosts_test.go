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
		{host: "127.0.0.1", plain: true, with: true},
		{host: "127.0.0.1:8082", plain: true, with: true},
		// A kubelet's probe, Prometheus by endpoints; no page can redirect an address.
		{host: "10.244.3.17:8082", plain: true, with: true},
		{host: "203.0.113.7", plain: true, with: true},
		{host: "[::1]", plain: true, with: true},
		{host: "[::1]:8082", plain: true, with: true},
		{host: "[2001:DB8::1]:8082", plain: true, with: true},
		{host: "[::ffff:127.0.0.1]:8082", plain: true, with: true},
		{host: "[fe80::1%eth0]:8082", plain: true, with: true},
		{host: "localhost", plain: true, with: true},
		{host: "localhost:8082", plain: true, with: true},
		{host: "LocalHost:8082", plain: true, with: true},
		{host: "localhost:", plain: true, with: true}, // RFC 3986, section 3.2.3: no port
		{host: "edge-1:8082", plain: true, with: true},
		{host: "eu_1:8082", plain: true, with: true}, // a container's name
		{host: "2130706433", plain: true, with: true},
		{host: "edge.example.org", with: true},
		{host: "EDGE.example.ORG:8082", with: true},
		{host: "edge.example.org.", with: true},
		{host: "eu.example.net", with: true},
		{host: "edge.ns.svc.cluster.local:8082", with: true},
		{host: "a.svc.cluster.local.", with: true},

		{host: "evil.example"}, // DNS rebinding
		{host: "evil.example:8082"},
		{host: "127.0.0.1.evil.example"},
		{host: "localhost.evil.example"},
		{host: "edge.example.org.evil.example"},
		{host: "x.edge.example.org"},
		{host: "xedge.example.org"},
		{host: "svc.cluster.local"},  // a wildcard does not cover the name itself
		{host: ".svc.cluster.local"}, // nor an empty label
		{host: "a..svc.cluster.local"},
		{host: "xsvc.cluster.local"},
		{host: "*.svc.cluster.local"},
		{host: "localhost."}, // its dot makes it a name of the public DNS
		{host: "127.0.0.1."},
		{host: "127.1"}, // browsers send addresses in full
		{host: "0x7f.0.0.1"},
		{host: "0177.0.0.1"},
		{host: "256.0.0.1"},
		{host: ""},
		{host: "."},
		{host: ".."},
		{host: ":8082"},
		{host: "::1"},
		{host: "[::1"},
		{host: "::1]"},
		{host: "[127.0.0.1]"},
		{host: "[localhost]"},
		{host: "[::1]evil.example"},
		{host: "[::1]:8082.evil.example"},
		{host: "[v1.x]"},
		{host: "localhost:evil"},
		{host: "localhost:99999"},
		{host: "localhost:+1"},
		{host: "localhost:1:2"},
		{host: "user@localhost"},
		{host: "localhost/evil.example"},
		{host: "localhost\\@evil.example"},
		{host: "local host"},
		{host: "localhost\x00"},
		{host: "evil%2eexample"},
		{host: "evil。example"}, // browsers replace this character by a dot
		{host: "loc\u212alhost"},
		{host: "lo\u212a"}, // the Kelvin sign, which becomes k in lower case
		{host: strings.Repeat("a", 255)},
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
	for _, wrong := range []string{"", "*", "*.", "*.*", "*.*.org", "a.*", "*a.org", "edge:8082", "http://edge",
		"a b", ".", "edge..org", "[::1]", "ed\u212ae"} {
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
	for _, seed := range []string{"localhost:8082", "[::1]:8082", "10.0.0.1", "evil.example", "a.b.example.org.",
		"edge.example.org", "::1", "localhost.", "a:b@c", "EXAMPLE.org:80"} {
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
