package edge

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/internal/logtest"
	"github.com/iconedge/iconedge/internal/problem"
)

// stored returns the entry of a target, on the edge's own routes or on forwarded paths of
// edge.test; nil, if there is none.
func (e *edgeTest) stored(target string) *cache.Entry {
	for _, site := range []string{"", "http://edge.test", "https://edge.test"} {
		if found := e.cache.Get(site + target); found != nil {
			return found
		}
	}
	return nil
}

// age makes the stored response of a key look as if it had arrived that long ago.
func (e *edgeTest) age(t *testing.T, key string, by time.Duration) {
	t.Helper()
	old := e.stored(key)
	if old == nil {
		t.Fatalf("nothing is stored under %s", key)
	}
	n := old.CopyConfirmed()
	n.Policy.Stored = n.Policy.Stored.Add(-by)
	if !e.cache.Put(n, e.cache.Generation()) {
		t.Fatalf("%s was not stored", key)
	}
}

func TestManyClientsOneRequest(t *testing.T) {
	t.Parallel()
	l := owntest.NewOrigin()
	var waiting atomic.Int64
	all := make(chan struct{})
	e := newEdgeTest(t, l)
	// Responses of an unknown release live two seconds.
	must(t, e.library.Poll())
	l.Set(func() { l.Hold = func(string) { <-all } }) // the origin waits for all clients
	var wg sync.WaitGroup
	var wrong, collapsed atomic.Int64
	for range manyClients {
		wg.Go(func() {
			if waiting.Add(1) == manyClients {
				close(all)
			}
			a := e.get(t, "/mdi/home.svg")
			if a.StatusCode != 200 || a.body != owntest.SVG(owntest.ReleaseA) {
				wrong.Add(1)
			}
			if strings.Contains(a.Header.Get("Cache-Status"), "collapsed") {
				collapsed.Add(1)
			}
		})
	}
	wg.Wait()
	if n := l.Count("/mdi/home.svg"); n != 1 {
		t.Errorf("many clients made %d requests to the origin, want 1", n)
	}
	if wrong.Load() != 0 {
		t.Errorf("%d clients got another response than the SVG", wrong.Load())
	}
	t.Logf("%d collapsed, the others found it stored", collapsed.Load())
}

func TestLaterCallerOutlivesTheFirst(t *testing.T) {
	l := owntest.NewOrigin()
	asked, open := make(chan struct{}), make(chan struct{})
	e := newEdgeTest(t, l)
	must(t, e.library.Poll())
	l.Set(func() { l.Hold = func(string) { close(asked); <-open } })
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://edge.test/mdi/home.svg", nil)
		if resp, err := e.RoundTrip(r); err == nil {
			resp.Body.Close()
		}
	}()
	<-asked
	leave()
	<-gone
	second := make(chan answer)
	go func() { second <- e.get(t, "/mdi/home.svg") }()
	close(open)
	if a := <-second; a.StatusCode != 200 || l.Count("/mdi/home.svg") != 1 {
		t.Errorf("the second caller got %d after %d requests to the origin; want 200 after 1", a.StatusCode, l.Count("/mdi/home.svg"))
	}
}

func TestOriginWithoutReleases(t *testing.T) {
	e := newEdgeTest(t, http.NotFoundHandler())
	if err := e.library.Poll(); !errors.Is(err, library.ErrNoReleases) {
		t.Errorf("Poll = %v, want ErrNoReleases", err)
	}
	if !e.state.Reached() {
		t.Error("an origin that answers 404 has been reached")
	}
}

func TestWatchLogsTroubleOnce(t *testing.T) {
	log := new(logtest.Log)
	l := owntest.NewOrigin()
	e := newEdgeTest(t, l, func(c *Config) { c.Log = log.Logger() })
	l.Set(func() { l.Broken = true })
	if err := e.library.Poll(); err == nil || e.state.Reached() {
		t.Errorf("Poll = %v from an origin that fails; it counts as reached: %v", err, e.state.Reached())
	}
	if strings.Contains(log.String(), "WARN") {
		t.Errorf("a warning about an origin that has not started yet:\n%s", log.String())
	}
	l.Set(func() { l.Broken = false })
	must(t, e.library.Poll())
	l.Set(func() { l.Broken = true })
	for range 3 {
		if err := e.library.Poll(); err == nil {
			t.Fatal("Poll reports no error from a broken origin")
		}
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings about one failure, want 1:\n%s", n, log.String())
	}
	log.Reset()
	l.Set(func() { l.Broken = false })
	must(t, e.library.Poll())
	if !strings.Contains(log.String(), "again") {
		t.Errorf("the recovery is not logged:\n%s", log.String())
	}
}

func TestLimit(t *testing.T) {
	e := newEdgeTest(t, owntest.NewOrigin(), func(c *Config) { must(t, c.Limits.Set("search=3/1h")) })
	for i := range 5 {
		a := e.get(t, "/api/v1/search?q=home")
		want, left := 200, []string{"2", "1", "0", "0", "0"}[i]
		if i >= 3 {
			want = 429
		}
		if a.StatusCode != want || !strings.HasPrefix(a.Header.Get("RateLimit"), `"search";r=`+left+";t=") ||
			a.Header.Get("RateLimit-Policy") != `"search";q=3;w=3600` {
			t.Errorf("request %d: %d, RateLimit %s", i, a.StatusCode, a.Header.Get("RateLimit"))
		}
		if want == 429 {
			var p problem.Problem
			if err := json.Unmarshal([]byte(a.body), &p); err != nil || p.Status != 429 || a.Header.Get("Cache-Control") != "no-store" ||
				a.Header.Get("Retry-After") == "" || a.Header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("refused with %v %s", a.Header, a.body)
			}
		}
	}
	if a := e.do(t, http.MethodOptions, "/api/v1/search?q=home"); a.StatusCode != 204 {
		t.Errorf("a preflight of a client over its limit: %d", a.StatusCode)
	}
	if a := e.get(t, "/api/v1/packs"); a.StatusCode != 200 {
		t.Errorf("another class: %d", a.StatusCode)
	}
}

func TestPreflight(t *testing.T) {
	e := newEdgeTest(t, owntest.NewOrigin())
	for _, target := range []string{"/mdi/home.svg", "/api/v1/search", "/api/v1/auth/verify", "/nowhere"} {
		a := e.do(t, http.MethodOptions, target, "Origin", "https://app.test", "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization, content-type")
		h := a.Header
		if a.StatusCode != 204 || h.Get("Access-Control-Max-Age") != "86400" || h.Get("Access-Control-Allow-Origin") != "*" ||
			h.Get("Content-Length") != "" || h.Get("RateLimit") != "" || a.body != "" {
			t.Errorf("%s: %d %v", target, a.StatusCode, h)
		}
		for _, name := range []string{"Authorization", "Content-Type", "If-None-Match", "If-Modified-Since", "Range"} {
			if !strings.Contains(h.Get("Access-Control-Allow-Headers"), name) {
				t.Errorf("%s: %s is not allowed", target, name)
			}
		}
	}
	if a := e.do(t, http.MethodOptions, "/mdi/home.svg"); a.Header.Get("Allow") != "GET, HEAD, OPTIONS" {
		t.Errorf("Allow: %s", a.Header.Get("Allow"))
	}
	if a := e.do(t, http.MethodOptions, "/nowhere"); a.StatusCode != 404 {
		t.Errorf("OPTIONS of an unknown path that is no preflight: %d", a.StatusCode)
	}
}

func TestHosts(t *testing.T) {
	e := newEdgeTest(t, owntest.NewOrigin(), func(c *Config) { c.Hosts = []string{"icons.test"} })
	for host, want := range map[string]int{"icons.test": 200, "ICONS.test:8080": 200, "other.test": 421,
		"icons.test.evil": 421, "127.0.0.1": 421} {
		r, _ := http.NewRequest(http.MethodGet, "http://"+host+"/mdi/home.svg", nil)
		resp, err := e.RoundTrip(r)
		must(t, err)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("Host: %s: %d, want %d", host, resp.StatusCode, want)
		}
	}
	r, _ := http.NewRequest(http.MethodGet, "http://127.0.0.1/healthz", nil)
	if resp, err := e.RoundTrip(r); err != nil || resp.StatusCode != 200 {
		t.Errorf("a health check by address: %v, %v", resp, err)
	}
}

// The test runs a whole edge: its listeners, readiness, metrics, and shutdown.
func TestRun(t *testing.T) {
	l := owntest.NewOrigin()
	l.Broken = true
	origin := httptest.NewServer(l)
	defer origin.Close()
	var cfg Config
	cfg.Flags(flag.NewFlagSet("", flag.PanicOnError))
	cfg.Loop = testLoop
	must(t, cfg.Origins.Set(origin.URL))
	cfg.Log, cfg.Version = slog.New(slog.DiscardHandler), "v1.2.3"
	public, admin := listenTest(t), listenTest(t)
	cfg.Listener, cfg.AdminListener = public, admin
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- Run(ctx, cfg) }()
	adminURL, publicURL := "http://"+admin.Addr().String(), "http://"+public.Addr().String()

	code := func(url string) (int, string) {
		resp, err := http.Get(url)
		must(t, err)
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	if c, _ := code(adminURL + "/readyz"); c != 503 {
		t.Errorf("/readyz with a broken origin: %d", c)
	}
	l.Set(func() { l.Broken = false })
	if c, _ := code(publicURL + "/mdi/home.svg"); c != 200 {
		t.Errorf("/mdi/home.svg: %d", c)
	}
	if c, _ := code(adminURL + "/readyz"); c != 200 {
		t.Errorf("/readyz after a response from the origin: %d", c)
	}
	if c, _ := code(publicURL + "/metrics"); c != 404 {
		t.Errorf("the public listener has metrics: %d", c)
	}
	if c, body := code(adminURL + "/nothing"); c != 404 || !strings.Contains(body, `"status":404`) {
		t.Errorf("/nothing of the admin listener: %d %s, want a problem", c, body)
	}
	_, metrics := code(adminURL + "/metrics")
	for _, want := range []string{
		`iconedge_edge_requests_total{code="2xx",outcome="miss",protocol="h1",route="cdn"} 1`,
		`iconedge_edge_build_info{go="` + runtime.Version() + `",version="v1.2.3"} 1`, "iconedge_edge_ready 1",
		`iconedge_edge_limit_decisions_total{class="search",decision="refused"} 0`,
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("/metrics has no line %s", want)
		}
	}

	// A request in flight is answered while the edge drains.
	asked, open := make(chan struct{}), make(chan struct{})
	l.Set(func() {
		l.Hold = func(target string) {
			if target == "/mdi/account.svg" {
				close(asked)
				<-open
			}
		}
	})
	last := make(chan int)
	go func() {
		c, _ := code(publicURL + "/mdi/account.svg")
		last <- c
	}()
	<-asked
	stop()
	for c := 0; c != 503; c, _ = code(adminURL + "/readyz") {
	}
	close(open)
	if c := <-last; c != 200 {
		t.Errorf("the request in flight: %d", c)
	}
	if err := <-done; err != nil {
		t.Errorf("Run = %v", err)
	}
	public.(*net.TCPListener).SetDeadline(time.Now())
	if _, err := public.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the public listener is open after the end: %v", err)
	}
}

func listenTest(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	return ln
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
