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

	"github.com/iconedge/iconedge/admin"
	"github.com/iconedge/iconedge/edge/eligible"
	"github.com/iconedge/iconedge/edge/fleet"
	"github.com/iconedge/iconedge/edge/fleet/fleettest"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/purge"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/icon"
)

// newSharing is an edge of a region, on a Redis.
func newSharing(t testing.TB, redis, region string, origin http.Handler, change ...func(*Config)) *edgeTest {
	t.Helper()
	return newEdgeTest(t, origin, append(change, func(c *Config) {
		c.Redis, c.Region, c.RedisTimeout = redis, region, time.Minute // a check waits for other tests here
	})...)
}

func TestSharedFlags(t *testing.T) {
	for _, row := range []struct{ redis, region, says string }{
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
		if got := fmt.Sprint(err); row.says == "" && err != nil || !strings.Contains(got, row.says) || strings.Contains(got, "secret") {
			t.Errorf("--redis %q --region %q: %v, want %q", row.redis, row.region, err, row.says)
		}
	}
}

// 200 calls of one client at once, at two edges of a region: the limit gets through, to the call. What it says of itself goes on from edge to edge.
func TestEdgesShareALimit(t *testing.T) {
	t.Parallel()
	s := fleettest.Start(t)
	hourly := func(c *Config) {
		must(t, c.Limits.Set("search=60/1h"))
		must(t, c.Limits.Set("icon=120/1h"))
	}
	edges := []*edgeTest{newSharing(t, s.URL, "here", newOurOrigin(), hourly), newSharing(t, s.URL, "here", newOurOrigin(), hourly)}
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
	for i, want := range []string{`"icon";r=119;t=3600`, `"icon";r=118;t=3`} { // and some hundred seconds
		if got := edges[i].get(t, "/api/v1/icon/mdi/home", "X-Forwarded-For", "192.0.2.7").Header.Get("RateLimit"); !strings.HasPrefix(got, want) {
			t.Errorf("RateLimit: %s, want %s", got, want)
		}
	}
	away := newSharing(t, s.URL, "there", newOurOrigin(), hourly)
	if a := away.get(t, "/api/v1/search?q=home", "X-Forwarded-For", "192.0.2.7"); a.Header.Get("RateLimit") != `"search";r=59;t=3600` {
		t.Errorf("another region: %d, RateLimit: %s", a.StatusCode, a.Header.Get("RateLimit"))
	}
}

// The tokens of a plan have windows that edges share, too.
func TestEdgesShareAPlansLimit(t *testing.T) {
	s := fleettest.Start(t)
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		e := newSharing(t, s.URL, "here", lifetime{newOurOrigin()}, func(c *Config) { must(t, c.Limits.Set("lifetime:search=1/1h")) })
		if a := e.get(t, "/api/v1/search?q=home", "Authorization", "Bearer "+good); a.StatusCode != want {
			t.Errorf("edge %d: %d, want %d", i, a.StatusCode, want)
		}
	}
}

// Who waits for Redis does not do so on the short way, where nobody may wait; what has no limit stays there.
func TestSharedLimitsLeaveTheShortWay(t *testing.T) {
	e := newSharing(t, fleettest.Start(t).URL, "", newOurOrigin())
	for target, short := range map[string]bool{"/mdi/home.svg": true, "/api/v1/icon/mdi/home": false} {
		must(t, e.library.Poll())
		e.get(t, target)
		e.get(t, target)
		q := &eligible.Request{Target: []byte(target), Host: []byte("edge.test"), Client: netip.MustParseAddr("192.0.2.7"), Now: time.Now()}
		if _, ok := e.Answer(nil, q); ok != short {
			t.Errorf("%s by the short way of HTTP/1.1: %v, want %v", target, ok, short)
		}
		if _, _, ok := e.AnswerH2(nil, q, new(h2.ClientTable)); ok != short {
			t.Errorf("%s by that of HTTP/2: %v, want %v", target, ok, short)
		}
	}
}

// Nothing that Redis does is an error to a client: the edge counts by itself, and knows what was used.
func TestLimitsWithoutRedis(t *testing.T) {
	s := fleettest.Start(t)
	e := newSharing(t, s.URL, "", newOurOrigin(), func(c *Config) { must(t, c.Limits.Set("search=3/1h")) })
	ask := func() int { return e.get(t, "/api/v1/search?q=home", "X-Forwarded-For", "192.0.2.7").StatusCode }
	first := ask()
	s.Kill()
	if got := fmt.Sprint(first, ask(), ask(), ask()); got != "200 200 200 429" {
		t.Errorf("the answers are %s", got)
	}
	w := httptest.NewRecorder()
	e.metrics.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range []string{
		"iconedge_edge_redis_up 0", `iconedge_edge_redis_checks_total{result="shared"} 1`, `iconedge_edge_redis_checks_total{result="local"} 3`,
		"iconedge_edge_redis_check_duration_seconds_count 1", "iconedge_edge_fleet_log_lost_total 0",
		`iconedge_edge_fleet_events_total{direction="sent",kind="purge"} 0`,
	} {
		if !strings.Contains(w.Body.String(), "\n"+line+"\n") {
			t.Errorf("the metrics do not say %s", line)
		}
	}
}

// A purge at one edge is done by all others, whatever their region, with everything that it says.
func TestPurgesAreShared(t *testing.T) {
	s := fleettest.Start(t)
	one, other := newSharing(t, s.URL, "here", newOurOrigin()), newSharing(t, s.URL, "there", newOurOrigin())
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
		t.Error("more was purged than was said")
	}
	if code, _ := one.purge(t, `{"urls":["/fc/apple.svg"],"soft":true}`); code != 200 {
		t.Fatal(code)
	}
	settled(t, "the other edge's is stale", func() bool {
		apple := other.cache.Get("/fc/apple.svg")
		return apple != nil && !apple.Freshness().Fresh(time.Now())
	})
}

// An edge that asked another before that one had purged too does not keep what it got: here, or where the purge was called for.
func TestPurgedAgain(t *testing.T) {
	t.Parallel()
	s := fleettest.Start(t)
	var drawing atomic.Value
	drawing.Store("old")
	shield := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", iconLife)
		io.WriteString(w, drawing.Load().(string))
	})
	one, other := newSharing(t, s.URL, "", shield), newSharing(t, s.URL, "", shield)
	one.get(t, "/mdi/home.svg")
	other.get(t, "/mdi/home.svg")
	settled(t, "both show the new drawing", func() bool { // where the machine stood still they had purged again before they asked
		drawing.Store("old")
		one.purge(t, `{"urls":["/mdi/home.svg"]}`)
		settled(t, "the other edge has purged", func() bool { return other.cache.Get("/mdi/home.svg") == nil })
		one.get(t, "/mdi/home.svg")
		other.get(t, "/mdi/home.svg") // the shield has not purged yet
		drawing.Store("new")
		time.Sleep(purge.RepeatAfter + purge.RepeatAfter/4)
		return one.get(t, "/mdi/home.svg").body == "new" && other.get(t, "/mdi/home.svg").body == "new"
	})
}

// Who calls for a purge is told when the others can't be.
func TestPurgeWithoutRedis(t *testing.T) {
	s := fleettest.Start(t)
	e := newSharing(t, s.URL, "", newOurOrigin())
	e.get(t, "/mdi/home.svg")
	s.Kill()
	r := httptest.NewRequest(http.MethodPost, "http://localhost/purge", strings.NewReader(`{"urls":["/mdi/home.svg"]}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	e.newAdmin(&admin.Access{}).Handler.ServeHTTP(w, r)
	if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "1 were purged here, but the other edges may not have heard") {
		t.Errorf("%d, Retry-After: %q, %s", w.Code, w.Header().Get("Retry-After"), w.Body)
	}
	if e.cache.Get("/mdi/home.svg") != nil {
		t.Error("it was not purged here either")
	}
}

// What another edge wrote may be anything.
func TestHearsAnything(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		kind    fleet.Kind
		data    string
		dropped bool
	}{
		{fleet.Purge, `{"urls":["/other"]}`, false},
		{fleet.Purge, `{"urls":["/other"],"regions":["there"]}`, true}, // of a later version
		{fleet.Purge, `{}`, true},
		{fleet.Purge, ``, true},
		{fleet.Purge, named(purge.MaxItems), false},
		{fleet.Purge, named(purge.MaxItems + 1), true},
		{fleet.Purge, `{"urls":["/` + strings.Repeat("o", purge.MaxEvent) + `"]}`, true},
		{fleet.Release, `../x`, false},
		{"later", `{}`, false},
	} {
		e := newSharing(t, fleettest.Start(t).URL, "", newOurOrigin())
		must(t, e.library.Poll()) // a release that is learnt for the first time drops all
		e.get(t, "/mdi/home.svg")
		e.follows.OnEvent(row.kind, row.data)
		if dropped := e.cache.Get("/mdi/home.svg") == nil; dropped != row.dropped {
			t.Errorf("%s %.80q: all is dropped: %v, want %v", row.kind, row.data, dropped, row.dropped)
		}
	}
}

// One edge learns of a release; the shield, which has just told the old one, and the edge behind it have it without having asked by themselves.
func TestReleaseIsToldToAll(t *testing.T) {
	t.Parallel()
	s, l := fleettest.Start(t), newOurOrigin()
	first, shield := newSharing(t, s.URL, "here", l), newSharing(t, s.URL, "here", l)
	behind := newSharing(t, s.URL, "there", shield)
	for _, e := range []*edgeTest{first, shield, behind} {
		must(t, e.library.Poll())
	}
	l.set(func() { l.release = releaseB })
	if got := releaseOf(t, shield, releaseA); got != releaseA && shield.library.Known() == releaseA {
		t.Fatalf("the shield tells of %s", got)
	}
	must(t, first.library.Poll())
	for i, e := range []*edgeTest{first, shield, behind} {
		settled(t, fmt.Sprint("the release is known to edge ", i), func() bool { return e.library.Known() == releaseB })
	}
	if sum := first.peers.Fleet.Stats().Events[fleet.Release].Sent; sum == 0 {
		t.Error("the first edge has not told the others")
	}
}

// An edge goes on asking for a release though it hears late of the one that it has, or learns of another on the way.
func TestReleaseIsAskedForOn(t *testing.T) {
	l := newOurOrigin()
	e := newSharing(t, fleettest.Start(t).URL, "", l)
	must(t, e.library.Poll())
	asked, open := make(chan struct{}, 1), make(chan struct{})
	l.set(func() { l.hold = func(string) { asked <- struct{}{}; <-open } })
	e.follows.OnEvent(fleet.Release, releaseB)
	<-asked
	e.follows.OnEvent(fleet.Release, releaseA)
	e.peers.AnnounceRelease(strings.Repeat("c", len(releaseA)))
	l.set(func() { l.release, l.hold = releaseB, nil })
	close(open) // who asked before is told of the old one
	settled(t, "the release is known", func() bool { return e.library.Known() == releaseB })
}

// A shield that hears of a release does not answer with what it was told a moment before.
func TestToldAnswerIsForgotten(t *testing.T) {
	l := newOurOrigin()
	shield := newSharing(t, fleettest.Start(t).URL, "", l)
	must(t, shield.library.Poll())
	for _, hears := range []func(){
		func() { shield.follows.OnEvent(fleet.Release, releaseB) },
		func() { must(t, shield.library.Poll()) }, // or learns of it
	} {
		before := shield.library.Known()
		releaseOf(t, shield, before)
		l.set(func() { l.release = map[string]string{releaseA: releaseB, releaseB: releaseA}[before] })
		hears()
		settled(t, "the release is known", func() bool { return shield.library.Known() != before })
		if got := releaseOf(t, shield, before); got == before {
			t.Errorf("the shield tells of %s still", got)
		}
	}
}

// releaseOf is the release that an edge tells other edges.
func releaseOf(t *testing.T, e *edgeTest, since string) string {
	t.Helper()
	var told icon.ReleaseAnswer
	must(t, json.Unmarshal([]byte(e.get(t, routes.ReleasePath+"?since="+since).body), &told))
	return told.Release
}
