package edge

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/logtest"
	"github.com/iconedge/iconedge/internal/problem"
	"github.com/iconedge/iconedge/internal/tier"
)

// An emptyOrigin is an origin of ours without a release, until filled is set.
type emptyOrigin struct {
	*owntest.Origin
	filled atomic.Bool
}

func (o *emptyOrigin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if o.filled.Load() {
		o.Origin.ServeHTTP(w, r)
		return
	}
	w.Header().Set(icon.FieldReady, "?0")
	if r.URL.Path == routes.OpenAPIPath || r.URL.Path == routes.VerifyPath { // need no release
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte("{}"))
		return
	}
	problem.New(503, "secret: the operator publishes").With("Retry-After", "3600").Write(w)
}

// notReady checks that a response says that there is no release yet, and repeats nothing of the
// origin's response.
func notReady(t *testing.T, a answer) {
	t.Helper()
	if a.StatusCode != 503 || a.Header.Get("Content-Type") != problem.ContentType ||
		a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("Retry-After") != "5" ||
		!strings.Contains(a.body, "not ready") || strings.Contains(a.body, "secret") || a.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%d %v %s, want a 503: not ready", a.StatusCode, a.Header, a.body)
	}
}

// If an origin of ours has no release, the edge answers 503, not ready. Any other failure of an
// origin is a 502.
func TestOriginWithoutRelease(t *testing.T) {
	o := &emptyOrigin{Origin: owntest.NewOrigin()}
	e := newEdgeTest(t, o)
	for _, target := range []string{"/mdi/home.svg", "/api/v1/search?q=home", "/api/v1/icon/mdi/home", "/api/v1/packs", "/-/release"} {
		a := e.get(t, target)
		if notReady(t, a); a.Header.Get(icon.FieldReady) != "" {
			t.Errorf("%s: a field between edge and origin reaches the client: %v", target, a.Header)
		}
	}
	if a := e.get(t, routes.OpenAPIPath); a.StatusCode != 200 || a.Header.Get(icon.FieldReady) != "" || e.state.Reached() {
		t.Errorf("%s: %d %v; the edge is ready: %v", routes.OpenAPIPath, a.StatusCode, a.Header, e.state.Reached())
	}
	foreign := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }))
	if a := foreign.get(t, "/mdi/home.svg"); a.StatusCode != 502 || a.Header.Get("Retry-After") != "1" {
		t.Errorf("a 503 of a foreign origin: %d %v", a.StatusCode, a.Header)
	}
}

// An origin that still copies its first release from the store is no reason for a warning, unless
// that takes more than a minute.
func TestNoWarningWhileTheOriginStarts(t *testing.T) {
	log := new(logtest.Log)
	e := newEdgeTest(t, &emptyOrigin{Origin: owntest.NewOrigin()}, func(c *Config) { c.Log = log.Logger() })
	for _, tt := range []struct {
		waited   time.Duration
		warnings int
	}{{0, 0}, {30 * time.Second, 0}, {2 * time.Minute, 1}} {
		e.library.Poll()
		e.library.Since = time.Now().Add(-tt.waited)
		e.library.Poll()
		if got := strings.Count(log.String(), "level=WARN"); got != tt.warnings {
			t.Errorf("after %s: %d warnings, want %d:\n%s", tt.waited, got, tt.warnings, log)
		}
	}
}

// If there is no release, a stored response is served where stale-if-error allows it (RFC 5861,
// section 4). Otherwise the client gets the 503.
func TestStaleWithoutRelease(t *testing.T) {
	o := &emptyOrigin{Origin: owntest.NewOrigin()}
	o.filled.Store(true)
	e := newEdgeTest(t, o)
	e.get(t, "/mdi/home.svg")
	e.get(t, "/other/dot.svg") // without stale-if-error
	o.filled.Store(false)
	e.cache.Purge(cache.Purge{Keys: []string{"/mdi/home.svg", "/other/dot.svg"}, Soft: true}, e.ages.now())
	notReady(t, e.get(t, "/other/dot.svg"))
	if a := e.get(t, "/mdi/home.svg"); a.StatusCode != 200 {
		t.Errorf("%d %s", a.StatusCode, a.body)
	}
}

// A shield tells authenticated edges that there is no release. All tiers are ready once there is
// one.
func TestTiersWithoutRelease(t *testing.T) {
	t.Parallel()
	o := &emptyOrigin{Origin: owntest.NewOrigin()}
	shield := runNode(t, before(t, serveOrigin(t, o)))
	edge := runNode(t, before(t, shield.url()), func(c *Config) { c.Publish = "publish --like this" })
	settled(t, "a response through both tiers", func() bool { return call(t, edge.url()+"/mdi/home.svg").StatusCode == 503 })
	for _, row := range []struct{ url, proof, ready string }{
		{edge.url(), "", ""}, {shield.url(), "", ""}, {shield.url(), tierSecret, "?0"},
	} {
		a := call(t, row.url+"/mdi/account.svg", tier.Field, row.proof)
		if notReady(t, a); a.Header.Get(icon.FieldReady) != row.ready {
			t.Errorf("with proof %q: the field is %q, want %q", row.proof, a.Header.Get(icon.FieldReady), row.ready)
		}
	}
	for n, how := range map[*node]string{shield: "iconedge publish", edge: "publish --like this"} {
		if a := call(t, "http://"+n.admin+"/readyz"); a.StatusCode != 503 ||
			!strings.Contains(a.body, "no release yet") || !strings.Contains(a.body, how) {
			t.Errorf("/readyz: %d %s, want %q", a.StatusCode, a.body, how)
		}
	}
	o.filled.Store(true)
	for _, n := range []*node{shield, edge} {
		settled(t, "the edge is ready", func() bool { return call(t, "http://"+n.admin+"/readyz").StatusCode == 200 })
	}
	settled(t, "the icon is served", func() bool { return call(t, edge.url()+"/mdi/home.svg").StatusCode == 200 })
}
