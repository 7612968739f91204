package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/edge/upstream/names"
)

// The origin gets the Host of the request, or that of the configuration, or its own.
func TestHostSent(t *testing.T) {
	o := serve(t, responds(ok))
	for _, row := range []struct{ configured, asked, want string }{
		{"", "", o.url().Host},
		{"inner.example", "", "inner.example"},
		{"", "shop.example:8443", "shop.example:8443"},
		{"inner.example", "shop.example", "shop.example"},
	} {
		c := o.client(t, Config{Host: row.configured})
		a, err := fetch(t.Context(), c, Request{Method: "GET", Target: "/", Host: row.asked})
		if err != nil {
			t.Fatal(err)
		}
		seen := o.requests()
		if head := seen[len(seen)-1]; !strings.Contains(head, "\r\nHost: "+row.want+"\r\n") {
			t.Errorf("configured %q, asked %q: the origin got %q, want Host %s", row.configured, row.asked, head, row.want)
		}
		if a.Host != o.url().Host {
			t.Errorf("the response is from %q, want %q", a.Host, o.url().Host)
		}
	}
}

// An origin at a Unix socket gets requests and health checks, with Host localhost.
func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "origin.sock")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Host, r.RequestURI) }))
	s.Listener.Close()
	s.Listener = ln
	s.Start()
	defer s.Close()
	c := newClient(Config{Origins: [][]*url.URL{{{Scheme: "unix", Path: path, OmitHost: true}}}})
	defer c.Close()
	a, err := fetch(t.Context(), c, get("/a?b"))
	if err != nil || a.body != "localhost/a?b" || a.Host != "unix:"+path {
		t.Errorf("%+v, %v", a, err)
	}
	if v, err := c.probe(t.Context(), c.set.all()[0]); v != success {
		t.Errorf("health check: %v, %v", v, err)
	}
	if got := c.Stats().Origins[0].URL; got != "unix:"+path {
		t.Errorf("the metrics name %q", got)
	}
}

// tlsOrigin starts an origin whose certificate is valid for example.com. It records the names that
// connections ask for.
func tlsOrigin(t *testing.T) (u *url.URL, roots func() *tls.Config, names func() []string) {
	var mu sync.Mutex
	var seen []string
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) }))
	s.TLS = &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, h.ServerName)
		return nil, nil
	}}
	s.StartTLS()
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	u, _ = url.Parse(s.URL)
	return u, func() *tls.Config { return &tls.Config{RootCAs: pool} }, func() []string { mu.Lock(); defer mu.Unlock(); return seen }
}

// A TLS connection is made and verified for the name that is sent as Host, unless SNI is set.
// Connections for different names are not shared.
func TestTLSName(t *testing.T) {
	u, roots, names := tlsOrigin(t)
	for _, row := range []struct {
		sni, host, want string // want: the name of the handshake; empty: the connection is refused
		cause           error
	}{
		{"", "example.com", "example.com", nil},
		{"", "example.com:8443", "example.com", nil},
		{"", "other.test", "", ErrResponse},
		{"example.com", "other.test", "example.com", nil},
		{"other.test", "example.com", "", ErrUnreachable},
		{"", "", "none", nil}, // an IP address is verified, and not sent
	} {
		c := newClient(Config{Origins: [][]*url.URL{{u}}, TLS: roots, SNI: row.sni})
		before := len(names())
		a, err := fetch(t.Context(), c, Request{Method: "GET", Target: "/", Host: row.host})
		if row.want == "" {
			wantProblem(t, err, http.StatusBadGateway, row.cause)
			continue
		}
		if err != nil || row.host != "" && a.body != row.host {
			t.Errorf("%+v: %+v, %v", row, a, err)
		}
		if got := names()[before]; got != row.want && (row.want != "none" || got != "") {
			t.Errorf("%+v: the handshake is for %q", row, got)
		}
		c.Close()
	}
	c := newClient(Config{Origins: [][]*url.URL{{u}}, TLS: roots})
	defer c.Close()
	if _, err := fetch(t.Context(), c, Request{Method: "GET", Target: "/", Host: "example.com"}); err != nil {
		t.Fatal(err)
	}
	if a, err := fetch(t.Context(), c, Request{Method: "GET", Target: "/", Host: "other.test"}); err == nil {
		t.Errorf("a request for another name got %q over a connection that was verified for example.com", a.body)
	}
}

// A client that asks for names without a certificate does not open the origin's circuit breaker.
func TestClientsNamesDoNotOpenTheBreaker(t *testing.T) {
	u, roots, _ := tlsOrigin(t)
	c := newClient(Config{Origins: [][]*url.URL{{u}}, TLS: roots})
	defer c.Close()
	for i := range 50 {
		fetch(t.Context(), c, Request{Method: "GET", Target: "/", Host: fmt.Sprintf("evil%d.test", i)})
	}
	if _, err := fetch(t.Context(), c, Request{Method: "GET", Target: "/", Host: "example.com"}); err != nil {
		t.Errorf("after 50 names of a hostile client: %v", err)
	}
	if s := c.Stats(); s.Origins[0].Opened != 0 || s.Origins[0].Failures != 0 || s.Open > 1 {
		t.Errorf("stats %+v", s)
	}
}

// Requests with a Key are spread by the key: one path on many hosts has many origins.
func TestKeyChoosesTheOrigin(t *testing.T) {
	n := network{}
	for _, name := range []string{"a", "b", "c"} {
		n[name] = &server{answer: responds(ok)}
	}
	c := n.client(Config{}, "a b c")
	defer c.Close()
	for i := range 60 {
		if _, err := fetch(t.Context(), c, Request{Method: "GET", Target: "/",
			Key: fmt.Sprintf("https://shop%d.example/", i)}); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range n {
		if got := len(s.requests()); got < 8 {
			t.Errorf("origin %s got %d of 60 requests for one path on many hosts", name, got)
		}
	}
}

// When an address of an origin's name goes away, requests use new connections. The old one stays
// for its request, and is closed once it has been idle for a while.
func TestAddressesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answer []netip.Addr
		var mu sync.Mutex
		answers := func(addresses ...string) {
			mu.Lock()
			defer mu.Unlock()
			answer = nil
			for _, a := range addresses {
				answer = append(answer, netip.MustParseAddr(a))
			}
		}
		lookup := func(_ context.Context, name string) ([]netip.Addr, error) {
			mu.Lock()
			defer mu.Unlock()
			if name != "origin.test" || len(answer) == 0 {
				return nil, errors.New("no such host")
			}
			return answer, nil
		}
		answers("192.0.2.1")
		n := network{"origin.test": {answer: responds(ok)}}
		dials := 0
		c := newClient(Config{Origins: [][]*url.URL{{{Scheme: "http", Host: "origin.test"}}}, Lookup: names.Resolver{Addresses: lookup}})
		c.dialWith(func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++
			return n.dial(ctx, network, address)
		})
		ctx, stop := context.WithCancel(t.Context())
		go c.Run(ctx)
		minute := func(want int, when string) {
			for range 12 { // a request each 5 s keeps a connection from being idle
				if _, err := fetch(ctx, c, get("/")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(5 * time.Second)
			}
			if dials != want || c.Stats().Open != 1 {
				t.Errorf("%s: %d connections made, %d open, want %d, 1", when, dials, c.Stats().Open, want)
			}
		}
		minute(1, "one address")
		answers("192.0.2.1", "192.0.2.2")
		minute(1, "one more address")
		answers("192.0.2.2")
		minute(2, "an address went away")
		answers()
		minute(2, "no answer") // a failed lookup changes nothing
		stop()
		c.Close()
		synctest.Wait()
	})
}

// An address is gone when it was missing for some time, not in one answer.
func TestAddresses(t *testing.T) {
	t0, a, b := time.Now(), netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	known := addresses{}
	for i, row := range []struct {
		after  time.Duration
		answer []netip.Addr
		gone   bool
	}{
		{0, []netip.Addr{a}, false}, {5, []netip.Addr{b}, false}, {10, []netip.Addr{a}, false}, {15, []netip.Addr{b}, false},
		{20, []netip.Addr{b}, false}, {25, []netip.Addr{b}, true}, {30, []netip.Addr{b}, false},
	} {
		if got := known.update(row.answer, t0.Add(row.after*time.Second)); got != row.gone {
			t.Errorf("row %d: %v, want %v", i, got, row.gone)
		}
	}
}
