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
	"github.com/iconedge/iconedge/edge/routes"
)

// An application is an origin that answers as an Express application does by default. The body
// belongs to the client, the entity tag is computed from the body, If-None-Match gets a 304, and no
// field is meant for caches. Each test adds fields and streaming.
type application struct {
	fields  []string // name, value, …
	streams bool     // the body goes out in chunks, some of them late
	shared  bool     // the body is the same for every client
	status  int      // 0: 200
	// called with the number of the request before it is answered; may block.
	each  func(n int64, r *http.Request)
	asked atomic.Int64
	mu    sync.Mutex // guards the other fields, which tests change while the application serves
}

// change changes the fields of the application while it serves.
func (a *application) change(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

func (a *application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/-/") {
		http.NotFound(w, r)
		return
	}
	n := a.asked.Add(1)
	a.mu.Lock()
	each, fields, shared := a.each, a.fields, a.shared
	a.mu.Unlock()
	if each != nil {
		each(n, r)
	}
	body := bodyFor(identityOf(r))
	if shared {
		body = bodyFor("everybody")
	}
	for i := 0; i+1 < len(fields); i += 2 {
		w.Header().Add(fields[i], fields[i+1])
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
	w.Header().Set("Content-Type", "text/event-stream") // the edge relays such a body at once
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

// withCookies are the fields of clients with a session each; nameless are those of clients without
// one.
func withCookies(i int) []string { return []string{"Cookie", fmt.Sprint("session=user", i)} }
func nameless(i int) []string    { return []string{"X-Who", fmt.Sprint("user", i)} }

// ask sends the requests of a crowd through an edge, and returns the responses.
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

// wrong counts responses of other clients, and those whose Cache-Status wrongly claims that they
// were shared.
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

// allWaiting holds the first request to an origin until the given number of requests wait for it in
// the edge. It holds every later one until the given number are at the origin at the same time. An
// edge that sent them one after the other would never get there.
func allWaiting(t *testing.T, e *edgeTest, waiting, parallel int) func(int64, *http.Request) {
	var here atomic.Int64
	all := make(chan struct{})
	return func(n int64, _ *http.Request) {
		if n == 1 {
			reached(t, "requests that wait in the edge", waiting, e.cache.Callers)
			return
		}
		if here.Add(1) == int64(parallel) {
			close(all)
		}
		select {
		case <-all:
		case <-time.After(longEnough):
			t.Errorf("%d requests are at the origin at once, want %d", here.Load(), parallel)
		}
	}
}

// reached waits until the count has the given value.
func reached(t *testing.T, what string, want int, count func() int) {
	for end := time.Now().Add(longEnough); count() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d %s, want %d", count(), what, want)
			return
		}
	}
}

// unshared are fields of responses that no other client may get.
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

// expire leaves in the cache an expired response for another client.
func expire(t *testing.T, e *edgeTest, app *application, target string) {
	t.Helper()
	fields := app.fields
	app.change(func() { app.fields = []string{"Cache-Control", "max-age=60"} })
	e.get(t, target, "X-Who", "another")
	// Until its fetch has ended, others may join it, and rightly get the response.
	settled(t, "it is stored", func() bool { return e.stored(target) != nil && e.cache.Callers() == 0 })
	e.age(t, target, 2*time.Minute)
	app.change(func() { app.fields = fields })
	app.asked.Store(0)
}

// A response that the cache could not reuse goes to one client only, whatever its fields, whole or
// streamed, both when nothing is stored and when the stored response has expired. The requests that
// waited are then sent each by itself, all at the same time.
func TestCollapseUnshared(t *testing.T) {
	t.Parallel()
	for name, fields := range unshared {
		clients := 20
		switch {
		case testing.Short():
			clients = 5
		case fields == nil:
			clients = 50
		}
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
						app.change(func() { app.each = allWaiting(t, e, clients, clients-1) })
						c := crowd{t, clients, "/", of}
						if bodies, statuses := c.wrong(c.ask(e)); bodies != 0 || statuses != 0 {
							t.Errorf("%d of %d responses were another client's, %d claim to be hits or collapsed", bodies, clients, statuses)
						}
						if n := app.asked.Load(); n != int64(clients) {
							t.Errorf("the origin was asked %d times by %d clients", n, clients)
						}
					})
				}
			}
		}
	}
}

// protocolsOf are the protocols of crowds.
var protocolsOf = []string{"h1", "h1 over TLS", "h2", "h2c", "h3"}

// Over every protocol each client gets its own response, with two clients or fifty, and with a
// thousand over connections of their own and over the streams of few.
func TestCollapseByEveryProtocol(t *testing.T) {
	t.Parallel()
	for _, way := range protocolsOf {
		for _, clients := range []int{2, 50, manyClients} {
			for _, expired := range []bool{false, true} {
				if clients == manyClients && (expired || way != "h1" && way != "h2c") {
					continue
				}
				t.Run(fmt.Sprintf("%s, %d clients, expired %v", way, clients, expired), func(t *testing.T) {
					app := &application{}
					// A thousand clients may keep the origin longer than the default timeout.
					s := newSecured(t, app, func(c *Config) { c.ProxyAll, c.OriginTimeout = true, 2*longEnough })
					if expired {
						expire(t, s.by(t, way).edgeTest, app, "/")
					}
					together := min(clients, 50) // within the stream limit of a connection
					app.change(func() { app.each = allWaiting(t, s.edgeTest, together, together-1) })
					c := crowd{t, clients, "/", withCookies}
					if bodies, statuses := c.wrong(c.ask(s.by(t, way).edgeTest)); bodies != 0 || statuses != 0 {
						t.Errorf("%d of %d responses were another client's, %d claim to be hits or collapsed", bodies, clients, statuses)
					}
				})
			}
		}
	}
}

// Each client gets its own response through a shield as well: neither tier mixes them up.
func TestCollapseThroughShield(t *testing.T) {
	t.Parallel()
	for _, clients := range []int{2, 50, manyClients} {
		for _, expired := range []bool{false, true} {
			if clients == manyClients && expired {
				continue
			}
			t.Run(fmt.Sprintf("%d clients, expired %v", clients, expired), func(t *testing.T) {
				app := &application{}
				all := func(c *Config) { c.ProxyAll = true }
				shield := newEdgeTest(t, app, all)
				e := newEdgeTest(t, shield, all)
				if expired {
					expire(t, e, app, "/")
					shield.age(t, "/", time.Minute)
				}
				// Within the edge's limit of connections.
				app.change(func() { app.each = allWaiting(t, e, clients, min(clients, 50)-1) })
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

// A response that only a heuristic calls fresh goes to no other client, if one of the two sends a
// cookie. Clients without cookies share one request.
func TestCollapseHeuristic(t *testing.T) {
	t.Parallel()
	const clients = 50
	for who, row := range map[string]struct {
		of     func(int) []string
		shared bool
	}{"cookies": {withCookies, false}, "no cookies": {nameless, true}} {
		t.Run(who, func(t *testing.T) {
			app := &application{shared: row.shared, fields: []string{"Last-Modified", time.Now().Add(-24 * time.Hour).UTC().Format(http.TimeFormat)}}
			e := newEdgeTest(t, app, func(c *Config) { c.ProxyAll = true })
			app.change(func() { app.each = allWaiting(t, e, clients, clients-1) })
			c := crowd{t, clients, "/", row.of}
			all := c.ask(e)
			if right, collapsed, _ := c.shared(all); row.shared && (right != clients || collapsed != clients-1) {
				t.Errorf("%d are right, %d collapsed", right, collapsed)
			}
			if bodies, statuses := c.wrong(all); !row.shared && (bodies != 0 || statuses != 0) {
				t.Errorf("%d responses were another client's, %d claim to be hits or collapsed", bodies, statuses)
			}
		})
	}
}

// An expired response on disk is revalidated for each client by itself.
func TestCollapseFromDisk(t *testing.T) {
	t.Parallel()
	// Stored, and stale at once.
	app := &application{fields: []string{"Cache-Control", "max-age=60", "Age", "60"}}
	origin, dir := serveOrigin(t, app), t.TempDir()
	run := func() *node {
		return runNode(t, func(c *Config) {
			must(t, c.Origins.Set(origin))
			c.CacheDir, c.ProxyAll = dir, true
		})
	}
	first := run()
	if a := call(t, first.url()+"/", "X-Who", "another", "Host", "edge.test"); a.StatusCode != http.StatusOK {
		t.Fatal(a.StatusCode, a.body)
	}
	first.stop()
	n, conditional := run(), atomic.Int64{}
	app.change(func() { app.fields = nil })
	app.asked.Store(0)
	const clients = 50
	var here atomic.Int64
	app.change(func() {
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
	})
	var wg sync.WaitGroup
	var wrong atomic.Int64
	for i := range clients {
		wg.Go(func() {
			if a := call(t, n.url()+"/", append(withCookies(i), "Host", "edge.test")...); a.body != bodyFor(fmt.Sprint("user", i)) {
				wrong.Add(1)
			}
		})
	}
	wg.Wait()
	if wrong.Load() != 0 || conditional.Load() == 0 {
		t.Errorf("%d of %d responses were another client's; %d requests were conditional, so that something was found on disk", wrong.Load(), clients, conditional.Load())
	}
}

// A 304 goes only to the client whose condition it answers. A 304 to the edge's own condition is
// not shared either, if the response that it confirms may be used only once.
func TestCollapseConditional(t *testing.T) {
	t.Parallel()
	const clients = 50
	for _, shared := range []bool{false, true} {
		for _, expired := range []bool{false, true} {
			t.Run(fmt.Sprintf("the same for all %v, expired %v", shared, expired), func(t *testing.T) {
				app := &application{shared: shared}
				e := newEdgeTest(t, app, func(c *Config) { c.ProxyAll = true })
				mine := e.get(t, "/", withCookies(0)...)
				e.cache.MarkHitForPass("http://edge.test/\x00credentials", false, e.ages.now())
				e.cache.Purge(cache.Purge{All: true}, e.ages.now())
				if expired {
					expire(t, e, app, "/")
				}
				app.asked.Store(0)
				app.change(func() { app.each = allWaiting(t, e, clients, clients-1) })
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

// shared counts the responses of a crowd with the application's one body, and those of them that
// were collapsed or stored.
func (c crowd) shared(all []answer) (right, collapsed, stored int) {
	for _, a := range all {
		if a.StatusCode == http.StatusOK && a.body == bodyFor("everybody") {
			right++
		}
		switch s := a.Header.Get("Cache-Status"); {
		case strings.Contains(s, "collapsed"):
			collapsed++
		case strings.Contains(s, "stored"):
			stored++
		}
	}
	return right, collapsed, stored
}

// mixed are the fields of clients, of which some have a session, some a licence, and most neither.
func mixed(i int) []string {
	switch i % 5 {
	case 1:
		return withCookies(i)
	case 2:
		return []string{"Authorization", fmt.Sprint("Bearer ", i)}
	}
	return nil
}

// Clients that may all reuse the response, fifty or a thousand, make one request to the origin,
// with cookies or without, whole or streamed. The fields that the origin marks as meant for one
// client go to that client only.
func TestCollapseShared(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string][]string{
		"max-age":                     {"Cache-Control", "public, max-age=60"},
		"s-maxage":                    {"Cache-Control", "s-maxage=60"},
		"targeted":                    {"Cache-Control", "no-store", "CDN-Cache-Control", "public, max-age=60"},
		"stale while revalidated":     {"Cache-Control", "public, max-age=0, stale-while-revalidate=60"},
		"a field for one client":      {"Cache-Control", `public, max-age=60, private="X-Mine", no-cache="X-Too"`, "X-Mine", "1", "X-Too", "1"},
		"Vary that all agree in":      {"Cache-Control", "public, max-age=60", "Vary", "Accept-Language"},
		"must-revalidate while fresh": {"Cache-Control", "max-age=60, must-revalidate"},
	} {
		for _, streams := range []bool{false, true} {
			for who, of := range map[string]func(int) []string{"cookies": withCookies, "no cookies": nameless, "mixed": mixed} {
				clients := 50
				if name == "max-age" && who == "mixed" {
					clients = manyClients
				}
				t.Run(fmt.Sprintf("%s, streams %v, %s", name, streams, who), func(t *testing.T) {
					app := &application{fields: fields, streams: streams, shared: true}
					e := newEdgeTest(t, app, func(c *Config) { c.ProxyAll = true })
					app.change(func() { app.each = allWaiting(t, e, clients, clients) })
					c, mine := crowd{t, clients, "/", of}, 0
					all := c.ask(e)
					for _, a := range all {
						if a.Header.Get("X-Mine") != "" || a.Header.Get("X-Too") != "" {
							mine++
						}
					}
					right, collapsed, stored := c.shared(all)
					if n := app.asked.Load(); n != 1 || right != clients || collapsed != clients-1 || !streams && stored != 1 || mine > 1 {
						t.Errorf("the origin was asked %d times; %d are right, %d collapsed, %d stored; %d have the field for one client; the first response is %d %q, %s",
							n, right, collapsed, stored, mine, all[0].StatusCode, all[0].body, all[0].Header.Get("Cache-Status"))
					}
				})
			}
		}
	}
}

// Clients of several variants make one request for each variant. None of them waits for a third
// request.
func TestCollapseVariants(t *testing.T) {
	t.Parallel()
	const clients, languages = 200, 4
	var asked atomic.Int64
	var again sync.Once
	var e *edgeTest
	e = newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := asked.Add(1); n == 1 {
			reached(t, "requests that wait in the edge", clients, e.cache.Callers)
		} else { // these go at the same time, and their clients wait again
			reached(t, "requests to the origin", languages, func() int { return int(asked.Load()) })
			again.Do(func() { reached(t, "requests that wait in the edge", clients*(languages-1)/languages, e.cache.Callers) })
		}
		says(r.Header.Get("X-Language"), "Cache-Control", "max-age=60", "Vary", "X-Language")(w, r)
	}), func(c *Config) { c.ProxyAll = true })
	c := crowd{t, clients, "/", func(i int) []string { return []string{"X-Language", fmt.Sprint(i % languages)} }}
	for i, a := range c.ask(e) {
		if a.body != fmt.Sprint(i%languages) {
			t.Errorf("client %d got the variant %q", i, a.body)
		}
	}
	if n := asked.Load(); n != languages {
		t.Errorf("the origin was asked %d times for %d variants", n, languages)
	}
}

// That a request with Authorization may not share a response does not keep the others from sharing:
// they make one request together.
func TestCollapseBehindAuthorization(t *testing.T) {
	const clients = 100
	app := &application{shared: true, fields: []string{"Cache-Control", "max-age=60"}}
	e := newEdgeTest(t, app, func(c *Config) { c.ProxyAll = true })
	first := make(chan struct{})
	app.change(func() {
		app.each = func(n int64, _ *http.Request) {
			switch n {
			case 1:
				close(first)
				reached(t, "requests that wait in the edge", clients, e.cache.Callers)
			case 2:
				reached(t, "requests that wait in the edge", clients-1, e.cache.Callers)
			}
		}
	})
	var wg sync.WaitGroup
	wg.Go(func() { e.get(t, "/", "Authorization", "Bearer mine") })
	<-first
	c := crowd{t, clients - 1, "/", nameless}
	right, collapsed, _ := c.shared(c.ask(e))
	wg.Wait()
	if n := app.asked.Load(); n != 2 || right != clients-1 || collapsed != clients-2 {
		t.Errorf("the origin was asked %d times, want 2; %d are right, %d collapsed", n, right, collapsed)
	}
	if e.cache.IsHitForPass("http://edge.test/", e.ages.now()) {
		t.Error("one client with Authorization keeps those without from collapsing")
	}
}

// A failure that concerns no client in particular ends the wait of all clients without credentials,
// so that an origin that fails does not get each of their requests. Requests with credentials are
// each sent by itself, and each gets its own response.
func TestCollapseFailure(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		status int
		fields []string
		of     func(int) []string
		shared bool
	}{
		"500":                    {500, nil, nameless, true},
		"503 with a validator":   {503, []string{"Cache-Control", "no-cache", "ETag", `"x"`}, nameless, true},
		"507":                    {507, nil, nameless, true},
		"502 streamed":           {502, []string{"Content-Type", "text/event-stream"}, nameless, true},
		"500 that varies":        {500, []string{"Vary", "*"}, nameless, true},
		"500 private":            {500, []string{"Cache-Control", "private"}, nameless, false},
		"500 no-store":           {500, []string{"Cache-Control", "no-store"}, nameless, false},
		"500 with a cookie":      {500, []string{"Set-Cookie", "a=b"}, nameless, false},
		"500, private elsewhere": {500, []string{"CDN-Cache-Control", "private"}, nameless, false},
		"500 to cookies":         {500, nil, withCookies, false},
		"500, fresh, to cookies": {500, []string{"Cache-Control", "max-age=60"}, withCookies, true},
		"404":                    {404, nil, nameless, false},
		"403 to cookies":         {403, nil, withCookies, false},
	} {
		clients := 60
		if name == "500" || name == "404" {
			clients = 300
		}
		t.Run(name, func(t *testing.T) {
			app := &application{status: row.status, fields: row.fields, shared: row.shared}
			e := newEdgeTest(t, app, func(c *Config) { c.ProxyAll = true })
			app.change(func() { app.each = allWaiting(t, e, clients, 50) })
			c := crowd{t, clients, "/", row.of}
			for i, a := range c.ask(e) {
				want := bodyFor(fmt.Sprint("user", i))
				if row.shared {
					want = bodyFor("everybody")
				}
				if a.StatusCode != row.status || a.body != want {
					t.Errorf("client %d: %d %.40q, want %d %.40q", i, a.StatusCode, a.body, row.status, want)
				}
			}
			if n := app.asked.Load(); n != map[bool]int64{true: 1, false: int64(clients)}[row.shared] {
				t.Errorf("the origin was asked %d times by %d clients", n, clients)
			}
		})
	}
}

// The failure of one client's request does not answer clients with cookies, whether or not that
// client has one. The failure of a request with a cookie does not answer clients without: those
// make one more request together.
func TestCollapseFailureOfOne(t *testing.T) {
	t.Parallel()
	const clients = 50
	for _, row := range []struct {
		name     string
		first    []string
		of       func(int) []string
		requests int64
	}{
		{"no cookie, before cookies", nil, withCookies, 1 + clients},
		{"a cookie, before none", withCookies(-1), nameless, 2},
		{"Authorization, before none", []string{"Authorization", "Bearer x"}, nameless, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			var asked atomic.Int64
			first := make(chan struct{})
			var e *edgeTest
			e = newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch n := asked.Add(1); {
				case n == 1:
					close(first)
					reached(t, "requests that wait in the edge", 1+clients, e.cache.Callers)
					w.WriteHeader(http.StatusInternalServerError)
					return
				case row.requests == 2:
					reached(t, "requests that wait in the edge", clients, e.cache.Callers)
					w.Header().Set("Cache-Control", "max-age=60")
				}
				io.WriteString(w, bodyFor(identityOf(r)))
			}), func(c *Config) { c.ProxyAll = true })
			var wg sync.WaitGroup
			wg.Go(func() {
				if a := e.get(t, "/", row.first...); a.StatusCode != http.StatusInternalServerError {
					t.Errorf("the first client got %d", a.StatusCode)
				}
			})
			<-first
			c := crowd{t, clients, "/", row.of}
			for i, a := range c.ask(e) {
				if a.StatusCode != http.StatusOK || row.requests > 2 && a.body != bodyFor(fmt.Sprint("user", i)) {
					t.Errorf("client %d: %d %.40q", i, a.StatusCode, a.body)
				}
			}
			wg.Wait()
			if n := asked.Load(); n != row.requests {
				t.Errorf("the origin was asked %d times, want %d", n, row.requests)
			}
		})
	}
}

// A response that is cut off is a failure for all clients without credentials, also for a second
// after it. A cut response to a request with credentials does not affect the others.
func TestCollapseCut(t *testing.T) {
	t.Parallel()
	const clients = 300
	for name, row := range map[string]struct {
		of     func(int) []string
		shared bool
	}{"no cookies": {nameless, true}, "cookies": {withCookies, false}} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			var e *edgeTest
			e = newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body := bodyFor(identityOf(r))
				w.Header().Set("Content-Length", fmt.Sprint(len(body)))
				if asked.Add(1) > 1 {
					io.WriteString(w, body)
					return
				}
				reached(t, "requests that wait in the edge", clients, e.cache.Callers)
				io.WriteString(w, body[:10])
			}), func(c *Config) { c.ProxyAll = true })
			c, failed := crowd{t, clients, "/", row.of}, 0
			for i, a := range c.ask(e) {
				switch {
				case a.StatusCode == http.StatusBadGateway:
					failed++
				case a.body != bodyFor(fmt.Sprint("user", i)):
					t.Errorf("client %d: %d %.40q", i, a.StatusCode, a.body)
				}
			}
			if n := asked.Load(); row.shared && (failed != clients || n != 1) || !row.shared && (failed != 1 || n != clients) {
				t.Errorf("%d of %d failed, the origin was asked %d times", failed, clients, n)
			}
		})
	}
}

// While the edge knows that requests can't share (hit-for-pass), new ones go to the origin at once.
// When they can share again, they collapse again.
func TestCollapseHitForPass(t *testing.T) {
	const clients = 50
	app := &application{fields: []string{"Cache-Control", "private"}}
	e := newEdgeTest(t, app, func(c *Config) { c.ProxyAll = true })
	e.get(t, "/", "X-Who", "first")
	var here atomic.Int64
	all := make(chan struct{})
	app.change(func() {
		app.each = func(int64, *http.Request) {
			if here.Add(1) == clients {
				close(all)
			}
			select {
			case <-all: // no request waits for another
			case <-time.After(longEnough):
				t.Errorf("%d requests are at the origin at once", here.Load())
			}
		}
	})
	c := crowd{t, clients, "/", nameless}
	if bodies, statuses := c.wrong(c.ask(e)); bodies != 0 || statuses != 0 {
		t.Errorf("%d are another client's, %d claim to be collapsed", bodies, statuses)
	}
	app.change(func() { app.each, app.shared, app.fields = nil, true, []string{"Cache-Control", "max-age=60"} })
	e.get(t, "/")
	e.cache.Purge(cache.Purge{All: true}, e.ages.now())
	app.asked.Store(0)
	app.change(func() { app.each = allWaiting(t, e, clients, clients) })
	if right, collapsed, _ := c.shared(c.ask(e)); right != clients || collapsed != clients-1 || app.asked.Load() != 1 {
		t.Errorf("%d right, %d collapsed, the origin was asked %d times", right, collapsed, app.asked.Load())
	}
}

// Requests that arrive after a purge do not wait for the purged response. They share one more
// request to the origin.
func TestCollapsePurged(t *testing.T) {
	const clients = 50
	app := &application{shared: true, fields: []string{"Cache-Control", "max-age=60"}}
	e := newEdgeTest(t, app, func(c *Config) { c.ProxyAll = true })
	old := make(chan answer, 1)
	purged, shared := make(chan struct{}), make(chan struct{})
	app.change(func() {
		app.each = func(n int64, _ *http.Request) {
			switch n {
			case 1:
				e.cache.Purge(cache.Purge{All: true}, e.ages.now())
				close(purged)
				<-shared
			case 2:
				reached(t, "requests that wait in the edge", clients, e.cache.Callers)
				close(shared)
			}
		}
	})
	go func() { old <- e.get(t, "/") }()
	<-purged
	c := crowd{t, clients, "/", withCookies}
	if right, _, _ := c.shared(c.ask(e)); right != clients || app.asked.Load() != 2 {
		t.Errorf("%d right, the origin was asked %d times, want 2", right, app.asked.Load())
	}
	<-old
}

// Requests that arrive after a purge share one fetch, although the purged response is still
// arriving, slowly.
func TestCollapsePurgedStream(t *testing.T) {
	t.Parallel()
	const clients = 50
	for name, purge := range map[string]cache.Purge{
		"everything": {All: true}, "address": {Tags: []string{cache.TargetTag("/page")}}, "key": {Keys: []string{routes.ForwardedKey("http", "edge.test", "/page")}}, "surrogate key": {Tags: []string{"article"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			ends := make(chan struct{})
			var e *edgeTest
			e = newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Cache-Control", "max-age=60")
				w.Header().Set("Surrogate-Key", "article")
				n := asked.Add(1)
				fmt.Fprintf(w, "response %d", n)
				w.(http.Flusher).Flush()
				if n == 1 {
					<-ends
				} else {
					reached(t, "requests that wait in the edge", clients, e.cache.Callers)
				}
			}), func(c *Config) { c.ProxyAll = true })
			r, err := http.NewRequest(http.MethodGet, "http://edge.test/page", nil)
			must(t, err)
			old, err := e.RoundTrip(r)
			must(t, err)
			e.cache.Purge(purge, e.ages.now())
			c := crowd{t, clients, "/page", nameless}
			for i, a := range c.ask(e) {
				if a.StatusCode != http.StatusOK || a.body != "response 2" {
					t.Errorf("client %d: %d %q", i, a.StatusCode, a.body)
				}
			}
			close(ends)
			if b, err := io.ReadAll(old.Body); err != nil || string(b) != "response 1" {
				t.Errorf("the first client got %q, %v", b, err)
			}
			old.Body.Close()
			if a := e.get(t, "/page"); asked.Load() != 2 || a.body != "response 2" {
				t.Errorf("the origin was asked %d times, the cache has %q", asked.Load(), a.body)
			}
		})
	}
}

// An origin of other software may answer an icon route with a response for one client only, or with
// a response that is stale at once. The same rule holds.
func TestCollapseOwnRoutes(t *testing.T) {
	t.Parallel()
	const clients = 50
	for name, row := range map[string]struct {
		fields []string
		asked  int64
	}{
		"max-age=0":     {[]string{"Cache-Control", "max-age=0"}, clients},
		"private":       {[]string{"Cache-Control", "private, max-age=60"}, clients},
		"no-cache":      {[]string{"Cache-Control", "no-cache"}, clients},
		"nothing said":  {nil, clients},
		"max-age":       {[]string{"Cache-Control", "max-age=60"}, 1},
		"its last use":  {[]string{"Cache-Control", "max-age=60", "Age", "60"}, clients},
		"Vary, dropped": {[]string{"Cache-Control", "max-age=60", "Vary", "Cookie"}, 1},
	} {
		for _, proxyAll := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, proxy all %v", name, proxyAll), func(t *testing.T) {
				app := &application{fields: row.fields}
				e := newEdgeTest(t, app, func(c *Config) { c.ProxyAll = proxyAll })
				app.change(func() { app.each = allWaiting(t, e, clients, clients-1) })
				c, collapsed := crowd{t, clients, "/mdi/home.svg", withCookies}, 0
				for _, a := range c.ask(e) {
					// The origin gets no cookie.
					if a.StatusCode != http.StatusOK || a.body != bodyFor("") {
						t.Errorf("%d %.40q", a.StatusCode, a.body)
					}
					if strings.Contains(a.Header.Get("Cache-Status"), "collapsed") {
						collapsed++
					}
				}
				if n := app.asked.Load(); n != row.asked || collapsed != clients-int(row.asked) {
					t.Errorf("the origin was asked %d times, want %d; %d collapsed", n, row.asked, collapsed)
				}
			})
		}
	}
}
