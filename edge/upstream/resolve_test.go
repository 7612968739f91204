package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/edge/upstream/names"
)

// A zone is names with their addresses, and services with their servers.
type zone struct {
	mu       sync.Mutex
	names    map[string]string // addresses, separated by spaces
	services map[string][]*net.SRV
	asked    int
}

func (z *zone) set(name, addresses string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.names[name] = addresses
}

func (z *zone) lookup(_ context.Context, name string) (all []netip.Addr, err error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.asked++
	for one := range strings.FieldsSeq(z.names[name]) {
		all = append(all, netip.MustParseAddr(one))
	}
	if all == nil {
		err = errors.New("no such host")
	}
	return all, err
}

func (z *zone) lookupSRV(_ context.Context, name string) ([]*net.SRV, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.services[name] == nil {
		return nil, errors.New("no such host")
	}
	return z.services[name], nil
}

// at answers with the address at which it is.
func at(address string) *server {
	return &server{answer: responds(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(address), address))}
}

// resolved runs a test in a bubble, with a client of the URL whose origins have the addresses
// 10.0.0.1 to 10.0.0.4.
func resolved(t *testing.T, z *zone, raw string, do func(t *testing.T, n network, c *Client)) {
	synctest.Test(t, func(t *testing.T) {
		n := network{}
		for i := range 4 {
			address := fmt.Sprint("10.0.0.", i+1)
			n[address] = at(address)
		}
		n["fd00::1"] = at("fd00::1")
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		c := newClient(Config{Origins: [][]*url.URL{{u}}, Policy: "random", Health: "/up", Resolve: true,
			Lookup: names.Resolver{Addresses: z.lookup, Servers: z.lookupSRV}})
		c.dialWith(n.dial)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); c.Run(ctx) }()
		do(t, n, c)
		stop()
		<-done
		synctest.Wait()
		c.Close()
	})
}

// answered returns which addresses answer 200 requests.
func answered(t *testing.T, c *Client) string {
	t.Helper()
	by := map[string]bool{}
	for range 200 {
		a, err := fetch(t.Context(), c, Request{Method: "GET", Target: "/"})
		if err != nil {
			return "none"
		}
		by[a.body] = true
	}
	var all []string
	for _, o := range c.set.all() {
		if by[o.at.Addr().String()] {
			all = append(all, o.at.Addr().String())
		}
	}
	return strings.Join(all, " ")
}

// All addresses of a name get requests: the first request waits for the name, new addresses join
// and missing ones leave within half a minute, and one that fails its health checks is left out.
func TestResolve(t *testing.T) {
	z := &zone{names: map[string]string{"app": "10.0.0.1 10.0.0.2 fd00::1"}}
	resolved(t, z, "http://app:3000", func(t *testing.T, n network, c *Client) {
		check := func(want string) {
			t.Helper()
			if got := answered(t, c); got != want {
				t.Errorf("%s answer, want %s", got, want)
			}
		}
		check("10.0.0.1 10.0.0.2 fd00::1")
		for _, head := range n["10.0.0.1"].requests() {
			if !strings.Contains(head, "\r\nHost: app:3000\r\n") {
				t.Errorf("the origin got %q", head)
			}
		}
		z.set("app", "10.0.0.2 10.0.0.3")
		time.Sleep(names.Every + time.Second)
		check("10.0.0.1 10.0.0.2 10.0.0.3 fd00::1") // a name may return some of its addresses
		time.Sleep(names.GoneAfter)
		check("10.0.0.2 10.0.0.3")
		z.set("app", "") // a failed lookup changes nothing
		time.Sleep(time.Minute)
		check("10.0.0.2 10.0.0.3")
		n["10.0.0.3"].change(responds("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"))
		time.Sleep(10 * time.Second)
		if s := c.Stats(); len(s.Origins) != 2 || s.Origins[1].Healthy || s.Origins[1].URL != "http://10.0.0.3:3000" {
			t.Errorf("%+v", s.Origins)
		}
		for range 50 {
			if a, err := fetch(t.Context(), c, Request{Method: "GET", Target: "/"}); err != nil || a.body != "10.0.0.2" {
				t.Errorf("%v, %v", a, err)
			}
		}
		delete(n, "10.0.0.2") // goes away before DNS says so
		c.Close()
		n["10.0.0.3"] = at("10.0.0.3")
		if a, err := fetch(t.Context(), c, Request{Method: "POST", Target: "/"}); err != nil || a.body != "10.0.0.3" {
			t.Errorf("%v, %v", a, err)
		}
	})
}

// A name without an address is looked up each second, and requests fail until it has one.
func TestUnresolved(t *testing.T) {
	z := &zone{names: map[string]string{}}
	resolved(t, z, "http://app", func(t *testing.T, _ network, c *Client) {
		if _, err := fetch(t.Context(), c, Request{Method: "GET", Target: "/"}); !errors.Is(err, errNoAddress) {
			t.Error(err)
		}
		if err := c.Connect(t.Context()); !errors.Is(err, errNoAddress) {
			t.Error(err)
		}
		z.set("app", "10.0.0.1")
		time.Sleep(2 * time.Second)
		if got := answered(t, c); got != "10.0.0.1" {
			t.Error(got)
		}
	})
}

// SRV records give ports, priorities and weights.
func TestService(t *testing.T) {
	z := &zone{names: map[string]string{"a.test": "10.0.0.1", "b.test": "10.0.0.2", "c.test": "10.0.0.3"},
		services: map[string][]*net.SRV{"_app._tcp.test": {{Target: "a.test.", Port: 3000, Priority: 1, Weight: 9},
			{Target: "b.test.", Port: 3001, Priority: 1, Weight: 1}, {Target: "c.test.", Port: 3002, Priority: 2, Weight: 0}}}}
	resolved(t, z, "srv+http://_app._tcp.test", func(t *testing.T, n network, c *Client) {
		if got := answered(t, c); got != "10.0.0.1 10.0.0.2" {
			t.Error(got)
		}
		a, b := len(n["10.0.0.1"].requests()), len(n["10.0.0.2"].requests())
		if a < 3*b {
			t.Errorf("%d and %d requests for weights of 9 and 1", a, b)
		}
		if head := n["10.0.0.2"].requests()[0]; !strings.Contains(head, "\r\nHost: b.test:3001\r\n") {
			t.Errorf("the origin got %q", head)
		}
		delete(n, "10.0.0.1")
		delete(n, "10.0.0.2")
		c.Close()
		time.Sleep(10 * time.Second)
		if got := answered(t, c); got != "10.0.0.3" {
			t.Errorf("%s answers without those of the better priority", got)
		}
		z.mu.Lock()
		z.services["_app._tcp.test"] = []*net.SRV{{Target: "."}}
		z.mu.Unlock()
		time.Sleep(time.Minute)
		if got := answered(t, c); got != "10.0.0.3" {
			t.Errorf("%s after the service has gone", got)
		}
	})
}
