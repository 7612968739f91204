package edge

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/fetch/fetchtest"
)

// ask sends the requests of a crowd for a target, and returns the responses.
func (e *edgeTest) ask(t *testing.T, c fetchtest.Crowd, target string) []fetchtest.Reply {
	t.Helper()
	return c.Ask(func(fields ...string) fetchtest.Reply {
		a := e.get(t, target, fields...)
		return fetchtest.Reply{StatusCode: a.StatusCode, Header: a.Header, Body: a.body}
	})
}

// expire leaves in the cache an expired response for another client.
func expire(t *testing.T, e *edgeTest, app *fetchtest.Application, target string) {
	t.Helper()
	fields := app.Fields
	app.Change(func() { app.Fields = []string{"Cache-Control", "max-age=60"} })
	e.get(t, target, "X-Who", "another")
	// Until its fetch has ended, others may join it, and rightly get the response.
	settled(t, "it is stored", func() bool { return e.stored(target) != nil && e.cache.Callers() == 0 })
	e.age(t, target, 2*time.Minute)
	app.Change(func() { app.Fields = fields })
	app.Asked.Store(0)
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
					app := &fetchtest.Application{}
					// A thousand clients may keep the origin longer than the default timeout.
					s := newSecured(t, app, func(c *Config) { c.ProxyAll, c.OriginTimeout = true, 2*longEnough })
					if expired {
						expire(t, s.by(t, way).edgeTest, app, "/")
					}
					together := min(clients, 50) // within the stream limit of a connection
					app.Change(func() { app.Each = fetchtest.AllWaiting(t, s.cache.Callers, together, together-1) })
					c := fetchtest.Crowd{Clients: clients, Fields: fetchtest.WithCookies}
					if bodies, statuses := fetchtest.Wrong(s.by(t, way).edgeTest.ask(t, c, "/")); bodies != 0 || statuses != 0 {
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
				app := &fetchtest.Application{}
				all := func(c *Config) { c.ProxyAll = true }
				shield := newEdgeTest(t, app, all)
				e := newEdgeTest(t, shield, all)
				if expired {
					expire(t, e, app, "/")
					shield.age(t, "/", time.Minute)
				}
				// Within the edge's limit of connections.
				app.Change(func() { app.Each = fetchtest.AllWaiting(t, e.cache.Callers, clients, min(clients, 50)-1) })
				c := fetchtest.Crowd{Clients: clients, Fields: fetchtest.WithCookies}
				bodies := 0
				for i, a := range e.ask(t, c, "/") {
					if a.StatusCode != http.StatusOK || a.Body != fetchtest.BodyOf(i) ||
						strings.Contains(a.Header.Get("Cache-Status"), "collapsed") {
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

// An expired response on disk is revalidated for each client by itself.
func TestCollapseFromDisk(t *testing.T) {
	t.Parallel()
	// Stored, and stale at once.
	app := &fetchtest.Application{Fields: []string{"Cache-Control", "max-age=60", "Age", "60"}}
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
	app.Change(func() { app.Fields = nil })
	app.Asked.Store(0)
	const clients = 50
	var here atomic.Int64
	app.Change(func() {
		app.Each = func(_ int64, r *http.Request) {
			if r.Header.Get("If-None-Match") != "" {
				conditional.Add(1)
			}
			if here.Add(1) == 1 {
				fetchtest.Reached(t, "requests that wait in the edge", 1, func() int {
					return strings.Count(metricsOf(t, n.admin), fmt.Sprintf("iconedge_edge_waiting %d\n", clients))
				})
			}
		}
	})
	var wg sync.WaitGroup
	var wrong atomic.Int64
	for i := range clients {
		wg.Go(func() {
			if a := call(t, n.url()+"/", append(fetchtest.WithCookies(i), "Host", "edge.test")...); a.body != fetchtest.BodyOf(i) {
				wrong.Add(1)
			}
		})
	}
	wg.Wait()
	if wrong.Load() != 0 || conditional.Load() == 0 {
		t.Errorf("%d of %d responses were another client's; %d requests were conditional, so that something was found on disk",
			wrong.Load(), clients, conditional.Load())
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
				app := &fetchtest.Application{Fields: row.fields}
				e := newEdgeTest(t, app, func(c *Config) { c.ProxyAll = proxyAll })
				app.Change(func() { app.Each = fetchtest.AllWaiting(t, e.cache.Callers, clients, clients-1) })
				c, collapsed := fetchtest.Crowd{Clients: clients, Fields: fetchtest.WithCookies}, 0
				for _, a := range e.ask(t, c, "/mdi/home.svg") {
					// The origin gets no cookie.
					if a.StatusCode != http.StatusOK || a.Body != fetchtest.BodyFor("") {
						t.Errorf("%d %.40q", a.StatusCode, a.Body)
					}
					if strings.Contains(a.Header.Get("Cache-Status"), "collapsed") {
						collapsed++
					}
				}
				if n := app.Asked.Load(); n != row.asked || collapsed != clients-int(row.asked) {
					t.Errorf("the origin was asked %d times, want %d; %d collapsed", n, row.asked, collapsed)
				}
			})
		}
	}
}
