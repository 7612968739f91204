package edge

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/icon"
)

// A 404 counts as proof that an icon does not exist only if it comes from the same software as
// before: our origin names its release, and a page of other software in its place does not.
func TestNotFoundBySameSoftware(t *testing.T) {
	t.Parallel()
	const key = "/mdi/home.svg"
	for _, row := range []struct {
		name          string
		before, after string // release that the origin names
		gone          bool
	}{
		{"our origin, same release", owntest.ReleaseA, owntest.ReleaseA, true},
		{"our origin, another release", owntest.ReleaseA, owntest.ReleaseB, true},
		{"other software in its place", owntest.ReleaseA, "", false},
		{"an origin without releases", "", "", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			var requests atomic.Int64
			e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				status, release := http.StatusOK, row.before
				if requests.Add(1) > 1 {
					status, release = http.StatusNotFound, row.after
				}
				w.Header().Set("Cache-Control", owntest.IconLife)
				if release != "" {
					w.Header().Set(icon.FieldRelease, release)
				}
				w.WriteHeader(status)
			}))
			e.get(t, key)
			e.age(t, key, 25*time.Hour)
			e.get(t, key) // a stale response, which the edge revalidates in the background
			settled(t, "the revalidation ends", func() bool { return requests.Load() == 2 && e.cache.Callers() == 0 })
			if !row.gone {
				if stored := e.cache.Get(key); stored == nil || stored.Status != http.StatusOK {
					t.Errorf("the stored entry is %+v", stored)
				}
				return
			}
			settled(t, "the 404 takes the place of the icon",
				func() bool { e := e.cache.Get(key); return e != nil && e.Status == http.StatusNotFound })
		})
	}
}

// A request with a stale response to fall back on does not wait until an origin that hangs times
// out. The next request does not wait at all.
func TestStaleWhileTheOriginHangs(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"/x/y.svg", "/forwarded"} {
		hang, open := make(chan struct{}), make(chan struct{})
		var hangs atomic.Bool
		var asked atomic.Int64
		e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "max-age=100, stale-if-error=1000")
			if hangs.Load() {
				asked.Add(1)
				close(hang)
				<-open
			}
			io.WriteString(w, "drawing")
		}), func(c *Config) { c.ProxyAll, c.Hesitation = true, 100*time.Millisecond })
		e.get(t, key)
		e.age(t, key, 500*time.Second)
		hangs.Store(true)
		for range 3 {
			e.ages.move(time.Second)
			a := e.get(t, key)
			if got := a.Header.Get("Cache-Status"); a.StatusCode != 200 || a.body != "drawing" ||
				!strings.HasPrefix(got, "iconedge; hit; ttl=-4") {
				t.Errorf("%s: %d %q, Cache-Status: %s", key, a.StatusCode, a.body, got)
			}
		}
		<-hang
		if got := e.upstream.Stats(); got.Timeouts != 0 || asked.Load() != 1 {
			t.Errorf("%s: clients waited for %d deadlines, and made %d requests", key, got.Timeouts, asked.Load())
		}
		close(open)
	}
}

// A failure of the origin answers all requests that waited for it, unless it says that it is for
// one client only.
func TestThousandClientsOneFailure(t *testing.T) {
	for _, row := range []struct {
		name   string
		status int
		field  [2]string
		shared bool
	}{
		{"500", 500, [2]string{}, true},
		{"503 with Retry-After", 503, [2]string{"Retry-After", "9"}, true},
		{"private", 500, [2]string{"Cache-Control", "private"}, false},
		{"no-store", 500, [2]string{"Cache-Control", "no-store"}, false},
		{"a cookie", 500, [2]string{"Set-Cookie", "a=b"}, false},
		{"a 403 is no failure", 403, [2]string{}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			const callers = 20
			var asked atomic.Int64
			all := make(chan struct{})
			e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) == 1 {
					<-all
				}
				if row.field[0] != "" {
					w.Header().Set(row.field[0], row.field[1])
				}
				w.WriteHeader(row.status)
				io.WriteString(w, "its own words")
			}), func(c *Config) { c.ProxyAll = true })
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					if a := e.get(t, "/forwarded"); a.StatusCode != row.status || a.body != "its own words" {
						t.Errorf("%d %q", a.StatusCode, a.body)
					}
				})
			}
			settled(t, "all wait for the one fetch", func() bool { return e.cache.Callers() >= callers })
			close(all)
			wg.Wait()
			if n := asked.Load(); (n == 1) != row.shared {
				t.Errorf("%d callers made %d requests, shared should be %v", callers, n, row.shared)
			}
			if e.get(t, "/forwarded"); asked.Load() == 1 {
				t.Error("the failure was stored")
			}
		})
	}
}

// If the origin finds the edge too frequent or too slow, that does not hold for the edge's client.
func TestOriginRefusesTheEdge(t *testing.T) {
	for _, status := range []int{408, 429} {
		e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(status)
		}))
		if a := e.get(t, "/mdi/home.svg"); a.StatusCode != 502 || a.Header.Get("Retry-After") != "1" {
			t.Errorf("a %d of the origin becomes %d, Retry-After %s", status, a.StatusCode, a.Header.Get("Retry-After"))
		}
	}
}
