package edge

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const monthsAgo = "Tue, 15 Nov 2022 08:12:31 GMT"

// users is an origin that greets a user by the cookie, as an application does that knows nothing of
// caches.
func users(fields ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		says("hello "+strings.Join(r.Header["Cookie"], "; ")+strings.Repeat(" ", 100), fields...)(w, r)
	}
}

// applications are responses without a freshness lifetime, and with cookies.
var applications = map[string]http.HandlerFunc{
	"/modified":   users("Last-Modified", monthsAgo),
	"/tagged":     users("ETag", `"same"`),
	"/both":       users("Last-Modified", monthsAgo, "ETag", `W/"same"`),
	"/public":     users("Last-Modified", monthsAgo, "Cache-Control", "public"),
	"/large":      says(strings.Repeat("x", 100<<10), "Last-Modified", monthsAgo),
	"/login":      users("Cache-Control", "max-age=600", "Set-Cookie", "session=1"),
	"/shared":     users("Cache-Control", "public, s-maxage=600", "Set-Cookie", "session=1"),
	"/excepted":   users("Cache-Control", `max-age=600, no-cache="Set-Cookie"`, "Set-Cookie", "session=1"),
	"/revalidate": users("Cache-Control", "max-age=0", "ETag", `"e"`, "Set-Cookie", "session=1"),
}

// A response that may belong to one user is not stored and answers nobody else, over every protocol
// and on the hit path too.
func TestCookiesByEveryProtocol(t *testing.T) {
	t.Parallel()
	for name, of := range wayOf {
		origin := newSite(applications)
		s := newSecured(t, origin, append(of.changes(), func(c *Config) { c.ProxyAll = true })...).by(t, name)
		for target := range applications {
			t.Run(name+" "+target, func(t *testing.T) {
				cookies := strings.Contains("/login /shared /excepted /revalidate", target)
				stored := func(a string) bool { return strings.Contains(a, "; stored") || strings.Contains(a, "; hit") }
				for i, user := range []string{"u=alice", "u=bob", "u=alice"} {
					a := s.call(t, http.MethodGet, target, "Cookie: "+user+"\r\n", nil)
					if stored(a) || target != "/large" && !strings.Contains(a, "hello "+user) {
						t.Errorf("%s: %s with Cookie, request %d: %.300q", name, target, i, a)
					}
				}
				if a := s.call(t, http.MethodGet, target, "", nil); !cookies && !strings.Contains(a, "; stored") || cookies && stored(a) {
					t.Errorf("%s: %s without Cookie: %.300q", name, target, a)
				}
				for range 3 { // the hit path knows the host and the address now
					if a := s.call(t, http.MethodGet, target, "", nil); cookies && stored(a) ||
						target == "/modified" && !strings.Contains(a, "; hit") {
						t.Errorf("%s: %s without Cookie again: %.300q", name, target, a)
					}
					a := s.call(t, http.MethodGet, target, "Cookie: u=bob\r\n", nil)
					if stored(a) || target != "/large" && !strings.Contains(a, "hello u=bob") {
						t.Errorf("%s: %s with Cookie after it was stored: %.300q", name, target, a)
					}
					if !cookies && !strings.Contains(a, "fwd=request") {
						t.Errorf("%s: %s with Cookie after it was stored: want fwd=request: %.300q", name, target, a)
					}
				}
				for _, method := range []string{http.MethodHead, http.MethodGet} {
					for _, line := range []string{"Range: bytes=0-3\r\n", "If-None-Match: \"other\"\r\n",
						"Cache-Control: max-stale, only-if-cached\r\n"} {
						if a := s.call(t, method, target, "Cookie: u=carol\r\n"+line, nil); stored(a) {
							t.Errorf("%s: %s %s with Cookie and %s: %.300q", name, method, target, line, a)
						}
					}
				}
				if a := s.call(t, http.MethodGet, target, "", nil); target == "/modified" && !strings.Contains(a, "; hit") {
					t.Errorf("%s: %s: requests with Cookie took the response of the others away: %.300q", name, target, a)
				}
			})
		}
	}
}

// A request with Cookie does not get such a response stale either, when the origin is lost or
// fails.
func TestCookiesWhenTheOriginFails(t *testing.T) {
	for _, lost := range []bool{true, false} {
		fails := false
		e, _ := newPassTest(t, map[string]http.HandlerFunc{"/modified": func(w http.ResponseWriter, r *http.Request) {
			switch {
			case fails && lost:
				panic(http.ErrAbortHandler)
			case fails:
				w.WriteHeader(http.StatusServiceUnavailable)
			default:
				applications["/modified"](w, r)
			}
		}})
		e.get(t, "/modified")
		e.age(t, "/modified", 25*time.Hour)
		fails = true
		if a := e.get(t, "/modified", "Cookie", "u=bob"); a.StatusCode < 500 {
			t.Errorf("lost %v: with Cookie: %d %.30q", lost, a.StatusCode, a.body)
		}
		if a := e.get(t, "/modified", "Cookie", "u=bob", "Cache-Control", "stale-if-error=999999, max-stale"); a.StatusCode < 500 {
			t.Errorf("lost %v: with Cookie and max-stale: %d %.30q", lost, a.StatusCode, a.body)
		}
	}
}

// While the origin is lost, the page of a user that was never fresh answers nobody else.
func TestPageOfUserWhenTheOriginIsLost(t *testing.T) {
	var lost atomic.Bool
	e, _ := newPassTest(t, map[string]http.HandlerFunc{"/account": func(w http.ResponseWriter, r *http.Request) {
		if lost.Load() {
			panic(http.ErrAbortHandler)
		}
		users("Cache-Control", "max-age=0", "ETag", `"1"`)(w, r)
	}})
	if a := e.get(t, "/account", "Cookie", "u=alice"); !strings.Contains(a.Header.Get("Cache-Status"), "stored") {
		t.Fatalf("not stored: %s", a.Header.Get("Cache-Status"))
	}
	lost.Store(true)
	for _, fields := range [][]string{nil, {"Cookie", "u=bob"}} {
		if a := e.get(t, "/account", fields...); a.StatusCode != http.StatusBadGateway {
			t.Errorf("%q: %d %.30q", fields, a.StatusCode, a.body)
		}
	}
}

// A request with Cookie that waits for the collapsed fetch of another does not get such a response
// either.
func TestCookiesWhileWaiting(t *testing.T) {
	asked, open := make(chan struct{}), make(chan struct{})
	var once sync.Once
	e, s := newPassTest(t, map[string]http.HandlerFunc{"/modified": func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header["Cookie"]) == 0 {
			once.Do(func() { close(asked); <-open })
		}
		applications["/modified"](w, r)
	}})
	var wg sync.WaitGroup
	wg.Go(func() { e.get(t, "/modified") })
	<-asked
	for i := range 20 {
		wg.Go(func() {
			user := fmt.Sprint("u=", i)
			a := e.get(t, "/modified", "Cookie", user)
			if !strings.HasPrefix(a.body, "hello "+user) || strings.Contains(a.Header.Get("Cache-Status"), "collapsed") {
				t.Errorf("%s got %.30q, %s", user, a.body, a.Header.Get("Cache-Status"))
			}
		})
	}
	settled(t, "all wait, or have sent their own request to the origin", func() bool {
		return e.Server.origin.Waiting() == 21 || len(s.requests("/modified")) > 20
	})
	close(open)
	wg.Wait()
}

// With --store-cookies RFC 9111 alone decides, as the public cache suite expects it.
func TestStoreCookies(t *testing.T) {
	e := newEdgeTest(t, newSite(applications), func(c *Config) { c.ProxyAll, c.StoreCookies = true, true })
	for target := range applications {
		if a := e.get(t, target, "Cookie", "u=alice"); !strings.Contains(a.Header.Get("Cache-Status"), "stored") {
			t.Errorf("%s: %s", target, a.Header.Get("Cache-Status"))
		}
	}
	for _, target := range []string{"/modified", "/public", "/large", "/login", "/shared"} {
		if a := e.get(t, target, "Cookie", "u=bob"); !strings.Contains(a.Header.Get("Cache-Status"), "; hit") {
			t.Errorf("%s: %s", target, a.Header.Get("Cache-Status"))
		}
	}
}

// A 304 that brings a cookie is for the one client, and its Set-Cookie is not stored.
func TestCookieOfA304(t *testing.T) {
	e, _ := newPassTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=0")
		w.Header().Set("ETag", `"e"`)
		if r.Header.Get("If-None-Match") != "" {
			w.Header().Set("Set-Cookie", "session="+r.Header.Get("X-Who"))
			w.WriteHeader(http.StatusNotModified)
			return
		}
		io.WriteString(w, "page")
	}})
	e.get(t, "/page")
	for _, who := range []string{"alice", "bob"} {
		a := e.get(t, "/page", "X-Who", who)
		if a.body != "page" || a.Header.Get("Set-Cookie") != "session="+who || strings.Contains(a.Header.Get("Cache-Status"), "stored") {
			t.Errorf("%s: %q, %q, %s", who, a.body, a.Header["Set-Cookie"], a.Header.Get("Cache-Status"))
		}
	}
	for _, f := range e.stored("/page").Fields {
		if string(f.Name) == "Set-Cookie" {
			t.Errorf("stored: %s", f.Value)
		}
	}
}

// The disk tier keeps what the rules need, also where an earlier life of the edge stored by other
// rules.
func TestCookiesOverARestart(t *testing.T) {
	t.Parallel()
	origin := httptest.NewServer(newSite(applications))
	defer origin.Close()
	dir := t.TempDir()
	life := func(storeCookies bool, use func(get func(target, cookie string) string)) {
		var cfg Config
		cfg.Flags(flag.NewFlagSet("", flag.PanicOnError))
		patient(&cfg)
		must(t, cfg.Origins.Set(origin.URL))
		cfg.Log, cfg.CacheDir, cfg.ProxyAll, cfg.StoreCookies = slog.New(slog.DiscardHandler), dir, true, storeCookies
		cfg.Listener, cfg.AdminListener = listenTest(t), listenTest(t)
		public := cfg.Listener.Addr().String()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- Run(ctx, cfg) }()
		use(func(target, cookie string) string {
			r, err := http.NewRequest(http.MethodGet, "http://"+public+target, nil)
			must(t, err)
			r.Host = "edge.test" // the port differs from one run to the next
			if cookie != "" {
				r.Header.Set("Cookie", cookie)
			}
			resp, err := http.DefaultClient.Do(r)
			must(t, err)
			defer resp.Body.Close()
			var body bytes.Buffer
			body.ReadFrom(resp.Body)
			return resp.Header.Get("Cache-Status")
		})
		stop()
		must(t, <-done)
	}
	life(true, func(get func(target, cookie string) string) {
		for target := range applications {
			get(target, "")
		}
	})
	life(false, func(get func(target, cookie string) string) {
		for _, target := range []string{"/modified", "/public", "/large"} {
			if status := get(target, "u=bob"); strings.Contains(status, "hit") {
				t.Errorf("%s with Cookie: %s", target, status)
			}
			if status := get(target, ""); !strings.Contains(status, "hit") {
				t.Errorf("%s without: %s", target, status)
			}
		}
		for _, target := range []string{"/login", "/shared"} {
			if status := get(target, ""); strings.Contains(status, "hit") {
				t.Errorf("%s, stored with its cookie: %s", target, status)
			}
		}
	})
}

// The edge's own routes drop cookies, and so these decide nothing there.
func TestCookiesOnIconRoutes(t *testing.T) {
	for _, proxyAll := range []bool{true, false} {
		e := newEdgeTest(t, says("<svg/>", "Set-Cookie", "a=b", "Cache-Control", "max-age=600", "Content-Type",
			"image/svg+xml"), func(c *Config) { c.ProxyAll = proxyAll })
		e.get(t, "/mdi/home.svg", "Cookie", "u=alice")
		a := e.get(t, "/mdi/home.svg", "Cookie", "u=bob")
		if !strings.Contains(a.Header.Get("Cache-Status"), "; hit") || a.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s, %q", a.Header.Get("Cache-Status"), a.Header["Set-Cookie"])
		}
	}
}
