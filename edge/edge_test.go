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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/logtest"
	"github.com/iconedge/iconedge/problem"
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
	l := newOurOrigin()
	var waiting atomic.Int64
	all := make(chan struct{})
	e := newEdgeTest(t, l)
	// Responses of an unknown release live two seconds.
	must(t, e.library.Poll())
	l.set(func() { l.hold = func(string) { <-all } }) // the origin waits for all clients
	var wg sync.WaitGroup
	var wrong, collapsed atomic.Int64
	for range manyClients {
		wg.Go(func() {
			if waiting.Add(1) == manyClients {
				close(all)
			}
			a := e.get(t, "/mdi/home.svg")
			if a.StatusCode != 200 || a.body != drawn(releaseA) {
				wrong.Add(1)
			}
			if strings.Contains(a.Header.Get("Cache-Status"), "collapsed") {
				collapsed.Add(1)
			}
		})
	}
	wg.Wait()
	if n := l.count("/mdi/home.svg"); n != 1 {
		t.Errorf("many clients made %d requests to the origin, want 1", n)
	}
	if wrong.Load() != 0 {
		t.Errorf("%d clients got another response than the SVG", wrong.Load())
	}
	t.Logf("%d collapsed, the others found it stored", collapsed.Load())
}

func TestLaterCallerOutlivesTheFirst(t *testing.T) {
	l := newOurOrigin()
	asked, open := make(chan struct{}), make(chan struct{})
	e := newEdgeTest(t, l)
	must(t, e.library.Poll())
	l.set(func() { l.hold = func(string) { close(asked); <-open } })
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
	if a := <-second; a.StatusCode != 200 || l.count("/mdi/home.svg") != 1 {
		t.Errorf("the second caller got %d after %d requests to the origin; want 200 after 1", a.StatusCode, l.count("/mdi/home.svg"))
	}
}

// A response for one client only is fetched for each client, also if they arrive together.
func TestPrivateIsNotShared(t *testing.T) {
	l := newOurOrigin()
	first, open := make(chan struct{}), make(chan struct{})
	var once sync.Once
	l.hold = func(string) { once.Do(func() { close(first); <-open }) }
	e := newEdgeTest(t, l)
	var wg sync.WaitGroup
	ask := func() {
		if a := e.get(t, "/other/private.svg"); a.body != "mine" || strings.Contains(a.Header.Get("Cache-Status"), "collapsed") {
			t.Errorf("body %q, Cache-Status %s", a.body, a.Header.Get("Cache-Status"))
		}
	}
	wg.Go(ask)
	<-first
	wg.Go(ask)
	close(open)
	wg.Wait()
	if n := l.count("/other/private.svg"); n != 2 {
		t.Errorf("two callers made %d requests, want 2", n)
	}
}

func TestOriginFailsOnceASecond(t *testing.T) {
	l := newOurOrigin()
	e := newEdgeTest(t, l)
	for i := range 20 {
		if i == 10 {
			e.ages.move(collapse.Failure)
		}
		a := e.get(t, "/broken/x.svg")
		if a.StatusCode != 502 || strings.Contains(a.body, "secret") || a.Header.Get("Retry-After") != "1" {
			t.Fatalf("%d %s", a.StatusCode, a.body)
		}
	}
	if n := l.count("/broken/x.svg"); n != 2 {
		t.Errorf("20 requests within two seconds made %d requests to a failing origin, want 2", n)
	}
}

func TestStale(t *testing.T) {
	t.Parallel()
	const key = "/mdi/home.svg"
	tests := []struct {
		name   string
		age    time.Duration
		broken bool
		code   int
		status string // of the cache begins with
	}{
		{"fresh, origin broken", time.Hour, true, 200, "iconedge; hit; ttl=82"},
		{"recently stale: served, and revalidated in the background", 25 * time.Hour, false, 200, "iconedge; hit; ttl=-36"},
		{"recently stale, origin broken", 25 * time.Hour, true, 200, "iconedge; hit; ttl=-36"},
		{"stale for too long, origin healthy: confirmed", 9 * 24 * time.Hour, false, 200, "iconedge; fwd=stale; stored; ttl=86"},
		{"stale for too long, origin broken", 9 * 24 * time.Hour, true, 502, "iconedge; fwd=stale"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newOurOrigin()
			e := newEdgeTest(t, l)
			e.library.Poll()
			e.get(t, key)
			e.age(t, key, tt.age)
			l.set(func() { l.broken = tt.broken })
			a := e.get(t, key)
			if got := a.Header.Get("Cache-Status"); a.StatusCode != tt.code || !strings.HasPrefix(got, tt.status) {
				t.Errorf("%d, Cache-Status: %s; want %d, %s…", a.StatusCode, got, tt.code, tt.status)
			}
			if tt.code == 200 && a.body != drawn(releaseA) {
				t.Errorf("body %.60q…", a.body)
			}
		})
	}
}

func TestStaleIfError(t *testing.T) {
	const key = "/x/y.svg"
	var broken atomic.Bool
	e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			w.WriteHeader(500)
			return
		}
		w.Header().Set("Cache-Control", "max-age=100, stale-if-error=1000")
		io.WriteString(w, "drawing")
	}))
	e.get(t, key)
	e.age(t, key, 500*time.Second)
	broken.Store(true)
	a := e.get(t, key)
	if got := a.Header.Get("Cache-Status"); a.StatusCode != 200 || a.body != "drawing" || !strings.HasPrefix(got, "iconedge; hit; ttl=-4") || !strings.HasSuffix(got, `; detail="the origin failed"`) {
		t.Errorf("%d %q, Cache-Status: %s", a.StatusCode, a.body, got)
	}
	e.age(t, key, 1000*time.Second)
	if a := e.get(t, key); a.StatusCode != 502 {
		t.Errorf("%d after the time of stale-if-error, want 502", a.StatusCode)
	}
}

// One request revalidates in the background, and the next client gets its response.
func TestRevalidatedInBackground(t *testing.T) {
	const key = "/mdi/home.svg"
	l := newOurOrigin()
	e := newEdgeTest(t, l)
	e.library.Poll()
	e.get(t, key)
	e.age(t, key, 25*time.Hour)
	old := e.cache.Get(key)
	open := make(chan struct{})
	l.set(func() { l.hold = func(string) { <-open } })
	for range 5 {
		if a := e.get(t, key); a.StatusCode != 200 {
			t.Fatal(a.StatusCode)
		}
	}
	fetch, began := e.cache.Join(e.ages.now(), collapse.Call{Key: key, Stale: old, Find: func() *cache.Entry { return nil }, Fetch: func() collapse.Result { return collapse.Result{} }})
	close(open)
	if l := fetch.Wait(time.Minute, nil); began || l.Err != nil || !l.Stored {
		t.Fatalf("no fetch was in flight (began %v), or it failed: %+v", began, l)
	}
	a := e.get(t, key)
	if got := a.Header.Get("Cache-Status"); !strings.HasPrefix(got, "iconedge; hit; ttl=86") || a.body != drawn(releaseA) {
		t.Errorf("Cache-Status: %s", got)
	}
	if n := l.count(key); n != 2 {
		t.Errorf("the origin got %d requests, want 2", n)
	}
}

func TestReleaseSwitch(t *testing.T) {
	l := newOurOrigin()
	e := newEdgeTest(t, l)
	must(t, e.library.Poll())
	for _, target := range []string{"/mdi/home.svg", "/mdi/account.svg", "/api/v1/packs"} {
		e.get(t, target)
	}
	l.set(func() { l.release, l.changed = releaseB, []string{"icon/mdi/home"} })
	must(t, e.library.Poll())
	tests := []struct {
		target string
		hit    bool
		body   string
	}{
		{"/mdi/home.svg", false, drawn(releaseB)},
		{"/mdi/account.svg", true, drawn(releaseA)}, // the origin says that it has not changed
		{"/api/v1/packs", false, `{"asked":"/api/v1/packs"}`},
	}
	for _, tt := range tests {
		a := e.get(t, tt.target)
		if hit := strings.Contains(a.Header.Get("Cache-Status"), "; hit;"); hit != tt.hit || a.body != tt.body {
			t.Errorf("%s after the switch: Cache-Status %s, body %.90s", tt.target, a.Header.Get("Cache-Status"), a.body)
		}
	}
}

// A response of the old release that arrives while the release changes goes to its clients, and is
// not stored.
func TestOldResponseInFlight(t *testing.T) {
	l := newOurOrigin()
	e := newEdgeTest(t, l)
	must(t, e.library.Poll())
	asked, open := make(chan struct{}), make(chan struct{})
	l.set(func() {
		l.hold = func(target string) {
			if target == "/mdi/home.svg" {
				close(asked)
				<-open
			}
		}
	})
	first := make(chan answer)
	go func() { first <- e.get(t, "/mdi/home.svg") }()
	<-asked // the origin has begun its answer from the old release
	l.set(func() { l.release, l.changed, l.hold = releaseB, []string{"icon/mdi/home"}, nil })
	must(t, e.library.Poll())
	close(open)
	if a := <-first; a.StatusCode != 200 || strings.Contains(a.Header.Get("Cache-Status"), "stored") {
		t.Errorf("%d, Cache-Status: %s; want an answer that is not stored", a.StatusCode, a.Header.Get("Cache-Status"))
	}
	if a := e.get(t, "/mdi/home.svg"); a.body != drawn(releaseB) {
		t.Errorf("after the switch the old SVG is served: %s", a.Header.Get("Cache-Status"))
	}
}

// A response of a release other than the known one is stored only briefly, because one side is
// about to learn of the newer.
func TestResponseOfUnknownRelease(t *testing.T) {
	l := newOurOrigin()
	e := newEdgeTest(t, l)
	must(t, e.library.Poll())
	l.set(func() { l.release = releaseB })
	got := e.get(t, "/mdi/home.svg").Header.Get("Cache-Status")
	after, ok := strings.CutPrefix(got, "iconedge; fwd=uri-miss; stored; ttl=")
	if ttl, err := strconv.Atoi(after); !ok || err != nil || ttl > 2 {
		t.Errorf("Cache-Status: %s; want a ttl of at most 2", got)
	}
}

// An edge that learns of a release from this edge may fetch its icons from here at once.
func TestAnnouncedReleaseIsKnown(t *testing.T) {
	l := newOurOrigin()
	e := newEdgeTest(t, l)
	must(t, e.library.Poll())
	e.get(t, "/mdi/home.svg")
	l.set(func() { l.release, l.changed = releaseB, []string{"icon/mdi/home"} })
	if a := e.get(t, "/-/release?since="+releaseA); !strings.Contains(a.body, releaseB) || a.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if a := e.get(t, "/mdi/home.svg"); a.body != drawn(releaseB) {
		t.Error("the edge reports a release that it does not serve yet")
	}
	e.ages.move(library.ReleaseLifetime)
	for range 10 {
		e.get(t, "/-/release?since="+releaseA)
	}
	// Two for the first, then one in the lifetime of a release.
	if n := l.count("/-/release?since=" + releaseA); n > 3 {
		t.Errorf("eleven requests from other edges made %d requests to the origin", n)
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
	l := newOurOrigin()
	e := newEdgeTest(t, l, func(c *Config) { c.Log = log.Logger() })
	l.set(func() { l.broken = true })
	if err := e.library.Poll(); err == nil || e.state.Reached() {
		t.Errorf("Poll = %v from an origin that fails; it counts as reached: %v", err, e.state.Reached())
	}
	if strings.Contains(log.String(), "WARN") {
		t.Errorf("a warning about an origin that has not started yet:\n%s", log.String())
	}
	l.set(func() { l.broken = false })
	must(t, e.library.Poll())
	l.set(func() { l.broken = true })
	for range 3 {
		if err := e.library.Poll(); err == nil {
			t.Fatal("Poll reports no error from a broken origin")
		}
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings about one failure, want 1:\n%s", n, log.String())
	}
	log.Reset()
	l.set(func() { l.broken = false })
	must(t, e.library.Poll())
	if !strings.Contains(log.String(), "again") {
		t.Errorf("the recovery is not logged:\n%s", log.String())
	}
}

func TestLimit(t *testing.T) {
	e := newEdgeTest(t, newOurOrigin(), func(c *Config) { must(t, c.Limits.Set("search=3/1h")) })
	for i := range 5 {
		a := e.get(t, "/api/v1/search?q=home")
		want, left := 200, []string{"2", "1", "0", "0", "0"}[i]
		if i >= 3 {
			want = 429
		}
		if a.StatusCode != want || !strings.HasPrefix(a.Header.Get("RateLimit"), `"search";r=`+left+";t=") || a.Header.Get("RateLimit-Policy") != `"search";q=3;w=3600` {
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
	e := newEdgeTest(t, newOurOrigin())
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

func TestVerify(t *testing.T) {
	log := new(logtest.Log)
	l := newOurOrigin()
	e := newEdgeTest(t, l, func(c *Config) {
		c.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	post := func(body string) answer {
		r, _ := http.NewRequest(http.MethodPost, "http://edge.test/api/v1/auth/verify", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		resp, err := e.RoundTrip(r)
		must(t, err)
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return answer{resp, string(b)}
	}
	for range 2 {
		if a := post(`{"token":"iel_good"}`); a.body != `{"valid":true}` || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Age") != "" {
			t.Errorf("%s %v", a.body, a.Header)
		}
	}
	if n := l.count(routes.VerifyPath); n != 2 {
		t.Errorf("two calls made %d requests to the origin, want 2", n)
	}
	if a := post(strings.Repeat("x", 4<<10+1)); a.StatusCode != 413 || a.Header.Get("Cache-Control") != "no-store" || !strings.Contains(a.body, `"status":413`) {
		t.Errorf("a body too large: %d %s", a.StatusCode, a.body)
	}
	l.set(func() { l.broken = true })
	if a := post(`{"token":"iel_good"}`); a.StatusCode != 502 || strings.Contains(a.body, "secret") || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the origin failed: %d %s", a.StatusCode, a.body)
	}
	if strings.Contains(log.String(), "iel_") {
		t.Errorf("a token was logged:\n%s", log.String())
	}
}

func TestHosts(t *testing.T) {
	e := newEdgeTest(t, newOurOrigin(), func(c *Config) { c.Hosts = []string{"icons.test"} })
	for host, want := range map[string]int{"icons.test": 200, "ICONS.test:8080": 200, "other.test": 421, "icons.test.evil": 421, "127.0.0.1": 421} {
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
	l := newOurOrigin()
	l.broken = true
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
	l.set(func() { l.broken = false })
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
	l.set(func() {
		l.hold = func(target string) {
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
