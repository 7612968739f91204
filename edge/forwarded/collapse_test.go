package forwarded

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/fetch/fetchtest"
	"github.com/iconedge/iconedge/edge/pipeline/pipelinetest"
	"github.com/iconedge/iconedge/edge/routes"
)

// ask sends the requests of a crowd for a target, and returns the responses.
func (e *test) ask(t *testing.T, c fetchtest.Crowd, target string) []fetchtest.Reply {
	t.Helper()
	return c.Ask(func(fields ...string) fetchtest.Reply {
		a := e.get(t, target, fields...)
		return fetchtest.Reply{StatusCode: a.StatusCode, Header: a.Header, Body: a.Body}
	})
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
func expire(t *testing.T, e *test, app *fetchtest.Application, target string) {
	t.Helper()
	fields := app.Fields
	app.Change(func() { app.Fields = []string{"Cache-Control", "max-age=60"} })
	e.get(t, target, "X-Who", "another")
	// Until its fetch has ended, others may join it, and rightly get the response.
	fetchtest.Settled(t, "it is stored", func() bool { return e.Cache.Get("http://edge.test"+target) != nil && e.Cache.Callers() == 0 })
	e.age(t, target, 2*time.Minute)
	app.Change(func() { app.Fields = fields })
	app.Asked.Store(0)
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
			for who, of := range map[string]func(int) []string{"cookies": fetchtest.WithCookies, "no cookies": fetchtest.Nameless} {
				for _, expired := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s, streams %v, %s, expired %v", name, streams, who, expired), func(t *testing.T) {
						t.Parallel()
						app := &fetchtest.Application{Fields: fields, Streams: streams}
						e := newTestOf(t, fetchtest.New(t, app))
						if expired {
							expire(t, e, app, "/")
						}
						app.Change(func() { app.Each = fetchtest.AllWaiting(t, e.Cache.Callers, clients, clients-1) })
						c := fetchtest.Crowd{Clients: clients, Fields: of}
						if bodies, statuses := fetchtest.Wrong(e.ask(t, c, "/")); bodies != 0 || statuses != 0 {
							t.Errorf("%d of %d responses were another client's, %d claim to be hits or collapsed",
								bodies, clients, statuses)
						}
						if n := app.Asked.Load(); n != int64(clients) {
							t.Errorf("the origin was asked %d times by %d clients", n, clients)
						}
					})
				}
			}
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
	}{"cookies": {fetchtest.WithCookies, false}, "no cookies": {fetchtest.Nameless, true}} {
		t.Run(who, func(t *testing.T) {
			app := &fetchtest.Application{Shared: row.shared,
				Fields: []string{"Last-Modified", time.Now().Add(-24 * time.Hour).UTC().Format(http.TimeFormat)}}
			e := newTestOf(t, fetchtest.New(t, app))
			app.Change(func() { app.Each = fetchtest.AllWaiting(t, e.Cache.Callers, clients, clients-1) })
			c := fetchtest.Crowd{Clients: clients, Fields: row.of}
			all := e.ask(t, c, "/")
			if right, collapsed, _ := sharedOf(all); row.shared && (right != clients || collapsed != clients-1) {
				t.Errorf("%d are right, %d collapsed", right, collapsed)
			}
			if bodies, statuses := fetchtest.Wrong(all); !row.shared && (bodies != 0 || statuses != 0) {
				t.Errorf("%d responses were another client's, %d claim to be hits or collapsed", bodies, statuses)
			}
		})
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
				app := &fetchtest.Application{Shared: shared}
				e := newTestOf(t, fetchtest.New(t, app))
				mine := e.get(t, "/", fetchtest.WithCookies(0)...)
				e.Cache.MarkHitForPass("http://edge.test/\x00credentials", false, e.Now())
				e.Cache.Purge(cache.Purge{All: true}, e.Now())
				if expired {
					expire(t, e, app, "/")
				}
				app.Asked.Store(0)
				app.Change(func() { app.Each = fetchtest.AllWaiting(t, e.Cache.Callers, clients, clients-1) })
				c := fetchtest.Crowd{Clients: clients, Fields: func(i int) []string {
					if i%10 == 0 {
						return append(fetchtest.WithCookies(i), "If-None-Match", mine.Header.Get("Etag"))
					}
					return fetchtest.WithCookies(i)
				}}
				for i, a := range e.ask(t, c, "/") {
					want := fetchtest.BodyOf(i)
					if shared {
						want = fetchtest.BodyFor(fetchtest.Everybody)
					}
					code := http.StatusOK
					if i == 0 || shared && i%10 == 0 {
						code, want = http.StatusNotModified, ""
					}
					if a.StatusCode != code || a.Body != want {
						t.Errorf("client %d: %d %.30q, want %d %.30q", i, a.StatusCode, a.Body, code, want)
					}
				}
			})
		}
	}
}

// sharedOf counts the responses of a crowd with the application's one body, and those of them that
// were collapsed or stored.
func sharedOf(all []fetchtest.Reply) (right, collapsed, stored int) {
	for _, a := range all {
		if a.StatusCode == http.StatusOK && a.Body == fetchtest.BodyFor(fetchtest.Everybody) {
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
		return fetchtest.WithCookies(i)
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
		"max-age":                 {"Cache-Control", "public, max-age=60"},
		"s-maxage":                {"Cache-Control", "s-maxage=60"},
		"targeted":                {"Cache-Control", "no-store", "CDN-Cache-Control", "public, max-age=60"},
		"stale while revalidated": {"Cache-Control", "public, max-age=0, stale-while-revalidate=60"},
		"a field for one client": {"Cache-Control", `public, max-age=60, private="X-Mine", no-cache="X-Too"`,
			"X-Mine", "1", "X-Too", "1"},
		"Vary that all agree in":      {"Cache-Control", "public, max-age=60", "Vary", "Accept-Language"},
		"must-revalidate while fresh": {"Cache-Control", "max-age=60, must-revalidate"},
	} {
		for _, streams := range []bool{false, true} {
			for who, of := range map[string]func(int) []string{"cookies": fetchtest.WithCookies,
				"no cookies": fetchtest.Nameless, "mixed": mixed} {
				clients := 50
				switch {
				case name != "max-age" || who != "mixed":
				case testing.Short():
					clients = 200
				default:
					clients = 1000
				}
				t.Run(fmt.Sprintf("%s, streams %v, %s", name, streams, who), func(t *testing.T) {
					app := &fetchtest.Application{Fields: fields, Streams: streams, Shared: true}
					e := newTestOf(t, fetchtest.New(t, app))
					app.Change(func() { app.Each = fetchtest.AllWaiting(t, e.Cache.Callers, clients, clients) })
					c, mine := fetchtest.Crowd{Clients: clients, Fields: of}, 0
					all := e.ask(t, c, "/")
					for _, a := range all {
						if a.Header.Get("X-Mine") != "" || a.Header.Get("X-Too") != "" {
							mine++
						}
					}
					right, collapsed, stored := sharedOf(all)
					if n := app.Asked.Load(); n != 1 || right != clients || collapsed != clients-1 || !streams && stored != 1 || mine > 1 {
						t.Errorf("the origin was asked %d times; %d are right, %d collapsed, %d stored; %d have the "+
							"field for one client; the first response is %d %q, %s",
							n, right, collapsed, stored, mine, all[0].StatusCode, all[0].Body, all[0].Header.Get("Cache-Status"))
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
	var e *test
	e = newTestOf(t, fetchtest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := asked.Add(1); n == 1 {
			fetchtest.Reached(t, "requests that wait in the edge", clients, e.Cache.Callers)
		} else { // these go at the same time, and their clients wait again
			fetchtest.Reached(t, "requests to the origin", languages, func() int { return int(asked.Load()) })
			again.Do(func() {
				fetchtest.Reached(t, "requests that wait in the edge", clients*(languages-1)/languages, e.Cache.Callers)
			})
		}
		fetchtest.Says(r.Header.Get("X-Language"), "Cache-Control", "max-age=60", "Vary", "X-Language")(w, r)
	})))
	c := fetchtest.Crowd{Clients: clients, Fields: func(i int) []string { return []string{"X-Language", fmt.Sprint(i % languages)} }}
	for i, a := range e.ask(t, c, "/") {
		if a.Body != fmt.Sprint(i%languages) {
			t.Errorf("client %d got the variant %q", i, a.Body)
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
	app := &fetchtest.Application{Shared: true, Fields: []string{"Cache-Control", "max-age=60"}}
	e := newTestOf(t, fetchtest.New(t, app))
	first := make(chan struct{})
	app.Change(func() {
		app.Each = func(n int64, _ *http.Request) {
			switch n {
			case 1:
				close(first)
				fetchtest.Reached(t, "requests that wait in the edge", clients, e.Cache.Callers)
			case 2:
				fetchtest.Reached(t, "requests that wait in the edge", clients-1, e.Cache.Callers)
			}
		}
	})
	var wg sync.WaitGroup
	wg.Go(func() { e.get(t, "/", "Authorization", "Bearer mine") })
	<-first
	c := fetchtest.Crowd{Clients: clients - 1, Fields: fetchtest.Nameless}
	right, collapsed, _ := sharedOf(e.ask(t, c, "/"))
	wg.Wait()
	if n := app.Asked.Load(); n != 2 || right != clients-1 || collapsed != clients-2 {
		t.Errorf("the origin was asked %d times, want 2; %d are right, %d collapsed", n, right, collapsed)
	}
	if e.Cache.IsHitForPass("http://edge.test/", e.Now()) {
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
		"500":                    {500, nil, fetchtest.Nameless, true},
		"503 with a validator":   {503, []string{"Cache-Control", "no-cache", "ETag", `"x"`}, fetchtest.Nameless, true},
		"507":                    {507, nil, fetchtest.Nameless, true},
		"502 streamed":           {502, []string{"Content-Type", "text/event-stream"}, fetchtest.Nameless, true},
		"500 that varies":        {500, []string{"Vary", "*"}, fetchtest.Nameless, true},
		"500 private":            {500, []string{"Cache-Control", "private"}, fetchtest.Nameless, false},
		"500 no-store":           {500, []string{"Cache-Control", "no-store"}, fetchtest.Nameless, false},
		"500 with a cookie":      {500, []string{"Set-Cookie", "a=b"}, fetchtest.Nameless, false},
		"500, private elsewhere": {500, []string{"CDN-Cache-Control", "private"}, fetchtest.Nameless, false},
		"500 to cookies":         {500, nil, fetchtest.WithCookies, false},
		"500, fresh, to cookies": {500, []string{"Cache-Control", "max-age=60"}, fetchtest.WithCookies, true},
		"404":                    {404, nil, fetchtest.Nameless, false},
		"403 to cookies":         {403, nil, fetchtest.WithCookies, false},
	} {
		clients := 60
		if name == "500" || name == "404" {
			clients = 300
		}
		t.Run(name, func(t *testing.T) {
			app := &fetchtest.Application{Status: row.status, Fields: row.fields, Shared: row.shared}
			e := newTestOf(t, fetchtest.New(t, app))
			app.Change(func() { app.Each = fetchtest.AllWaiting(t, e.Cache.Callers, clients, 50) })
			c := fetchtest.Crowd{Clients: clients, Fields: row.of}
			for i, a := range e.ask(t, c, "/") {
				want := fetchtest.BodyOf(i)
				if row.shared {
					want = fetchtest.BodyFor(fetchtest.Everybody)
				}
				if a.StatusCode != row.status || a.Body != want {
					t.Errorf("client %d: %d %.40q, want %d %.40q", i, a.StatusCode, a.Body, row.status, want)
				}
			}
			if n := app.Asked.Load(); n != map[bool]int64{true: 1, false: int64(clients)}[row.shared] {
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
		{"no cookie, before cookies", nil, fetchtest.WithCookies, 1 + clients},
		{"a cookie, before none", fetchtest.WithCookies(-1), fetchtest.Nameless, 2},
		{"Authorization, before none", []string{"Authorization", "Bearer x"}, fetchtest.Nameless, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			var asked atomic.Int64
			first := make(chan struct{})
			var e *test
			e = newTestOf(t, fetchtest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch n := asked.Add(1); {
				case n == 1:
					close(first)
					fetchtest.Reached(t, "requests that wait in the edge", 1+clients, e.Cache.Callers)
					w.WriteHeader(http.StatusInternalServerError)
					return
				case row.requests == 2:
					fetchtest.Reached(t, "requests that wait in the edge", clients, e.Cache.Callers)
					w.Header().Set("Cache-Control", "max-age=60")
				}
				io.WriteString(w, fetchtest.BodyFor(fetchtest.Identity(r)))
			})))
			var wg sync.WaitGroup
			wg.Go(func() {
				if a := e.get(t, "/", row.first...); a.StatusCode != http.StatusInternalServerError {
					t.Errorf("the first client got %d", a.StatusCode)
				}
			})
			<-first
			c := fetchtest.Crowd{Clients: clients, Fields: row.of}
			for i, a := range e.ask(t, c, "/") {
				if a.StatusCode != http.StatusOK || row.requests > 2 && a.Body != fetchtest.BodyOf(i) {
					t.Errorf("client %d: %d %.40q", i, a.StatusCode, a.Body)
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
	}{"no cookies": {fetchtest.Nameless, true}, "cookies": {fetchtest.WithCookies, false}} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			var e *test
			e = newTestOf(t, fetchtest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body := fetchtest.BodyFor(fetchtest.Identity(r))
				w.Header().Set("Content-Length", fmt.Sprint(len(body)))
				if asked.Add(1) > 1 {
					io.WriteString(w, body)
					return
				}
				fetchtest.Reached(t, "requests that wait in the edge", clients, e.Cache.Callers)
				io.WriteString(w, body[:10])
			}), func(_ *cache.Options, b *fetch.Bounds) { b.Hold = fetchtest.LongEnough }))
			c, failed := fetchtest.Crowd{Clients: clients, Fields: row.of}, 0
			for i, a := range e.ask(t, c, "/") {
				switch {
				case a.StatusCode == http.StatusBadGateway:
					failed++
				case a.Body != fetchtest.BodyOf(i):
					t.Errorf("client %d: %d %.40q", i, a.StatusCode, a.Body)
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
	app := &fetchtest.Application{Fields: []string{"Cache-Control", "private"}}
	e := newTestOf(t, fetchtest.New(t, app))
	e.get(t, "/", "X-Who", "first")
	var here atomic.Int64
	all := make(chan struct{})
	app.Change(func() {
		app.Each = func(int64, *http.Request) {
			if here.Add(1) == clients {
				close(all)
			}
			select {
			case <-all: // no request waits for another
			case <-time.After(fetchtest.LongEnough):
				t.Errorf("%d requests are at the origin at once", here.Load())
			}
		}
	})
	c := fetchtest.Crowd{Clients: clients, Fields: fetchtest.Nameless}
	if bodies, statuses := fetchtest.Wrong(e.ask(t, c, "/")); bodies != 0 || statuses != 0 {
		t.Errorf("%d are another client's, %d claim to be collapsed", bodies, statuses)
	}
	app.Change(func() { app.Each, app.Shared, app.Fields = nil, true, []string{"Cache-Control", "max-age=60"} })
	e.get(t, "/")
	e.Cache.Purge(cache.Purge{All: true}, e.Now())
	app.Asked.Store(0)
	app.Change(func() { app.Each = fetchtest.AllWaiting(t, e.Cache.Callers, clients, clients) })
	if right, collapsed, _ := sharedOf(e.ask(t, c, "/")); right != clients || collapsed != clients-1 || app.Asked.Load() != 1 {
		t.Errorf("%d right, %d collapsed, the origin was asked %d times", right, collapsed, app.Asked.Load())
	}
}

// Requests that arrive after a purge do not wait for the purged response. They share one more
// request to the origin.
func TestCollapsePurged(t *testing.T) {
	const clients = 50
	app := &fetchtest.Application{Shared: true, Fields: []string{"Cache-Control", "max-age=60"}}
	e := newTestOf(t, fetchtest.New(t, app))
	old := make(chan pipelinetest.Answer, 1)
	purged, shared := make(chan struct{}), make(chan struct{})
	app.Change(func() {
		app.Each = func(n int64, _ *http.Request) {
			switch n {
			case 1:
				e.Cache.Purge(cache.Purge{All: true}, e.Now())
				close(purged)
				<-shared
			case 2:
				fetchtest.Reached(t, "requests that wait in the edge", clients, e.Cache.Callers)
				close(shared)
			}
		}
	})
	go func() { old <- e.get(t, "/") }()
	<-purged
	c := fetchtest.Crowd{Clients: clients, Fields: fetchtest.WithCookies}
	if right, _, _ := sharedOf(e.ask(t, c, "/")); right != clients || app.Asked.Load() != 2 {
		t.Errorf("%d right, the origin was asked %d times, want 2", right, app.Asked.Load())
	}
	<-old
}

// Requests that arrive after a purge share one fetch, although the purged response is still
// arriving, slowly.
func TestCollapsePurgedStream(t *testing.T) {
	t.Parallel()
	const clients = 50
	for name, purge := range map[string]cache.Purge{
		"everything": {All: true}, "address": {Tags: []string{cache.TargetTag("/page")}},
		"key": {Keys: []string{routes.ForwardedKey("http", "edge.test", "/page")}}, "surrogate key": {Tags: []string{"article"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			ends := make(chan struct{})
			var e *test
			e = newTestOf(t, fetchtest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Cache-Control", "max-age=60")
				w.Header().Set("Surrogate-Key", "article")
				n := asked.Add(1)
				fmt.Fprintf(w, "response %d", n)
				w.(http.Flusher).Flush()
				if n == 1 {
					<-ends
				} else {
					fetchtest.Reached(t, "requests that wait in the edge", clients, e.Cache.Callers)
				}
			})))
			_, old := e.open(t, "/page")
			e.Cache.Purge(purge, e.Now())
			c := fetchtest.Crowd{Clients: clients, Fields: fetchtest.Nameless}
			for i, a := range e.ask(t, c, "/page") {
				if a.StatusCode != http.StatusOK || a.Body != "response 2" {
					t.Errorf("client %d: %d %q", i, a.StatusCode, a.Body)
				}
			}
			close(ends)
			if b, err := io.ReadAll(old); err != nil || string(b) != "response 1" {
				t.Errorf("the first client got %q, %v", b, err)
			}
			old.Close()
			if a := e.get(t, "/page"); asked.Load() != 2 || a.Body != "response 2" {
				t.Errorf("the origin was asked %d times, the cache has %q", asked.Load(), a.Body)
			}
		})
	}
}
