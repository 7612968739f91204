package edge

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/routes"
)

// A painter is an origin that serves its current picture at every path, with a validator.
type painter struct {
	fields            http.Header // replace or complement the usual ones
	picture, requests atomic.Int64
	broken            atomic.Bool
}

func (p *painter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == routes.ReleasePath {
		http.NotFound(w, r)
		return
	}
	p.requests.Add(1)
	if p.broken.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	h := w.Header()
	h.Set("Cache-Control", owntest.IconLife)
	for name, lines := range p.fields {
		h[name] = lines
	}
	h.Set("Surrogate-Key", "icon/x/y")
	h.Set("Content-Type", "image/svg+xml")
	etag := fmt.Sprintf(`"picture-%d"`, p.picture.Load())
	if h.Set("ETag", etag); r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	io.WriteString(w, p.shown())
}

func (p *painter) shown() string { return "picture " + strconv.FormatInt(p.picture.Load(), 10) }

// freshBelow reports whether a cache below considers a response fresh on arrival. It tries a shared
// cache, and a browser, which does not read the fields for shared caches.
func freshBelow(a answer) bool {
	now := time.Now()
	private := a.Header.Clone()
	for _, name := range []string{"Cdn-Cache-Control", "Iconedge-Cache-Control", "Surrogate-Control"} {
		private.Del(name)
	}
	return cachepolicy.NewEntry(200, a.Header, now, now).Fresh(now) || cachepolicy.NewEntry(200, private, now, now).Fresh(now)
}

// After soft purges at the shield and then at the edge, the edge serves the new response as soon as
// the shield has it. Until then, the response is stale for every cache below.
func TestSoftPurgeOfTwoTiers(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"/x/y.svg", "/some/where/else?x"} {
		for _, purge := range []string{`"urls":["` + target + `"]`, `"prefixes":["` + target[:2] + `"]`, `"surrogate_keys":["icon/x/y"]`} {
			t.Run(target+" by "+purge, func(t *testing.T) {
				t.Parallel()
				p := new(painter)
				all := func(c *Config) { c.ProxyAll = true }
				shield := runNode(t, before(t, serveOrigin(t, p)), all)
				n := runNode(t, before(t, shield.url()), all)
				for range 2 {
					call(t, n.url()+target)
				}
				p.picture.Add(1)
				for i, tier := range []*node{shield, n} {
					if code, got := tier.purge(t, `{`+purge+`,"soft":true}`); code != 200 || got != "{\"purged\":1}\n" {
						t.Fatalf("tier %d: %d %s", i, code, got)
					}
				}
				settled(t, "the new picture is served", func() bool {
					a := call(t, n.url()+target)
					if old := a.body != p.shown(); old == freshBelow(a) {
						t.Fatalf("%s, Age: %s, fresh below: %v, %q", a.body, a.Header.Get("Age"), !old, a.Header["Cache-Status"])
					}
					return a.body == p.shown()
				})
				if got := p.requests.Load(); got != 2 {
					t.Errorf("the origin received %d requests", got)
				}
			})
		}
	}
}

// purge sends a purge as an operator does.
func (n *node) purge(t *testing.T, body string) (int, string) {
	t.Helper()
	resp, err := http.Post("http://"+n.admin+"/purge", "application/json", strings.NewReader(body))
	must(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	return resp.StatusCode, string(b)
}

// While the shield has only stale responses, an edge sends it at most one request for each request
// of its own, one after the other. A confirmation by the shield does not make the response fresher.
func TestStaleShield(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"/x/y.svg", "/some/where/else"} {
		t.Run(target, func(t *testing.T) {
			p := new(painter)
			all := func(c *Config) { c.ProxyAll, c.TierSecretFile = true, secretFile(t, tierSecret) }
			shield := newEdgeTest(t, p, all)
			var requests, confirmed atomic.Int64
			e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				if r.Header.Get("If-None-Match") == `"picture-0"` {
					confirmed.Add(1)
				}
				shield.ServeHTTP(w, r)
			}), all)
			e.get(t, target)
			p.broken.Store(true)
			for _, tier := range []*edgeTest{shield, e} {
				if code, got := tier.purge(t, `{"urls":["`+target+`"],"soft":true}`); code != 200 || got != "{\"purged\":1}\n" {
					t.Fatalf("%d %s", code, got)
				}
			}
			before := requests.Load()
			for i := range int64(5) {
				shield.ages.move(time.Second)
				e.ages.move(time.Second)
				a := e.get(t, target)
				if age, _ := strconv.Atoi(a.Header.Get("Age")); a.body != "picture 0" || age < 86400 || freshBelow(a) {
					t.Fatalf("request %d: %s, Age: %s", i, a.body, a.Header.Get("Age"))
				}
				if status := strings.Join(a.Header["Cache-Status"],
					", "); !strings.Contains(status[strings.LastIndex(status, "iconedge"):], "iconedge; hit; ttl=-") {
					t.Errorf("request %d: Cache-Status: %s", i, status)
				}
				settled(t, "the shield has confirmed the entry",
					func() bool { return e.stored(target).Policy.AgeAt(e.ages.now()) >= 24*time.Hour })
				if got := requests.Load() - before; got > i+1 {
					t.Errorf("the shield received %d requests after %d requests to the edge", got, i+1)
				}
			}
			if confirmed.Load() == 0 {
				t.Error("the edge has sent no conditional request")
			}
			p.broken.Store(false)
			p.picture.Add(1)
			settled(t, "the new picture is served", func() bool { return e.get(t, target).body == "picture 1" })
		})
	}
}

// A softly purged response is fresh to no cache below, whatever its fields say, over every protocol
// and in every form.
func TestSoftPurgedIsStaleBelow(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	in := func(d time.Duration) []string { return []string{now.Add(d).Format(http.TimeFormat)} }
	for _, row := range []struct {
		name   string
		fields http.Header
		age    int // the least Age
		own    bool
	}{
		{"max-age", nil, 86400, true},
		{"a shorter lifetime for shared caches", http.Header{"Cdn-Cache-Control": {"max-age=60, stale-while-revalidate=600"}}, 86400, true},
		{"a longer lifetime for shared caches", http.Header{"Cdn-Cache-Control": {"max-age=100000, stale-while-revalidate=600"}}, 100000,
			true},
		{"a lifetime for other surrogates", http.Header{"Surrogate-Control": {"max-age=100000"},
			"Cdn-Cache-Control": {"max-age=60, stale-while-revalidate=600"}}, 100000, false},
		{"Expires", http.Header{"Cache-Control": {"stale-while-revalidate=600"}, "Date": in(0), "Expires": in(2 * time.Hour)}, 7200, true},
		{"a heuristic lifetime", http.Header{"Cache-Control": {"stale-while-revalidate=600"}, "Date": in(0),
			"Last-Modified": in(-1000 * time.Hour)}, 360000, true},
	} {
		p := &painter{fields: row.fields}
		s := newSecured(t, p, func(c *Config) { c.ProxyAll = true })
		targets := []string{"/some/where/else"}
		if row.own {
			targets = append(targets, "/x/y.svg")
		}
		for _, target := range targets {
			s.get(t, target)
			s.by(t, "h2").get(t, target) // https is another address on forwarded paths
		}
		p.broken.Store(true)
		if code, got := s.purge(t, `{"surrogate_keys":["icon/x/y"],"soft":true}`); code != 200 ||
			got != fmt.Sprintf("{\"purged\":%d}\n", len(targets)+1) {
			t.Fatalf("%s: %d %s", row.name, code, got)
		}
		for way := range wayOf {
			client := s.by(t, way)
			for _, target := range targets {
				for _, request := range [][]string{
					{"GET"}, {"HEAD"}, {"GET", "If-None-Match", `"picture-0"`}, {"GET", "Range", "bytes=0-1"},
					{"GET", "Cache-Control", "max-stale"}, {"GET", "Cache-Control", "only-if-cached"},
				} {
					a := client.do(t, request[0], target, request[1:]...)
					if request[len(request)-1] == "bytes=0-1" && a.StatusCode == http.StatusServiceUnavailable {
						continue // the edge forwards ranges of stale foreign responses
					}
					if age, err := strconv.Atoi(a.Header.Get("Age")); err != nil || age < row.age || freshBelow(a) || a.StatusCode >= 400 {
						t.Errorf("%s, %s, %s %v: %d, Age: %s, want %d at least", row.name, way, target, request,
							a.StatusCode, a.Header.Get("Age"), row.age)
					}
				}
			}
		}
	}
}

// A response that is being fetched during a soft purge is stale below too, because nobody knows
// which picture it shows.
func TestSoftPurgedInFlight(t *testing.T) {
	const key = "/x/y.svg"
	p := new(painter)
	came, may := make(chan struct{}), make(chan struct{})
	e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(came)
		<-may
		p.ServeHTTP(w, r)
	}))
	first := make(chan answer)
	go func() { first <- e.get(t, key) }()
	<-came
	e.purge(t, `{"urls":["`+key+`"],"soft":true}`)
	close(may)
	a := <-first
	if status := a.Header.Get("Cache-Status"); a.body != "picture 0" || freshBelow(a) || !strings.Contains(status, "stored; ttl=0") {
		t.Errorf("%s, Age: %s, Cache-Status: %s", a.body, a.Header.Get("Age"), status)
	}
}

// If the edge and its origin know different releases, the edge stores the origin's response for
// moments only. Served after that time, the response is fresh to no cache below.
func TestResponseOfAnotherReleaseIsStaleBelow(t *testing.T) {
	const key = "/mdi/home.svg"
	l := owntest.NewOrigin()
	e := newEdgeTest(t, l)
	must(t, e.library.Poll())
	l.Set(func() { l.Release = owntest.ReleaseB })
	if a := e.get(t, key); a.Header.Get("Age") != "" || !freshBelow(a) {
		t.Errorf("at first: Age: %s", a.Header.Get("Age"))
	}
	e.age(t, key, 4*time.Second)
	l.Set(func() { l.Broken = true })
	a := e.get(t, key)
	if status := a.Header.Get("Cache-Status"); a.StatusCode != 200 || !strings.Contains(status, "origin failed") || freshBelow(a) {
		t.Errorf("%d, Age: %s, Cache-Status: %s", a.StatusCode, a.Header.Get("Age"), status)
	}
	if e.cache.Get(key).Release != owntest.ReleaseB {
		t.Error("the entry belongs to the release that the edge knows")
	}
}

// A response that is stale by its age alone keeps its Age, because the origin may allow browsers a
// longer lifetime than the edge.
func TestStaleByAgeKeepsItsAge(t *testing.T) {
	const key = "/x/y.svg"
	e := newEdgeTest(t, &painter{fields: http.Header{"Cdn-Cache-Control": {"max-age=60, stale-while-revalidate=86400"}}})
	e.get(t, key)
	e.age(t, key, time.Hour)
	a := e.get(t, key)
	if age, err := strconv.Atoi(a.Header.Get("Age")); err != nil || age < 3600 || age > 7200 ||
		!strings.Contains(a.Header.Get("Cache-Status"), "; hit; ttl=-") {
		t.Errorf("Age: %s, Cache-Status: %s", a.Header.Get("Age"), a.Header.Get("Cache-Status"))
	}
}
