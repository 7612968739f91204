package own_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/cache/collapse"
	"github.com/iconedge/iconedge/edge/library"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/pipeline/pipelinetest"
	"github.com/iconedge/iconedge/edge/routes"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A response for one client only is fetched for each client, also if they arrive together.
func TestPrivateIsNotShared(t *testing.T) {
	l := owntest.NewOrigin()
	first, open := make(chan struct{}), make(chan struct{})
	var once sync.Once
	l.Hold = func(string) { once.Do(func() { close(first); <-open }) }
	e := owntest.New(t, l)
	var wg sync.WaitGroup
	ask := func() {
		if a := e.Get(t, "/other/private.svg"); a.Body != "mine" || strings.Contains(a.Header.Get("Cache-Status"), "collapsed") {
			t.Errorf("body %q, Cache-Status %s", a.Body, a.Header.Get("Cache-Status"))
		}
	}
	wg.Go(ask)
	<-first
	wg.Go(ask)
	close(open)
	wg.Wait()
	if n := l.Count("/other/private.svg"); n != 2 {
		t.Errorf("two callers made %d requests, want 2", n)
	}
}

func TestOriginFailsOnceASecond(t *testing.T) {
	l := owntest.NewOrigin()
	e := owntest.New(t, l)
	for i := range 20 {
		if i == 10 {
			e.Move(collapse.Failure)
		}
		a := e.Get(t, "/broken/x.svg")
		if a.StatusCode != 502 || strings.Contains(a.Body, "secret") || a.Header.Get("Retry-After") != "1" {
			t.Fatalf("%d %s", a.StatusCode, a.Body)
		}
	}
	if n := l.Count("/broken/x.svg"); n != 2 {
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
			l := owntest.NewOrigin()
			e := owntest.New(t, l)
			e.Library.Poll()
			e.Get(t, key)
			e.Age(t, key, tt.age)
			l.Set(func() { l.Broken = tt.broken })
			a := e.Get(t, key)
			if got := a.Header.Get("Cache-Status"); a.StatusCode != tt.code || !strings.HasPrefix(got, tt.status) {
				t.Errorf("%d, Cache-Status: %s; want %d, %s…", a.StatusCode, got, tt.code, tt.status)
			}
			if tt.code == 200 && a.Body != owntest.SVG(owntest.ReleaseA) {
				t.Errorf("body %.60q…", a.Body)
			}
		})
	}
}

func TestStaleIfError(t *testing.T) {
	const key = "/x/y.svg"
	var broken atomic.Bool
	e := owntest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			w.WriteHeader(500)
			return
		}
		w.Header().Set("Cache-Control", "max-age=100, stale-if-error=1000")
		io.WriteString(w, "drawing")
	}))
	e.Get(t, key)
	e.Age(t, key, 500*time.Second)
	broken.Store(true)
	a := e.Get(t, key)
	if got := a.Header.Get("Cache-Status"); a.StatusCode != 200 || a.Body != "drawing" ||
		!strings.HasPrefix(got, "iconedge; hit; ttl=-4") || !strings.HasSuffix(got, `; detail="the origin failed"`) {
		t.Errorf("%d %q, Cache-Status: %s", a.StatusCode, a.Body, got)
	}
	e.Age(t, key, 1000*time.Second)
	if a := e.Get(t, key); a.StatusCode != 502 {
		t.Errorf("%d after the time of stale-if-error, want 502", a.StatusCode)
	}
}

// One request revalidates in the background, and the next client gets its response.
func TestRevalidatedInBackground(t *testing.T) {
	const key = "/mdi/home.svg"
	l := owntest.NewOrigin()
	e := owntest.New(t, l)
	e.Library.Poll()
	e.Get(t, key)
	e.Age(t, key, 25*time.Hour)
	old := e.Cache.Get(key)
	open := make(chan struct{})
	l.Set(func() { l.Hold = func(string) { <-open } })
	for range 5 {
		if a := e.Get(t, key); a.StatusCode != 200 {
			t.Fatal(a.StatusCode)
		}
	}
	fetch, began := e.Cache.Join(e.Now(), collapse.Call{Key: key, Stale: old,
		Find: func() *cache.Entry { return nil }, Fetch: func() collapse.Result { return collapse.Result{} }})
	close(open)
	if l := fetch.Wait(time.Minute, nil); began || l.Err != nil || !l.Stored {
		t.Fatalf("no fetch was in flight (began %v), or it failed: %+v", began, l)
	}
	a := e.Get(t, key)
	if got := a.Header.Get("Cache-Status"); !strings.HasPrefix(got, "iconedge; hit; ttl=86") || a.Body != owntest.SVG(owntest.ReleaseA) {
		t.Errorf("Cache-Status: %s", got)
	}
	if n := l.Count(key); n != 2 {
		t.Errorf("the origin got %d requests, want 2", n)
	}
}

func TestReleaseSwitch(t *testing.T) {
	l := owntest.NewOrigin()
	e := owntest.New(t, l)
	must(t, e.Library.Poll())
	for _, target := range []string{"/mdi/home.svg", "/mdi/account.svg", "/api/v1/packs"} {
		e.Get(t, target)
	}
	l.Set(func() { l.Release, l.Changed = owntest.ReleaseB, []string{"icon/mdi/home"} })
	must(t, e.Library.Poll())
	tests := []struct {
		target string
		hit    bool
		body   string
	}{
		{"/mdi/home.svg", false, owntest.SVG(owntest.ReleaseB)},
		// The origin says that it has not changed.
		{"/mdi/account.svg", true, owntest.SVG(owntest.ReleaseA)},
		{"/api/v1/packs", false, `{"asked":"/api/v1/packs"}`},
	}
	for _, tt := range tests {
		a := e.Get(t, tt.target)
		if hit := strings.Contains(a.Header.Get("Cache-Status"), "; hit;"); hit != tt.hit || a.Body != tt.body {
			t.Errorf("%s after the switch: Cache-Status %s, body %.90s", tt.target, a.Header.Get("Cache-Status"), a.Body)
		}
	}
}

// A response of the old release that arrives while the release changes goes to its clients, and is
// not stored.
func TestOldResponseInFlight(t *testing.T) {
	l := owntest.NewOrigin()
	e := owntest.New(t, l)
	must(t, e.Library.Poll())
	asked, open := make(chan struct{}), make(chan struct{})
	l.Set(func() {
		l.Hold = func(target string) {
			if target == "/mdi/home.svg" {
				close(asked)
				<-open
			}
		}
	})
	first := make(chan pipelinetest.Answer)
	go func() { first <- e.Get(t, "/mdi/home.svg") }()
	<-asked // the origin has begun its answer from the old release
	l.Set(func() { l.Release, l.Changed, l.Hold = owntest.ReleaseB, []string{"icon/mdi/home"}, nil })
	must(t, e.Library.Poll())
	close(open)
	if a := <-first; a.StatusCode != 200 || strings.Contains(a.Header.Get("Cache-Status"), "stored") {
		t.Errorf("%d, Cache-Status: %s; want an answer that is not stored", a.StatusCode, a.Header.Get("Cache-Status"))
	}
	if a := e.Get(t, "/mdi/home.svg"); a.Body != owntest.SVG(owntest.ReleaseB) {
		t.Errorf("after the switch the old SVG is served: %s", a.Header.Get("Cache-Status"))
	}
}

// A response of a release other than the known one is stored only briefly, because one side is
// about to learn of the newer.
func TestResponseOfUnknownRelease(t *testing.T) {
	l := owntest.NewOrigin()
	e := owntest.New(t, l)
	must(t, e.Library.Poll())
	l.Set(func() { l.Release = owntest.ReleaseB })
	got := e.Get(t, "/mdi/home.svg").Header.Get("Cache-Status")
	after, ok := strings.CutPrefix(got, "iconedge; fwd=uri-miss; stored; ttl=")
	if ttl, err := strconv.Atoi(after); !ok || err != nil || ttl > 2 {
		t.Errorf("Cache-Status: %s; want a ttl of at most 2", got)
	}
}

// An edge that learns of a release from this edge may fetch its icons from here at once.
func TestAnnouncedReleaseIsKnown(t *testing.T) {
	l := owntest.NewOrigin()
	e := owntest.New(t, l)
	must(t, e.Library.Poll())
	e.Get(t, "/mdi/home.svg")
	l.Set(func() { l.Release, l.Changed = owntest.ReleaseB, []string{"icon/mdi/home"} })
	a := e.Get(t, "/-/release?since="+owntest.ReleaseA)
	if !strings.Contains(a.Body, owntest.ReleaseB) || a.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", a.StatusCode, a.Body)
	}
	if a := e.Get(t, "/mdi/home.svg"); a.Body != owntest.SVG(owntest.ReleaseB) {
		t.Error("the edge reports a release that it does not serve yet")
	}
	e.Move(library.ReleaseLifetime)
	for range 10 {
		e.Get(t, "/-/release?since="+owntest.ReleaseA)
	}
	// Two for the first, then one in the lifetime of a release.
	if n := l.Count("/-/release?since=" + owntest.ReleaseA); n > 3 {
		t.Errorf("eleven requests from other edges made %d requests to the origin", n)
	}
}

func TestVerify(t *testing.T) {
	l := owntest.NewOrigin()
	e := owntest.New(t, l)
	post := func(body string) pipelinetest.Answer {
		return e.Send(t, pipelinetest.Message{Method: http.MethodPost, URL: routes.VerifyPath, Body: body,
			Fields: []string{"Content-Type", "application/json"}})
	}
	for range 2 {
		if a := post(`{"token":"iel_good"}`); a.Body != `{"valid":true}` ||
			a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Age") != "" {
			t.Errorf("%s %v", a.Body, a.Header)
		}
	}
	if n := l.Count(routes.VerifyPath); n != 2 {
		t.Errorf("two calls made %d requests to the origin, want 2", n)
	}
	if a := post(strings.Repeat("x", 4<<10+1)); a.StatusCode != 413 || a.Header.Get("Cache-Control") != "no-store" ||
		!strings.Contains(a.Body, `"status":413`) {
		t.Errorf("a body too large: %d %s", a.StatusCode, a.Body)
	}
	l.Set(func() { l.Broken = true })
	if a := post(`{"token":"iel_good"}`); a.StatusCode != 502 || strings.Contains(a.Body, "secret") ||
		a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the origin failed: %d %s", a.StatusCode, a.Body)
	}
	if strings.Contains(e.Logged.String(), "iel_") {
		t.Errorf("a token was logged:\n%s", e.Logged)
	}
}

// The edge colours icons of our own origin, whose entries have no colour. An origin of other
// software colours its icons itself, so the edge stores a response for each colour.
func TestColour(t *testing.T) {
	l := owntest.NewOrigin()
	e := owntest.New(t, l)
	must(t, e.Library.Poll())
	for color, canonical := range map[string]string{"f00": "#ff0000", "00f": "#0000ff"} {
		want := strings.ReplaceAll(owntest.SVG(owntest.ReleaseA), "currentColor", canonical)
		if a := e.Get(t, "/mdi/home.svg?color="+color); a.StatusCode != 200 || a.Body != want {
			t.Errorf("%s: %d %.200s", color, a.StatusCode, a.Body)
		}
		if a := e.Get(t, "/other/dot.svg?color="+color); a.Body != "<svg>"+canonical+"</svg>" {
			t.Errorf("%s, by the origin: %d %.200s", color, a.StatusCode, a.Body)
		}
	}
	if n := l.Count("/mdi/home.svg"); n != 1 {
		t.Errorf("two colours of one icon made %d requests, want 1", n)
	}
}

// The health check is alive without an origin, and no cache stores it.
func TestHealth(t *testing.T) {
	e := owntest.New(t, http.NotFoundHandler())
	if a := e.Get(t, routes.HealthPath); a.StatusCode != 200 || a.Body != "ok\n" || a.Header.Get("Cache-Control") != "no-store" ||
		a.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%d %q %v", a.StatusCode, a.Body, a.Header)
	}
}
