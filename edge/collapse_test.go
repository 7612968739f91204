package edge

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
)

// An application is an origin that answers as an Express application does by default: the body belongs to the client, an entity tag is made of the body,
// If-None-Match is answered 304, and nothing is said to caches. Fields and streaming are for each test to add.
type application struct {
	fields  []string                       // name, value, …
	streams bool                           // the body goes out in chunks, some of them late
	shared  bool                           // the body is the same for every client
	status  int                            // 0: 200
	each    func(n int64, r *http.Request) // called with the number of the request before it is answered; may block
	asked   atomic.Int64
}

func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := a.asked.Add(1)
	if a.each != nil {
		a.each(n, r)
	}
	body := bodyFor(identityOf(r))
	if a.shared {
		body = bodyFor("everybody")
	}
	for i := 0; i+1 < len(a.fields); i += 2 {
		w.Header().Add(a.fields[i], a.fields[i+1])
	}
	if a.status != 0 {
		w.WriteHeader(a.status)
		io.WriteString(w, body)
		return
	}
	sum := sha256.Sum256([]byte(body))
	etag := `W/"` + hex.EncodeToString(sum[:8]) + `"`
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if !a.streams {
		io.WriteString(w, body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream") // the edge does not wait for the end of such a body
	for half := range strings.SplitAfterSeq(body, "to ") {
		io.WriteString(w, half)
		w.(http.Flusher).Flush()
	}
}

// identityOf names the client of a request, by its session cookie or by a field that no Vary names.
func identityOf(r *http.Request) string {
	if c, err := r.Cookie("session"); err == nil {
		return c.Value
	}
	return r.Header.Get("X-Who")
}

func bodyFor(who string) string { return "private to " + who + strings.Repeat(".", 200) }

// A crowd is many clients that send the same GET at once.
type crowd struct {
	t      *testing.T
	n      int
	target string
	fields func(i int) []string
}

// withCookies are the fields of clients that each have a session of their own; nameless are those of clients without one.
func withCookies(i int) []string { return []string{"Cookie", fmt.Sprint("session=user", i)} }
func nameless(i int) []string    { return []string{"X-Who", fmt.Sprint("user", i)} }

// ask sends the requests of a crowd through an edge, and returns the answers.
func (c crowd) ask(e *edgeTest) []answer {
	c.t.Helper()
	all := make([]answer, c.n)
	var wg sync.WaitGroup
	for i := range c.n {
		wg.Go(func() { all[i] = e.get(c.t, c.target, c.fields(i)...) })
	}
	wg.Wait()
	return all
}

// wrong counts answers that are not the client's own, and those whose Cache-Status claims a sharing that was not.
func (c crowd) wrong(all []answer) (bodies, statuses int) {
	for i, a := range all {
		if a.StatusCode != http.StatusOK || a.body != bodyFor(fmt.Sprint("user", i)) {
			bodies++
		}
		if s := a.Header.Get("Cache-Status"); strings.Contains(s, "collapsed") || strings.Contains(s, "hit") {
			statuses++
		}
	}
	return bodies, statuses
}

// allWaiting holds the first request to an origin until so many requests wait in the edge for it, and every later one until so many are with the origin at
// the same time: were the others sent one after the other, that would never be.
func allWaiting(t *testing.T, e *edgeTest, waiting, parallel int) func(int64, *http.Request) {
	var here atomic.Int64
	return func(n int64, _ *http.Request) {
		if n == 1 {
			reached(t, "requests that wait in the edge", waiting, e.waiting.waiting)
			return
		}
		here.Add(1)
		reached(t, "requests at the origin at once", parallel, func() int { return int(here.Load()) })
	}
}

// reached waits until there are so many. It runs in a handler, which must end whatever happens.
func reached(t *testing.T, what string, want int, count func() int) {
	for end := time.Now().Add(20 * time.Second); count() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d %s, want %d", count(), what, want)
			return
		}
	}
}

// unshared are fields of responses that no other client may have.
var unshared = map[string][]string{
	"nothing said":               nil,
	"no-cache":                   {"Cache-Control", "no-cache"},
	"max-age=0":                  {"Cache-Control", "max-age=0"},
	"public, max-age=0":          {"Cache-Control", "public, max-age=0"},
	"no-cache, must-revalidate":  {"Cache-Control", "no-cache, must-revalidate, max-age=0"},
	"s-maxage=0":                 {"Cache-Control", "max-age=60, s-maxage=0"},
	"public":                     {"Cache-Control", "public"},
	"must-revalidate":            {"Cache-Control", "must-revalidate"},
	"private":                    {"Cache-Control", "private"},
	"private, max-age":           {"Cache-Control", "private, max-age=60"},
	"no-store":                   {"Cache-Control", "no-store"},
	"Expires in the past":        {"Expires", "Thu, 01 Jan 1970 00:00:00 GMT"},
	"Expires: 0":                 {"Expires", "0"},
	"old by its Age":             {"Cache-Control", "max-age=60", "Age", "60"},
	"CDN-Cache-Control":          {"Cache-Control", "max-age=60", "CDN-Cache-Control", "max-age=0"},
	"Set-Cookie, nothing said":   {"Set-Cookie", "a=b"},
	"Set-Cookie, no-cache":       {"Set-Cookie", "a=b", "Cache-Control", "no-cache"},
	"Vary: *":                    {"Vary", "*", "Cache-Control", "max-age=60"},
	"Vary: the client's fields":  {"Vary", "Cookie, X-Who", "Cache-Control", "max-age=60"},
	"Vary, and nothing is fresh": {"Vary", "Cookie", "Cache-Control", "max-age=0"},
}

// expire leaves the cache with a response for another client, which has expired.
func expire(t *testing.T, e *edgeTest, app *application, target string) {
	t.Helper()
	fields := app.fields
	app.fields = []string{"Cache-Control", "max-age=60"}
	e.get(t, target, "X-Who", "another")
	settled(t, "it is stored", func() bool { return e.cache.Get(target) != nil })
	e.age(t, target, time.Minute)
	app.fields = fields
	app.asked.Store(0)
}

// A response that the cache could not use again goes to one client alone, whatever its fields, whole or streamed, when nothing is stored and when what is
// stored has expired. The requests that waited are sent by themselves, all at the same time.
func TestCollapseUnshared(t *testing.T) {
	const clients = 50
	for name, fields := range unshared {
		for _, streams := range []bool{false, true} {
			for who, of := range map[string]func(int) []string{"cookies": withCookies, "no cookies": nameless} {
				for _, expired := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, streams %v, %s, expired %v", name, streams, who, expired), func(t *testing.T) {
						t.Parallel()
						app := &application{fields: fields, streams: streams}
						e := newEdgeTest(t, app, func(c *Config) { c.ProxyAll = true })
						if expired {
							expire(t, e, app, "/")
						}
						app.each = allWaiting(t, e, clients, clients-1)
						c := crowd{t, clients, "/", of}
						if bodies, statuses := c.wrong(c.ask(e)); bodies != 0 || statuses != 0 {
							t.Errorf("%d of %d responses were another client's, %d claim to be hits or collapsed", bodies, clients, statuses)
						}
						if n := app.asked.Load(); n != clients {
							t.Errorf("the origin was asked %d times by %d clients", n, clients)
						}
					})
				}
			}
		}
	}
}

// protocolsOf are the ways in which crowds come.
var protocolsOf = []string{"h1", "h1 over TLS", "h2", "h2c", "h3"}

// By every protocol each client gets its own response, be there two of them, fifty or a thousand.
func TestCollapseByEveryProtocol(t *testing.T) {
	for _, way := range protocolsOf {
		for _, clients := range []int{2, 50, 1000} {
			for _, expired := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d clients, expired %v", way, clients, expired), func(t *testing.T) {
					app := &application{}
					s := newSecured(t, app, func(c *Config) { c.ProxyAll = true })
					if expired {
						expire(t, s.edgeTest, app, "/")
					}
					together := min(clients, 50) // a connection of HTTP/2 or HTTP/3 has only so many streams
					app.each = allWaiting(t, s.edgeTest, together, together-1)
					c := crowd{t, clients, "/", withCookies}
					if bodies, statuses := c.wrong(c.ask(s.by(t, way).edgeTest)); bodies != 0 || statuses != 0 {
						t.Errorf("%d of %d responses were another client's, %d claim to be hits or collapsed", bodies, clients, statuses)
					}
				})
			}
		}
	}
}

// Through a shield each client gets its own response as well: neither tier mixes them up.
func TestCollapseThroughShield(t *testing.T) {
	for _, clients := range []int{2, 50, 1000} {
		for _, expired := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d clients, expired %v", clients, expired), func(t *testing.T) {
				app := &application{}
				all := func(c *Config) { c.ProxyAll = true }
				shield := newEdgeTest(t, app, all)
				e := newEdgeTest(t, shield, all)
				if expired {
					expire(t, e, app, "/")
					shield.age(t, "/", time.Minute)
				}
				app.each = allWaiting(t, e, clients, clients-1)
				c := crowd{t, clients, "/", withCookies}
				bodies := 0
				for i, a := range c.ask(e) {
					if a.StatusCode != http.StatusOK || a.body != bodyFor(fmt.Sprint("user", i)) || strings.Contains(a.Header.Get("Cache-Status"), "collapsed") {
						bodies++
					}
				}
				if bodies != 0 {
					t.Errorf("%d of %d responses were another client's", bodies, clients)
				}
			})
		}
	}
}

// What lies expired on disk is revalidated for each client by itself.
func TestCollapseFromDisk(t *testing.T) {
	app := &application{fields: []string{"Cache-Control", "max-age=60", "Age", "60"}} // it is stored, and stale at once
	origin, dir := serveOrigin(t, app), t.TempDir()
	run := func() *node {
		return runNode(t, func(c *Config) {
			must(t, c.Origins.Set(origin))
			c.CacheDir, c.ProxyAll = dir, true
		})
	}
	first := run()
	if a := call(t, first.url()+"/", "X-Who", "another"); a.StatusCode != http.StatusOK {
		t.Fatal(a.StatusCode, a.body)
	}
	first.stop()
	n, conditional := run(), atomic.Int64{}
	app.fields = nil
	app.asked.Store(0)
	const clients = 50
	var here atomic.Int64
	app.each = func(_ int64, r *http.Request) {
		if r.Header.Get("If-None-Match") != "" {
			conditional.Add(1)
		}
		if here.Add(1) == 1 {
			reached(t, "requests that wait in the edge", 1, func() int {
				return strings.Count(metricsOf(t, n.admin), fmt.Sprintf("iconedge_edge_waiting %d\n", clients))
			})
		}
	}
	var wg sync.WaitGroup
	var wrong atomic.Int64
	for i := range clients {
		wg.Go(func() {
			if a := call(t, n.url()+"/", withCookies(i)...); a.body != bodyFor(fmt.Sprint("user", i)) {
				wrong.Add(1)
			}
		})
	}
	wg.Wait()
	if wrong.Load() != 0 || conditional.Load() == 0 {
		t.Errorf("%d of %d responses were another client's; %d requests were conditional, so that something was found on disk", wrong.Load(), clients, conditional.Load())
	}
}

// A 304 goes to the client whose condition it answers, and to no other; nor does one that the origin gave the edge, where what it confirms is for one use.
func TestCollapseConditional(t *testing.T) {
	const clients = 50
	for _, shared := range []bool{false, true} {
		for _, expired := range []bool{false, true} {
			t.Run(fmt.Sprintf("the same for all %v, expired %v", shared, expired), func(t *testing.T) {
				app := &application{shared: shared}
				e := newEdgeTest(t, app, func(c *Config) { c.ProxyAll = true })
				mine := e.get(t, "/", withCookies(0)...)
				e.cache.MarkHitForPass("/\x00credentials", false, time.Now())
				e.cache.Purge(cache.Purge{All: true}, time.Now())
				if expired {
					expire(t, e, app, "/")
				}
				app.asked.Store(0)
				app.each = allWaiting(t, e, clients, clients-1)
				c := crowd{t, clients, "/", func(i int) []string {
					if i%10 == 0 {
						return append(withCookies(i), "If-None-Match", mine.Header.Get("Etag"))
					}
					return withCookies(i)
				}}
				for i, a := range c.ask(e) {
					want := bodyFor(fmt.Sprint("user", i))
					if shared {
						want = bodyFor("everybody")
					}
					code := http.StatusOK
					if i == 0 || shared && i%10 == 0 {
						code, want = http.StatusNotModified, ""
					}
					if a.StatusCode != code || a.body != want {
						t.Errorf("client %d: %d %.30q, want %d %.30q", i, a.StatusCode, a.body, code, want)
					}
				}
			})
		}
	}
}
