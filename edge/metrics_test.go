package edge

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/routes"
)

// Each request is counted once, under the route of its address.
func TestRequestsAreCountedByRoute(t *testing.T) {
	t.Parallel()
	for _, proxyAll := range []bool{false, true} {
		l := owntest.NewOrigin()
		e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/mdi/home.svg") || strings.HasPrefix(r.URL.Path, routes.APIPath) ||
				r.URL.Path == routes.ReleasePath {
				l.ServeHTTP(w, r)
			}
		}), func(c *Config) { c.ProxyAll = proxyAll })
		for _, row := range []struct{ method, target, want, forwarded string }{
			{"GET", "/mdi/home.svg", "2xx miss h1 cdn", ""},
			{"GET", "/mdi/home.gif", "4xx refused h1 cdn", "2xx miss h1 forwarded"},
			{"GET", "/api/v1/icon/mdi/home", "2xx miss h1 icon", ""},
			{"GET", "/api/v1/search?q=home", "2xx miss h1 search", ""},
			{"GET", "/api/v1/search", "4xx refused h1 search", ""},
			{"GET", "/api/v1/suggest?q=home", "2xx miss h1 suggest", ""},
			{"GET", "/api/v1/packs", "2xx miss h1 packs", ""},
			{"GET", "/api/v1/packs/mdi", "2xx miss h1 pack", ""},
			{"GET", "/api/v1/openapi.json", "2xx miss h1 openapi", ""},
			{"GET", "/api/v1/auth/verify", "4xx refused h1 verify", ""},
			{"GET", "/-/names", "4xx refused h1 names", ""},
			{"GET", "/-/release", "2xx miss h1 release", ""},
			{"GET", "/healthz", "2xx own h1 health", ""},
			{"GET", "/", "2xx miss h1 page", "2xx miss h1 forwarded"},
			{"GET", "/a/b/c", "4xx refused h1 unknown", "2xx miss h1 forwarded"},
			{"GET", "/a%20b", "4xx refused h1 unknown", "2xx miss h1 forwarded"},
			{"OPTIONS", "/mdi/home.svg", "2xx own h1 preflight", ""},
		} {
			want := row.want
			if proxyAll && row.forwarded != "" {
				want = row.forwarded
			}
			_, route, _ := strings.Cut(want, " h1 ")
			before, all, timed := e.tallied(t, want, route)
			e.do(t, row.method, row.target)
			if n, allNow, timedNow := e.tallied(t, want, route); n != before+1 || allNow != all+1 || timedNow != timed+1 {
				t.Errorf("%s %s, proxy all %v: %v requests counted as %s, %v counted in all, %v timed; want 1 of each", row.method,
					row.target, proxyAll, n-before, want, allNow-all, timedNow-timed)
			}
		}
	}
}

// tallied returns the numbers of requests with these labels, of all requests, and of the timed
// requests of the route.
func (e *edgeTest) tallied(t *testing.T, labels, route string) (n, all float64, timed uint64) {
	t.Helper()
	for of, m := range e.series(t, "requests_total") {
		if all += m.GetCounter().GetValue(); of == labels {
			n = m.GetCounter().GetValue()
		}
	}
	return n, all, e.series(t, "request_duration_seconds")[route].GetHistogram().GetSampleCount()
}

// The metrics report the release and the time when it was created, also if the edge restored the
// release from disk. They report the time of the last successful check, which a failed check does
// not change.
func TestReleaseInMetrics(t *testing.T) {
	var broken atomic.Bool
	e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
		fmt.Fprintf(w, `{"release":%q,"created":"2026-11-20T12:00:00Z","all":true,"changed":[]}`, owntest.ReleaseA)
	}))
	value := func(name, labels string) float64 { return e.series(t, name)[labels].GetGauge().GetValue() }
	if n := len(e.series(t, "release_checked_timestamp_seconds")) + len(e.series(t, "release_created_timestamp_seconds")); n != 0 {
		t.Errorf("%d timestamps are reported before the first check", n)
	}
	known := owntest.ReleaseA
	e.library.Restore(known) // as the edge does at its start
	must(t, e.library.Poll())
	checked := value("release_checked_timestamp_seconds", "")
	if at := time.UnixMilli(int64(checked * 1e3)); !at.Equal(e.ages.now()) {
		t.Errorf("the reported time of the check is %v, want %v", at, e.ages.now())
	}
	if got := value("release_created_timestamp_seconds", ""); got != 1795176000 {
		t.Errorf("the reported time of creation is %v", got)
	}
	if value("release_info", owntest.ReleaseA) != 1 {
		t.Error("the metrics do not report the release")
	}
	broken.Store(true)
	if e.library.Poll() == nil {
		t.Fatal("Poll succeeded although the origin failed")
	}
	if now := value("release_checked_timestamp_seconds", ""); now != checked {
		t.Errorf("the failed check changed the reported time from %v to %v", checked, now)
	}
}

// The metrics report the number of clients that the limits have in memory, and the maximum size of
// the cache.
func TestScrapedGauges(t *testing.T) {
	e := newEdgeTest(t, owntest.NewOrigin())
	for _, client := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.2"} {
		e.get(t, "/api/v1/search?q=home", "X-Forwarded-For", client)
	}
	e.get(t, "/api/v1/icon/mdi/home", "X-Forwarded-For", "192.0.2.1")
	for name, want := range map[string]float64{"limit_clients": 3, "cache_max_bytes": float64(e.cfg.CacheBytes)} {
		if got := e.series(t, name)[""].GetGauge().GetValue(); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}
