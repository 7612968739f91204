package edge

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/internal/admin"
)

func (e *edgeTest) purge(t *testing.T, body string, fields ...string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://localhost/purge", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	w := httptest.NewRecorder()
	e.newAdmin(&admin.Access{}).Handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestPurge(t *testing.T) {
	t.Parallel()
	all := []string{"/mdi/home.svg", "/mdi/account.svg", "/mdi/home.svg?size=48", "/fc/apple.svg", "/api/v1/search?q=home", "/page"}
	for _, row := range []struct {
		name, body string
		purged     int
		gone       string
	}{
		{"an address", `{"urls":["/mdi/home.svg"]}`, 1, "/mdi/home.svg"},
		{"an address with its host, as a client might spell it", `{"urls":["https://cdn.test/mdi/home.svg?v=1"]}`, 1, "/mdi/home.svg"},
		{"the address of a search", `{"urls":["/api/v1/search?limit=20&q=%20home"]}`, 1, "/api/v1/search?q=home"},
		{"a forwarded address", `{"urls":["/page","/nothing"]}`, 1, "/page"},
		{"a prefix", `{"prefixes":["/mdi/"]}`, 3, "/mdi/home.svg /mdi/account.svg /mdi/home.svg?size=48"},
		{"a pack", `{"surrogate_keys":["pack/mdi"]}`, 3, "/mdi/home.svg /mdi/account.svg /mdi/home.svg?size=48"},
		{"an icon", `{"surrogate_keys":["icon/mdi/home"]}`, 2, "/mdi/home.svg /mdi/home.svg?size=48"},
		{"each entry once", `{"surrogate_keys":["icon/mdi/home","pack/mdi"],"urls":["/mdi/home.svg"]}`, 3,
			"/mdi/home.svg /mdi/account.svg /mdi/home.svg?size=48"},
		{"an absent key", `{"surrogate_keys":["pack/none"]}`, 0, ""},
	} {
		for _, soft := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, soft %v", row.name, soft), func(t *testing.T) {
				l := owntest.NewOrigin()
				// The test's page sets a cookie.
				e := newEdgeTest(t, l, func(c *Config) { c.ProxyAll, c.StoreCookies = true, true })
				must(t, e.library.Poll())
				for _, target := range append(all, all...) { // twice, to store variants
					e.get(t, target)
				}
				body, status := row.body, "fwd=uri-miss"
				if soft {
					body = strings.TrimSuffix(body, "}") + `,"soft":true}`
					status = "hit; ttl=-1" // served stale while it is revalidated
				}
				if code, got := e.purge(t, body); code != 200 || got != fmt.Sprintf("{\"purged\":%d}\n", row.purged) {
					t.Fatalf("%d %s, want %d purged", code, got, row.purged)
				}
				e.ages.move(time.Second)
				for _, target := range all {
					want := "hit; ttl="
					if gone := strings.Fields(row.gone); slices.Contains(gone, target) && (!soft || target != "/page") {
						want = status
					} else if slices.Contains(gone, target) {
						want = "fwd=stale" // it has no stale-while-revalidate
					}
					if got := e.get(t, target).Header.Get("Cache-Status"); !strings.Contains(got, want) {
						t.Errorf("%s: %s, want %s", target, got, want)
					}
				}
			})
		}
	}
}

// A request after a purge does not get a response that was being fetched before the purge. That
// response may be older than the purge, and a cache below would store it. All requests after the
// purge still share one fetch.
func TestPurgedInFlight(t *testing.T) {
	t.Parallel()
	const later = 20
	for name, row := range map[string]struct{ target, purge, key string }{
		"an address":                 {"/mdi/home.svg", `{"urls":["/mdi/home.svg"]}`, ""},
		"a prefix":                   {"/mdi/home.svg", `{"prefixes":["/mdi/"]}`, ""},
		"a surrogate key":            {"/mdi/home.svg", `{"surrogate_keys":["icon/mdi/home"]}`, "icon/mdi/home"},
		"a forwarded address":        {"/page", `{"urls":["/page"]}`, ""},
		"a forwarded address by key": {"/page", `{"surrogate_keys":["a"]}`, "b a"},
	} {
		t.Run(name, func(t *testing.T) {
			var fetches atomic.Int64
			hold := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
			e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := fetches.Add(1)
				<-hold[min(n, 2)-1]
				w.Header().Set("Cache-Control", "max-age=1000")
				w.Header().Set("Surrogate-Key", row.key)
				w.Header().Set("Content-Type", "image/svg+xml")
				fmt.Fprintf(w, "<svg xmlns='http://www.w3.org/2000/svg'><!-- %d --></svg>", n)
			}), func(c *Config) { c.ProxyAll = true })
			var all sync.WaitGroup
			ask := func(want string) {
				all.Go(func() {
					if a := e.get(t, row.target); a.StatusCode != http.StatusOK || !strings.Contains(a.body, want) {
						t.Errorf("%d %s, want %s", a.StatusCode, a.body, want)
					}
				})
			}
			ask("<!-- 1 -->")
			settled(t, "the first fetch has begun", func() bool { return fetches.Load() == 1 })
			e.purge(t, row.purge)
			for range later {
				ask("<!-- 2 -->")
			}
			// A purge by key concerns the first fetch only when its response shows the key.
			settled(t, "all requests wait", func() bool {
				return e.cache.Callers() >= later &&
					(row.key == "" || e.cache.Callers() > later)
			})
			close(hold[0])
			settled(t, "the second fetch has begun", func() bool { return fetches.Load() == 2 && e.cache.Callers() >= later })
			close(hold[1])
			all.Wait()
			if n := fetches.Load(); n != 2 {
				t.Errorf("%d requests to the origin, want 2", n)
			}
		})
	}
}
