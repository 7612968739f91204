package metrics

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/fleet/fleettest"
	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/test/harness"
)

// A watchedFleet is an origin, a shield and two edges in two regions, which share a Redis.
type watchedFleet struct {
	t             *testing.T
	home          string
	redis         *fleettest.Server
	originAddress string
	originArgs    []string
	origin        *harness.Server
	shield, eu    *harness.Server
	us            *harness.Server
	client        *http.Client // its address is 127.0.0.1
	denied        *http.Client // its address is on the deny list
}

// startWatchedFleet starts a fleet with the flags that some metrics need to appear.
func startWatchedFleet(t *testing.T) *watchedFleet {
	t.Helper()
	f := &watchedFleet{t: t, home: t.TempDir(), redis: fleettest.Start(t), originAddress: harness.FreeAddress(t)}
	harness.Must(t, f.home, "publish", harness.Library(t, "M0 0h8v8z"))
	secret, deny := harness.TextFile(t, harness.TierSecret), harness.TextFile(t, "127.0.0.2\n")
	lasting := certstest.Hour("edge", "127.0.0.1")
	lasting.Ends = lasting.Begins.Add(90 * 24 * time.Hour) // no alert about its end
	cert, key := certstest.PairDuring(t, f.home, "edge", lasting)
	collector := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(collector.Close)
	f.originArgs = []string{"origin", "--listen", f.originAddress, "--admin-listen", harness.FreeAddress(t), "--tier-secret-file", secret,
		"--cache-control", "public, max-age=1, stale-while-revalidate=600, stale-if-error=600"}
	f.origin = harness.Start(t, f.home, f.originArgs...).Ready()
	edge := func(args ...string) *harness.Server {
		return harness.Start(t, f.home, append([]string{"edge", "--listen", "127.0.0.1:0", "--admin-listen",
			"127.0.0.1:0", "--redis", f.redis.URL, "--tier-secret-file", secret}, args...)...)
	}
	f.shield = edge("--region", "core", "--origin", "http://"+f.originAddress).Ready()
	own := []string{"--origin", "http://" + f.shield.Address("public"), "--origin", "http://" + f.originAddress,
		"--limit", "search=3/1m", "--deny-file", deny}
	f.eu = edge(append(own, "--config", configFile(t, f.shield.Address("public")), "--region", "eu", "--tls-listen",
		"127.0.0.1:0", "--tls-cert", cert, "--tls-key", key, "--cache-dir", filepath.Join(f.home, "cache"),
		"--access-log", filepath.Join(f.home, "access.log"), "--trace-endpoint", collector.URL, "--trace-sample", "1")...)
	f.us = edge(append(own, "--region", "us")...).Ready()
	f.eu.Ready()
	f.client, f.denied = clientFrom("127.0.0.1"), clientFrom("127.0.0.2")
	return f
}

// configFile writes a configuration file with one site, whose origin is at an address.
func configFile(t *testing.T, origin string) string {
	t.Helper()
	return harness.TextFile(t,
		"version: 1\nsites:\n  - {name: icons, hosts: [\"*\"], icons: true, origins: {icons: {urls: [\"http://"+origin+"\"]}}}\n")
}

// clientFrom returns a client with its own loopback address. It trusts every certificate.
func clientFrom(address string) *http.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
}

// startTraffic simulates users until the test ends.
func (f *watchedFleet) startTraffic() {
	ctx, cancel := context.WithCancel(f.t.Context())
	var under sync.WaitGroup
	under.Go(func() { f.traffic(ctx) })
	f.t.Cleanup(func() {
		cancel()
		under.Wait()
	})
}

// traffic sends users' requests until ctx ends: hits and misses, unknown names, and more searches
// than the limit allows. It ignores the responses.
func (f *watchedFleet) traffic(ctx context.Context) {
	var round sync.WaitGroup
	for n := 0; ctx.Err() == nil; n++ {
		for _, base := range []string{"http://" + f.eu.Address("public"), "https://" + f.eu.Address("tls"),
			"http://" + f.us.Address("public")} {
			for _, path := range []string{"/demo/arrow.svg", "/demo/dot.svg?color=red",
				fmt.Sprintf("/demo/arrow.svg?size=%d", 1+n%4096), "/demo/nothing.svg", "/api/v1/search?q=dot",
				"/api/v1/icon/demo/dot", "/api/v1/packs", "/api/v1/suggest?q=do", "/nowhere/at/all", "/"} {
				round.Go(func() { visit(ctx, f.client, base+path) })
			}
		}
		round.Go(func() { visit(ctx, f.denied, "http://"+f.us.Address("public")+"/demo/dot.svg") })
		round.Go(func() { f.verify(ctx) })
		round.Wait()
	}
}

// visit sends one request and reads its response.
func visit(ctx context.Context, client *http.Client, url string) {
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return
	}
	drain(client.Do(req))
}

// verify sends a request about a licence token, whose response is never cached.
func (f *watchedFleet) verify(ctx context.Context) {
	req, err := http.NewRequestWithContext(ctx, "POST", "http://"+f.us.Address("public")+"/api/v1/auth/verify",
		strings.NewReader(`{"token":"x"}`))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	drain(f.client.Do(req))
}

// drain reads and closes a response, if there is one.
func drain(resp *http.Response, err error) {
	if err == nil {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

// purge makes an edge purge an icon.
func (f *watchedFleet) purge(edge *harness.Server) {
	f.t.Helper()
	resp, err := http.Post("http://"+edge.Address("admin")+"/purge", "application/json", strings.NewReader(`{"urls":["/demo/dot.svg"]}`))
	if err != nil {
		f.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		f.t.Errorf("a purge: %d", resp.StatusCode)
	}
}

// publish publishes a new release, with d as the path data of an icon.
func (f *watchedFleet) publish(d string) {
	harness.Must(f.t, f.home, "publish", harness.Library(f.t, d))
}
