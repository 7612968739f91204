package edge

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/fleet"
	"github.com/iconedge/iconedge/edge/fleet/fleettest"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/purge"
	"github.com/iconedge/iconedge/edge/request"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/internal/admin"
)

// newSharing starts an edge of a region that uses the given Redis.
func newSharing(t testing.TB, redis, region string, origin http.Handler, change ...func(*Config)) *edgeTest {
	t.Helper()
	return newEdgeTest(t, origin, append(change, func(c *Config) {
		// The timeout is long because a check may have to wait for other tests on this machine.
		c.Redis, c.Region, c.RedisTimeout = redis, region, time.Minute
	})...)
}

func TestSharedFlags(t *testing.T) {
	for _, row := range []struct{ redis, region, want string }{
		{"", "", ""},
		{"redis://:secret@10.0.0.7:6379/1", "eu-west.1", ""},
		{"rediss://10.0.0.7", "", ""},
		{"unix:///run/redis.sock", "", ""},
		{"10.0.0.7:6379", "", "--redis must be redis://"},
		{"redis://:secret@a:b", "", "--redis must be redis://"},
		{"", "a:b", "--region must consist of"},
		{"", strings.Repeat("a", 65), "--region must consist of"},
	} {
		var c Config
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		c.Flags(fs)
		err := fs.Parse([]string{"--redis", row.redis, "--region", row.region})
		if err == nil {
			err = c.Validate()
		}
		if got := fmt.Sprint(err); row.want == "" && err != nil || !strings.Contains(got, row.want) || strings.Contains(got, "secret") {
			t.Errorf("--redis %q --region %q: %v, want %q", row.redis, row.region, err, row.want)
		}
	}
}

// When one client makes 200 concurrent calls at two edges of a region, exactly the limit gets
// through. The window continues from edge to edge.
func TestEdgesShareALimit(t *testing.T) {
	t.Parallel()
	s := fleettest.Start(t)
	hourly := func(c *Config) {
		must(t, c.Limits.Set("search=60/1h"))
		must(t, c.Limits.Set("icon=120/1h"))
	}
	edges := []*edgeTest{newSharing(t, s.URL, "here", owntest.NewOrigin(), hourly),
		newSharing(t, s.URL, "here", owntest.NewOrigin(), hourly)}
	var through, refused atomic.Int64
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			switch a := edges[i%2].get(t, "/api/v1/search?q=home", "X-Forwarded-For", "192.0.2.7"); a.StatusCode {
			case http.StatusOK:
				through.Add(1)
			case http.StatusTooManyRequests:
				refused.Add(1)
			}
		})
	}
	all.Wait()
	if through.Load() != 60 || refused.Load() != 140 {
		t.Errorf("%d got through, %d were refused; want 60 and 140", through.Load(), refused.Load())
	}
	// The second edge's t may be a little less than 3600.
	for i, want := range []string{`"icon";r=119;t=3600`, `"icon";r=118;t=3`} {
		if got := edges[i].get(t, "/api/v1/icon/mdi/home", "X-Forwarded-For",
			"192.0.2.7").Header.Get("RateLimit"); !strings.HasPrefix(got, want) {
			t.Errorf("RateLimit: %s, want %s", got, want)
		}
	}
	away := newSharing(t, s.URL, "there", owntest.NewOrigin(), hourly)
	if a := away.get(t, "/api/v1/search?q=home", "X-Forwarded-For", "192.0.2.7"); a.Header.Get("RateLimit") != `"search";r=59;t=3600` {
		t.Errorf("another region: %d, RateLimit: %s", a.StatusCode, a.Header.Get("RateLimit"))
	}
}

// Edges also share the windows of a plan's tokens.
func TestEdgesShareAPlansLimit(t *testing.T) {
	s := fleettest.Start(t)
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		e := newSharing(t, s.URL, "here", lifetime{owntest.NewOrigin()}, func(c *Config) { must(t, c.Limits.Set("lifetime:search=1/1h")) })
		if a := e.get(t, "/api/v1/search?q=home", "Authorization", "Bearer "+good); a.StatusCode != want {
			t.Errorf("edge %d: %d, want %d", i, a.StatusCode, want)
		}
	}
}

// A request whose limit is shared leaves the hit path, which must not wait for Redis. A request
// without a limit stays on it.
func TestSharedLimitsLeaveTheHitPath(t *testing.T) {
	e := newSharing(t, fleettest.Start(t).URL, "", owntest.NewOrigin())
	for target, short := range map[string]bool{"/mdi/home.svg": true, "/api/v1/icon/mdi/home": false} {
		must(t, e.library.Poll())
		e.get(t, target)
		e.get(t, target)
		q := &request.Request{Target: []byte(target), Host: []byte("edge.test"), Client: netip.MustParseAddr("192.0.2.7"), Now: time.Now()}
		if _, ok := e.Answer(nil, q); ok != short {
			t.Errorf("%s on the hit path of HTTP/1.1: %v, want %v", target, ok, short)
		}
		if _, _, ok := e.AnswerH2(nil, q, new(h2.ClientTable)); ok != short {
			t.Errorf("%s on the hit path of HTTP/2: %v, want %v", target, ok, short)
		}
	}
}

// A failure of Redis is not an error for clients: the edge counts by itself, and includes the calls
// that it knows of.
func TestLimitsWithoutRedis(t *testing.T) {
	s := fleettest.Start(t)
	e := newSharing(t, s.URL, "", owntest.NewOrigin(), func(c *Config) { must(t, c.Limits.Set("search=3/1h")) })
	ask := func() int { return e.get(t, "/api/v1/search?q=home", "X-Forwarded-For", "192.0.2.7").StatusCode }
	first := ask()
	s.Kill()
	if got := fmt.Sprint(first, ask(), ask(), ask()); got != "200 200 200 429" {
		t.Errorf("the statuses are %s, want 200 200 200 429", got)
	}
	w := httptest.NewRecorder()
	e.metrics.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range []string{
		"iconedge_edge_redis_up 0", `iconedge_edge_redis_checks_total{result="shared"} 1`,
		`iconedge_edge_redis_checks_total{result="local"} 3`,
		"iconedge_edge_redis_check_duration_seconds_count 1", "iconedge_edge_fleet_log_lost_total 0",
		`iconedge_edge_fleet_events_total{direction="sent",kind="purge"} 0`,
	} {
		if !strings.Contains(w.Body.String(), "\n"+line+"\n") {
			t.Errorf("the metrics lack %s", line)
		}
	}
}

// A purge at one edge reaches the edges of all regions, with all of its options.
func TestPurgesAreShared(t *testing.T) {
	s := fleettest.Start(t)
	one, other := newSharing(t, s.URL, "here", owntest.NewOrigin()), newSharing(t, s.URL, "there", owntest.NewOrigin())
	for _, e := range []*edgeTest{one, other} {
		must(t, e.library.Poll())
		e.get(t, "/mdi/home.svg")
		e.get(t, "/fc/apple.svg")
	}
	if code, got := one.purge(t, `{"surrogate_keys":["pack/mdi"]}`); code != 200 || got != "{\"purged\":1}\n" {
		t.Fatalf("%d %s", code, got)
	}
	settled(t, "the other edge has purged", func() bool { return other.cache.Get("/mdi/home.svg") == nil })
	if other.cache.Get("/fc/apple.svg") == nil {
		t.Error("the other edge purged more than the call names")
	}
	if code, _ := one.purge(t, `{"urls":["/fc/apple.svg"],"soft":true}`); code != 200 {
		t.Fatal(code)
	}
	settled(t, "the other edge's entry is stale", func() bool {
		apple := other.cache.Get("/fc/apple.svg")
		return apple != nil && !apple.Freshness().Fresh(other.ages.now())
	})
}

// An edge may fetch from another edge that has not purged yet. Because purges are repeated, it does
// not keep the old response, and neither does the edge that received the purge.
func TestPurgedAgain(t *testing.T) {
	t.Parallel()
	s := fleettest.Start(t)
	var body atomic.Value
	body.Store("old")
	shield := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", owntest.IconLife)
		io.WriteString(w, body.Load().(string))
	})
	one, other := newSharing(t, s.URL, "", shield), newSharing(t, s.URL, "", shield)
	one.get(t, "/mdi/home.svg")
	other.get(t, "/mdi/home.svg")
	settled(t, "both serve the new icon", func() bool { // again if the repeat came too early
		body.Store("old")
		one.purge(t, `{"urls":["/mdi/home.svg"]}`)
		settled(t, "the other edge has purged", func() bool { return other.cache.Get("/mdi/home.svg") == nil })
		one.get(t, "/mdi/home.svg")
		other.get(t, "/mdi/home.svg") // the shield has not purged yet
		body.Store("new")
		time.Sleep(purge.RepeatAfter + purge.RepeatAfter/4)
		return one.get(t, "/mdi/home.svg").body == "new" && other.get(t, "/mdi/home.svg").body == "new"
	})
}

// If the other edges can't be reached, the caller of a purge gets a 503.
func TestPurgeWithoutRedis(t *testing.T) {
	s := fleettest.Start(t)
	e := newSharing(t, s.URL, "", owntest.NewOrigin())
	e.get(t, "/mdi/home.svg")
	s.Kill()
	r := httptest.NewRequest(http.MethodPost, "http://localhost/purge", strings.NewReader(`{"urls":["/mdi/home.svg"]}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	e.newAdmin(&admin.Access{}).Handler.ServeHTTP(w, r)
	if w.Code != 503 || w.Header().Get("Retry-After") == "" ||
		!strings.Contains(w.Body.String(), "1 were purged here, but the other edges may not have heard") {
		t.Errorf("%d, Retry-After: %q, %s", w.Code, w.Header().Get("Retry-After"), w.Body)
	}
	if e.cache.Get("/mdi/home.svg") != nil {
		t.Error("the purge was not done here either")
	}
}

// Another edge may send any data. If a purge can't be read, the edge drops everything.
func TestAnyEventIsHandled(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		kind    fleet.Kind
		data    string
		dropped bool
	}{
		{fleet.Purge, `{"urls":["/other"]}`, false},
		{fleet.Purge, `{"urls":["/other"],"regions":["there"]}`, true}, // from a later version
		{fleet.Purge, `{}`, true},
		{fleet.Purge, ``, true},
		{fleet.Purge, `{"urls":["/` + strings.Repeat("o", purge.MaxEvent) + `"]}`, true},
		{fleet.Release, `../x`, false},
		{"later", `{}`, false},
	} {
		e := newSharing(t, fleettest.Start(t).URL, "", owntest.NewOrigin())
		must(t, e.library.Poll()) // the first release drops everything
		e.get(t, "/mdi/home.svg")
		e.follows.OnEvent(row.kind, row.data)
		if dropped := e.cache.Get("/mdi/home.svg") == nil; dropped != row.dropped {
			t.Errorf("%s %.80q: everything is dropped: %v, want %v", row.kind, row.data, dropped, row.dropped)
		}
	}
}

// When one edge learns of a release, the others have it without polling: the shield, which has just
// answered with the old release, and the edge behind it.
func TestReleaseReachesAllEdges(t *testing.T) {
	t.Parallel()
	s, l := fleettest.Start(t), owntest.NewOrigin()
	first, shield := newSharing(t, s.URL, "here", l), newSharing(t, s.URL, "here", l)
	behind := newSharing(t, s.URL, "there", shield)
	for _, e := range []*edgeTest{first, shield, behind} {
		must(t, e.library.Poll())
	}
	l.Set(func() { l.Release = owntest.ReleaseB })
	if got := releaseOf(t, shield, owntest.ReleaseA); got != owntest.ReleaseA && shield.library.Known() == owntest.ReleaseA {
		t.Fatalf("the shield answers with %s", got)
	}
	must(t, first.library.Poll())
	for i, e := range []*edgeTest{first, shield, behind} {
		settled(t, fmt.Sprint("the release is known to edge ", i), func() bool { return e.library.Known() == owntest.ReleaseB })
	}
	settled(t, "the first edge has announced the release", func() bool { return first.peers.Fleet.Stats().Events[fleet.Release].Sent > 0 })
}

// An edge keeps polling for a new release even if an event names the release that it has, or
// another one, meanwhile.
func TestReleaseIsPolledUntilFound(t *testing.T) {
	l := owntest.NewOrigin()
	e := newSharing(t, fleettest.Start(t).URL, "", l)
	must(t, e.library.Poll())
	polled, open := make(chan struct{}, 1), make(chan struct{})
	l.Set(func() { l.Hold = func(string) { polled <- struct{}{}; <-open } })
	e.follows.OnEvent(fleet.Release, owntest.ReleaseB)
	<-polled
	e.follows.OnEvent(fleet.Release, owntest.ReleaseA)
	e.peers.AnnounceRelease(strings.Repeat("c", len(owntest.ReleaseA)))
	l.Set(func() { l.Release, l.Hold = owntest.ReleaseB, nil })
	close(open) // the first poll gets the old release
	settled(t, "the release is known", func() bool { return e.library.Known() == owntest.ReleaseB })
}

// A shield that gets the event of a release discards the release answer that it fetched a moment
// before.
func TestReleaseEventDiscardsAnswer(t *testing.T) {
	l := owntest.NewOrigin()
	shield := newSharing(t, fleettest.Start(t).URL, "", l)
	must(t, shield.library.Poll())
	for _, learn := range []func(){
		func() { shield.follows.OnEvent(fleet.Release, owntest.ReleaseB) },
		func() { must(t, shield.library.Poll()) }, // or polls it
	} {
		before := shield.library.Known()
		releaseOf(t, shield, before)
		l.Set(func() {
			l.Release = map[string]string{owntest.ReleaseA: owntest.ReleaseB, owntest.ReleaseB: owntest.ReleaseA}[before]
		})
		learn()
		settled(t, "the release is known", func() bool { return shield.library.Known() != before })
		if got := releaseOf(t, shield, before); got == before {
			t.Errorf("the shield still answers with %s", got)
		}
	}
}

// releaseOf returns the release that an edge reports to other edges.
func releaseOf(t *testing.T, e *edgeTest, since string) string {
	t.Helper()
	var reported icon.ReleaseAnswer
	must(t, json.Unmarshal([]byte(e.get(t, routes.ReleasePath+"?since="+since).body), &reported))
	return reported.Release
}

// Cache-Group-Invalidation reaches the other edges of the fleet, those of the same host alone.
func TestCacheGroupsOfFleet(t *testing.T) {
	t.Parallel()
	s := fleettest.Start(t)
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.Header().Set("Cache-Group-Invalidation", `"home"`)
			return
		}
		w.Header().Set("Cache-Control", "max-age=600")
		w.Header().Set("Cache-Groups", `"home"`)
		io.WriteString(w, "page")
	})
	proxying := func(c *Config) { c.ProxyAll = true }
	here, there := newSharing(t, s.URL, "here", app, proxying), newSharing(t, s.URL, "there", app, proxying)
	hit := func(host string) bool {
		return strings.Contains(there.get(t, "/page", "Host", host).Header.Get("Cache-Status"), "hit")
	}
	for _, host := range []string{"a.test", "b.test"} {
		there.get(t, "/page", "Host", host)
		if !hit(host) {
			t.Errorf("the page of %s is not stored", host)
		}
	}
	here.do(t, http.MethodPost, "/basket", "Host", "a.test")
	settled(t, "the other edge has heard of the group", func() bool { return !hit("a.test") })
	if !hit("b.test") {
		t.Error("the page of another host is stale")
	}
}
