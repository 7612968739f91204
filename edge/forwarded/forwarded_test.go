package forwarded

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/cachepolicy"
	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/fetch/fetchtest"
	"github.com/iconedge/iconedge/edge/pipeline"
	"github.com/iconedge/iconedge/edge/pipeline/pipelinetest"
	"github.com/iconedge/iconedge/edge/ratelimit"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/edge/tunnel"
	"github.com/iconedge/iconedge/edge/vhosts"
	"github.com/iconedge/iconedge/internal/problem"
)

// A test is an Answerer alone, in front of an application of the test.
type test struct {
	*fetchtest.Room
	*Answerer
	site *vhosts.Site

	mu      sync.Mutex
	outcome exchange.Outcome // of the last request
}

// newTest returns an Answerer for a site with the settings of flags, which change may change.
func newTest(t testing.TB, pages map[string]http.HandlerFunc,
	change ...func(*vhosts.Settings, *cachepolicy.Policy)) (*test, *fetchtest.Pages) {
	t.Helper()
	app := fetchtest.NewPages(pages)
	return newTestOf(t, fetchtest.New(t, app), change...), app
}

// newTestOf returns an Answerer with the components of a room.
func newTestOf(t testing.TB, room *fetchtest.Room, change ...func(*vhosts.Settings, *cachepolicy.Policy)) *test {
	t.Helper()
	settings, policy := vhosts.Settings{Icons: vhosts.Off}, cachepolicy.Policy{SafeCookies: true, IgnoreRevalidation: true}
	for _, c := range change {
		c(&settings, &policy)
	}
	site := settings.Site(true, policy, nil)
	site.ProxyAll, site.Origins = true, map[string]*vhosts.Upstream{"": {Client: room.Client, ClientHost: true}}
	set := vhosts.Single(site, nil)
	admission := access.NewAdmission(access.Options{Observer: room.Metrics, Clock: room.Now})
	return &test{Room: room, site: site, Answerer: &Answerer{Options: Options{Bounds: room.Bounds, Clock: room.Now,
		Cache: room.Cache, Library: room.Library, Admission: admission,
		Tunnels: tunnel.NewSet(tunnel.Limits{}), Sites: func() *vhosts.Set { return set }}, Finder: room.Finder, Writer: room.Writer}}
}

// answer sends a request, whose URL is a target.
func (e *test) answer(t testing.TB, m pipelinetest.Message) *pipeline.Request {
	t.Helper()
	m.URL = "http://edge.test" + m.URL
	return e.answerURL(t, m)
}

// answerURL sends a request with a whole URL.
func (e *test) answerURL(t testing.TB, m pipelinetest.Message) *pipeline.Request {
	t.Helper()
	r := pipelinetest.New(t, e.site, e.Now(), m)
	r.Route, r.Forwarded = routes.Forwarded, true
	outcome, err := e.Answer(r)
	if err != nil {
		e.Answerer.Writer.Fail(r, problem.From(err))
	}
	e.mu.Lock()
	e.outcome = outcome
	e.mu.Unlock()
	return r
}

// send sends a request with a body, and reads the response.
func (e *test) send(t testing.TB, method, target, body string, fields ...string) pipelinetest.Answer {
	t.Helper()
	return pipelinetest.Read(e.answer(t, pipelinetest.Message{Method: method, URL: target, Body: body, Fields: fields}))
}

func (e *test) do(t testing.TB, method, target string, fields ...string) pipelinetest.Answer {
	t.Helper()
	return e.send(t, method, target, "", fields...)
}

func (e *test) get(t testing.TB, target string, fields ...string) pipelinetest.Answer {
	t.Helper()
	return e.send(t, http.MethodGet, target, "", fields...)
}

// age makes the stored response of a target look as if it had arrived that long ago.
func (e *test) age(t testing.TB, target string, by time.Duration) {
	t.Helper()
	older := e.Cache.Get("http://edge.test" + target).CopyConfirmed()
	older.Policy.Stored = older.Policy.Stored.Add(-by)
	if !e.Cache.Put(older, e.Cache.Generation()) {
		t.Fatalf("%s was not stored", target)
	}
}

// What becomes of a request, by its method and its fields: the status, the use of the cache in the
// log, and the requests that the origin gets in all. The page is stored before.
func TestOutcomes(t *testing.T) {
	for name, row := range map[string]struct {
		method, target, body string
		fields               []string
		status               int
		outcome              exchange.Outcome
		asked                int
	}{
		"the stored page":               {"GET", "/page", "", nil, 200, exchange.Hit, 1},
		"its head":                      {"HEAD", "/page", "", nil, 200, exchange.Hit, 1},
		"another page":                  {"GET", "/other", "", nil, 200, exchange.Miss, 1},
		"a page that is nobody else's":  {"GET", "/mine", "", nil, 200, exchange.Miss, 1},
		"a page that the origin lacks":  {"GET", "/none", "", nil, 404, exchange.Miss, 1},
		"a GET with a body":             {"GET", "/page", "x", nil, 200, exchange.Passed, 2},
		"a POST":                        {"POST", "/page", "x", nil, 200, exchange.Passed, 2},
		"a method of another protocol":  {"M-SEARCH", "/page", "", nil, 200, exchange.Passed, 2},
		"TRACE":                         {"TRACE", "/page", "", nil, 405, exchange.Refused, 1},
		"CONNECT":                       {"CONNECT", "/page", "", nil, 405, exchange.Refused, 1},
		"PURGE in any case":             {"purge", "/page", "", nil, 405, exchange.Refused, 1},
		"a body that is too long":       {"POST", "/page", strings.Repeat("x", 2000), nil, 413, exchange.Refused, 1},
		"a precondition of the origin":  {"GET", "/page", "", []string{"If-Match", `"1"`}, 200, exchange.Passed, 2},
		"a cookie that bypasses":        {"GET", "/page", "", []string{"Cookie", "session=1"}, 200, exchange.Passed, 2},
		"another cookie":                {"GET", "/page", "", []string{"Cookie", "a=b"}, 200, exchange.Hit, 1},
		"only a stored page, and it is": {"GET", "/page", "", []string{"Cache-Control", "only-if-cached"}, 200, exchange.Hit, 1},
		"and it is not":                 {"GET", "/other", "", []string{"Cache-Control", "only-if-cached"}, 504, exchange.Refused, 0},
	} {
		page := fetchtest.Says("hello", "Cache-Control", "max-age=600", "Etag", `"1"`)
		e, app := newTest(t, map[string]http.HandlerFunc{"/page": page, "/other": page,
			"/mine": fetchtest.Says("hello", "Cache-Control", "private")},
			func(s *vhosts.Settings, _ *cachepolicy.Policy) { s.BypassCookies = []string{"session"} })
		e.Answerer.Options.Bounds.MaxBody = 1000
		e.get(t, "/page")
		a := e.send(t, row.method, row.target, row.body, row.fields...)
		if a.StatusCode != row.status || e.outcome != row.outcome || len(app.Requests(row.target)) != row.asked {
			t.Errorf("%s: %d, %s, %d requests to the origin; want %d, %s, %d", name, a.StatusCode,
				exchange.OutcomeNames[e.outcome], len(app.Requests(row.target)), row.status, exchange.OutcomeNames[row.outcome], row.asked)
		}
	}
}

// The limit of a site counts its forwarded requests, hits too, and a refused request never reaches
// the origin.
func TestForwardedLimit(t *testing.T) {
	e, app := newTest(t, map[string]http.HandlerFunc{"/page": fetchtest.Says("hello", "Cache-Control", "no-store")})
	own := ratelimit.New(ratelimit.Limit{N: 2, Window: time.Minute}, ratelimit.Options{})
	e.site.Forwarded = vhosts.Limit{Own: own, Window: own}
	for i, want := range []int{200, 200, 429, 429} {
		a := e.get(t, "/page")
		if a.StatusCode != want || want == 429 && (a.Header.Get("Retry-After") != "60" ||
			a.Header.Get("Ratelimit") == "" || e.outcome != exchange.Limited) {
			t.Errorf("request %d: %d, %v, want %d", i+1, a.StatusCode, a.Header, want)
		}
	}
	e.Move(time.Minute)
	if a := e.get(t, "/page"); a.StatusCode != 200 || len(app.Requests("/page")) != 3 {
		t.Errorf("after the window: %d, %d requests to the origin", a.StatusCode, len(app.Requests("/page")))
	}
}

// negotiates answers with the first of gzip, br and zstd that the request names, and with the field
// as it came.
func negotiates(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "max-age=600")
	w.Header().Set("Vary", "Accept-Encoding")
	w.Header().Set("X-Got", fmt.Sprintf("%q", r.Header["Accept-Encoding"]))
	for _, coding := range []string{"gzip", "br", "zstd"} {
		if strings.Contains(r.Header.Get("Accept-Encoding"), coding) {
			w.Header().Set("Content-Encoding", coding)
			break
		}
	}
	fmt.Fprint(w, "page")
}

// encodingSpellings returns n spellings of Accept-Encoding, at random.
func encodingSpellings(n int) (all []string) {
	random := rand.New(rand.NewPCG(1, 2))
	for range n {
		var items []string
		for _, i := range random.Perm(9)[:random.IntN(9)] {
			item := []string{"gzip", "br", "zstd", "x-gzip", "deflate", "identity", "*", "dcb", fmt.Sprintf("x-%d", random.IntN(1000))}[i]
			if random.IntN(2) == 0 {
				item = strings.ToUpper(item)
			}
			if weight := random.IntN(1000); weight < 900 {
				item += fmt.Sprintf(" ; q=0.%03d", weight-weight/300*300) // a third has a small one
			}
			items = append(items, item)
		}
		all = append(all, strings.Join(items, strings.Repeat(" ", random.IntN(3))+","))
	}
	return all
}

func TestForwardedHit(t *testing.T) {
	e, s := newTest(t, map[string]http.HandlerFunc{
		"/page": fetchtest.Says("hello", "Cache-Control", "max-age=600", "ETag", `"1"`, "Last-Modified",
			"Tue, 15 Nov 2022 08:12:31 GMT", "Content-Language", "en"),
	})
	first := e.get(t, "/page")
	for _, row := range []struct {
		name   string
		fields []string
		code   int
		body   string
	}{
		{"unconditional", nil, 200, "hello"},
		{"If-None-Match", []string{"If-None-Match", `"1"`}, 304, ""},
		{"If-Modified-Since", []string{"If-Modified-Since", "Tue, 15 Nov 2022 08:12:31 GMT"}, 304, ""},
		{"a range", []string{"Range", "bytes=1-2"}, 206, "el"},
		{"a range with the tag of another version", []string{"Range", "bytes=1-2", "If-Range", `"2"`}, 200, "hello"},
		{"a range beyond the end", []string{"Range", "bytes=9-"}, 416, ""},
		{"max-stale", []string{"Cache-Control", "max-stale=1"}, 200, "hello"},
		{"only-if-cached", []string{"Cache-Control", "only-if-cached"}, 200, "hello"},
	} {
		a := e.get(t, "/page", row.fields...)
		if a.StatusCode != row.code || row.code < 400 && a.Body != row.body {
			t.Errorf("%s: %d %q, want %d %q", row.name, a.StatusCode, a.Body, row.code, row.body)
		}
		if !strings.HasPrefix(a.Header.Get("Cache-Status"), "iconedge; hit") ||
			row.code < 400 && (a.Header.Get("Age") == "" || a.Header.Get("Date") != first.Header.Get("Date")) {
			t.Errorf("%s: Cache-Status %q, Age %q, Date %q", row.name, a.Header.Get("Cache-Status"),
				a.Header.Get("Age"), a.Header.Get("Date"))
		}
	}
	if a := e.do(t, http.MethodHead, "/page"); a.StatusCode != 200 || a.ContentLength != 5 || a.Body != "" {
		t.Errorf("HEAD: %d, length %d", a.StatusCode, a.ContentLength)
	}
	if n := len(s.Requests("/page")); n != 1 {
		t.Errorf("the origin got %d requests, want 1", n)
	}
}

// A client's signature may cover its conditions and its Range, as those of S3 clients do: such a
// request reaches the origin unchanged, and the client gets the origin's 304 or 206.
func TestSignedFields(t *testing.T) {
	const older = `"older"`
	for _, row := range []struct{ name, cacheControl string }{
		{"not stored", ""}, {"stored and stale", "public, max-age=0"}, {"stored and revalidated", "public, no-cache"},
	} {
		for _, condition := range []string{"If-None-Match: " + older,
			"If-Modified-Since: Tue, 15 Nov 2022 08:12:31 GMT", "Range: bytes=0-", "Range: bytes=1-2"} {
			field, value, _ := strings.Cut(condition, ": ")
			code := http.StatusNotModified
			if field == "Range" {
				code = http.StatusPartialContent
			}
			e, _ := newTest(t, map[string]http.HandlerFunc{"/object": func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"newer"`)
				if row.cacheControl != "" {
					w.Header().Set("Cache-Control", row.cacheControl)
				}
				if signed := r.Header.Get("Authorization"); signed != "" &&
					(signed != "SIG "+r.Header.Get(field) ||
						len(r.Header["If-None-Match"])+len(r.Header["If-Modified-Since"])+len(r.Header["Range"]) != 1) {
					w.WriteHeader(http.StatusForbidden)
				} else if signed != "" {
					w.Header().Set("ETag", older)
					w.Header().Set("Content-Range", "bytes 1-2/9")
					w.WriteHeader(code)
					if code == http.StatusPartialContent {
						io.WriteString(w, "ab")
					}
				}
			}})
			e.get(t, "/object")
			if a := e.get(t, "/object", "Authorization", "SIG "+value, field, value); a.StatusCode != code ||
				a.Header.Get("ETag") != older {
				t.Errorf("%s, %s: %d with ETag %s, want the origin's %d with %s", row.name, condition, a.StatusCode,
					a.Header.Get("ETag"), code, older)
			}
		}
	}
	// A fresh response that its origin has made public still needs no request.
	e, s := newTest(t, map[string]http.HandlerFunc{"/object": fetchtest.Says("hello", "Cache-Control",
		"public, max-age=600", "ETag", `"1"`)})
	e.get(t, "/object")
	if a := e.get(t, "/object", "Authorization", "SIG", "If-None-Match",
		`"1"`); a.StatusCode != http.StatusNotModified || len(s.Requests("/object")) != 1 {
		t.Errorf("a fresh response: %d after %d requests to the origin, want 304 after 1", a.StatusCode, len(s.Requests("/object")))
	}
}

// With --client-revalidation the edge obeys a client's own directives on forwarded paths (RFC 9111,
// section 5.2.1); without it, it obeys only no-store and only-if-cached.
func TestForwardedRequestDirectives(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		fields []string
		asked  int // requests to the origin in all, if the edge obeys the directives
		code   int
	}{
		{"no-cache", []string{"Cache-Control", "no-cache"}, 2, 200},
		{"Pragma", []string{"Pragma", "no-cache"}, 2, 200},
		{"Pragma beside Cache-Control", []string{"Pragma", "no-cache", "Cache-Control", "x"}, 1, 200},
		{"max-age=0", []string{"Cache-Control", "max-age=0"}, 2, 200},
		{"min-fresh", []string{"Cache-Control", "min-fresh=1000"}, 2, 200},
		{"only-if-cached beside no-cache", []string{"Cache-Control", "only-if-cached, no-cache"}, 1, 504},
	} {
		for _, obeyed := range []bool{true, false} {
			e, s := newTest(t, map[string]http.HandlerFunc{"/page": fetchtest.Says("hello", "Cache-Control",
				"max-age=600")}, func(_ *vhosts.Settings, p *cachepolicy.Policy) { p.IgnoreRevalidation = !obeyed })
			if !obeyed {
				row.asked, row.code = 1, 200
			}
			e.get(t, "/page")
			e.Move(time.Second)
			if a := e.get(t, "/page", row.fields...); a.StatusCode != row.code || len(s.Requests("/page")) != row.asked {
				t.Errorf("%s, obeyed %v: %d after %d requests to the origin, want %d after %d", row.name, obeyed,
					a.StatusCode, len(s.Requests("/page")), row.code, row.asked)
			}
		}
	}
	e, s := newTest(t, map[string]http.HandlerFunc{"/page": fetchtest.Says("hello", "Cache-Control", "max-age=600")})
	if a := e.get(t, "/page", "Cache-Control", "only-if-cached"); a.StatusCode != 504 || len(s.Requests("/page")) != 0 {
		t.Errorf("only-if-cached: %d", a.StatusCode)
	}
	e.get(t, "/page", "Cache-Control", "no-store")
	if a := e.get(t, "/page"); !strings.Contains(a.Header.Get("Cache-Status"), "uri-miss") {
		t.Errorf("the response to a no-store request was stored: %s", a.Header.Get("Cache-Status"))
	}
}

func TestForwardedVary(t *testing.T) {
	e, s := newTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept-Language")
		w.Header().Set("Cache-Control", "max-age=600")
		language := r.Header.Get("Accept-Language")[:2]
		w.Header().Set("Content-Language", language)
		io.WriteString(w, language)
	}})
	for _, row := range []struct{ language, body, status string }{
		{"en", "en", "uri-miss"},
		{"de", "de", "vary-miss"},
		{"en", "en", "hit"},
		{"DE", "de", "hit"},
		{"de, fr;q=0.5", "de", "hit"}, // the preferred language is stored
	} {
		a := e.get(t, "/page", "Accept-Language", row.language)
		if a.Body != row.body || !strings.Contains(a.Header.Get("Cache-Status"), row.status) {
			t.Errorf("%s: %q, %s; want %q, %s", row.language, a.Body, a.Header.Get("Cache-Status"), row.body, row.status)
		}
	}
	if n := len(s.Requests("/page")); n != 2 {
		t.Errorf("the origin got %d requests, want 2", n)
	}
}

// Clients that wait for the same collapsed fetch, but turn out to need different variants, each get
// their own variant.
func TestForwardedVaryTogether(t *testing.T) {
	open := make(chan struct{})
	e, _ := newTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
		<-open
		w.Header().Set("Vary", "X-Who")
		w.Header().Set("Cache-Control", "max-age=600")
		io.WriteString(w, r.Header.Get("X-Who"))
	}})
	var wg sync.WaitGroup
	for i := range 40 {
		who := fmt.Sprint(i % 4)
		wg.Go(func() {
			if a := e.get(t, "/page", "X-Who", who); a.Body != who {
				t.Errorf("client %s got %q (%s)", who, a.Body, a.Header.Get("Cache-Status"))
			}
		})
	}
	close(open)
	wg.Wait()
}

// The edge fetches a private response for each client at the same time, also if the origin is slow,
// because a hit-for-pass marker disables collapsing.
func TestPrivateInParallel(t *testing.T) {
	const clients = 20
	var here atomic.Int64
	all := make(chan struct{})
	e, _ := newTest(t, map[string]http.HandlerFunc{"/mine": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private")
		if r.Header.Get("X-First") == "" && here.Add(1) == clients {
			close(all)
		}
		if r.Header.Get("X-First") == "" {
			<-all // the origin answers when the requests of all clients have arrived
		}
		io.WriteString(w, r.Header.Get("X-Who"))
	}})
	e.get(t, "/mine", "X-First", "1") // makes a hit-for-pass marker
	if !e.Cache.IsHitForPass("http://edge.test/mine", e.Now()) {
		t.Fatal("the edge has no hit-for-pass marker for /mine")
	}
	e.Cache.MarkHitForPass("http://edge.test/mine", true, e.Now().Add(time.Hour)) // longer than the test takes
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			if a := e.get(t, "/mine", "X-Who", fmt.Sprint(i)); a.Body != fmt.Sprint(i) {
				t.Errorf("client %d got %q", i, a.Body)
			}
		})
	}
	wg.Wait()
}

// A request with an unsafe method reaches the origin with its body, and invalidates the stored
// responses that it may have changed (RFC 9111, section 4.4).
func TestUnsafeMethods(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		method string
		code   int
		fields []string
		target string // of the GET before and after
		hit    bool   // the GET after is a hit
	}{
		{"POST", 200, nil, "/page", false},
		{"DELETE", 204, nil, "/page", false},
		{"M-SEARCH", 301, nil, "/page", false},
		{"POST", 500, nil, "/page", true},
		{"OPTIONS", 200, nil, "/page", true},
		{"POST", 201, []string{"Location", "/other"}, "/other", false},
		{"PUT", 200, []string{"Content-Location", "http://edge.test/other"}, "/other", false},
		{"POST", 200, []string{"Location", "http://elsewhere.test/other"}, "/other", true},
	} {
		var sent string
		get := fetchtest.Says("got", "Cache-Control", "max-age=600")
		e, _ := newTest(t, map[string]http.HandlerFunc{"/other": get, "/page": func(w http.ResponseWriter, r *http.Request) {
			if r.Method == "GET" {
				get(w, r)
				return
			}
			b, _ := io.ReadAll(r.Body)
			sent = string(b)
			for i := 0; i+1 < len(row.fields); i += 2 {
				w.Header().Set(row.fields[i], row.fields[i+1])
			}
			w.WriteHeader(row.code)
		}})
		e.get(t, row.target)
		resp := e.send(t, row.method, "/page", "body")
		if resp.StatusCode != row.code || sent != "body" || !strings.Contains(resp.Header.Get("Cache-Status"), "fwd=method") {
			t.Errorf("%s: %d, the origin got %q, %s", row.method, resp.StatusCode, sent, resp.Header.Get("Cache-Status"))
		}
		if hit := strings.Contains(e.get(t, row.target).Header.Get("Cache-Status"), "hit"); hit != row.hit {
			t.Errorf("after %s with %d and %v, %s is stored: %v, want %v", row.method, row.code, row.fields, row.target, hit, row.hit)
		}
	}
}

// The edge passes the response to a HEAD on, and updates the stored response to a GET by it (RFC
// 9111, section 4.3.5).
func TestHeadUpdatesGet(t *testing.T) {
	etag := `"1"`
	e, s := newTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=600")
		w.Header().Set("ETag", etag)
		w.Header().Set("Content-Length", "5")
		if r.Method == "GET" {
			io.WriteString(w, "hello")
			return
		}
		w.Header().Set("X-New", "yes")
	}})
	e.get(t, "/page")
	e.age(t, "/page", time.Hour)
	if a := e.do(t, "HEAD", "/page"); a.StatusCode != 200 || a.ContentLength != 5 || a.Header.Get("X-New") == "" {
		t.Fatalf("HEAD: %d %v", a.StatusCode, a.Header)
	}
	if a := e.get(t, "/page"); !strings.Contains(a.Header.Get("Cache-Status"), "hit") ||
		a.Header.Get("X-New") != "yes" || a.Body != "hello" {
		t.Errorf("after a HEAD with the same tag: %s %v", a.Header.Get("Cache-Status"), a.Header)
	}
	e.age(t, "/page", time.Hour)
	etag = `"2"`
	e.do(t, "HEAD", "/page")
	if a := e.get(t, "/page"); strings.Contains(a.Header.Get("Cache-Status"), "hit") {
		t.Errorf("after a HEAD with another tag: %s", a.Header.Get("Cache-Status"))
	}
	if n := len(s.Requests("/page")); n != 4 {
		t.Errorf("the origin got %d requests, want 4", n)
	}
}

// The edge sends a stale response if the connection to the origin is lost and no directive forbids
// it, or if the origin answers with an error and stale-if-error allows it.
func TestForwardedStale(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		control string
		lost    bool
		code    int
	}{
		{"max-age=1", true, 200},
		{"max-age=1, must-revalidate", true, 502},
		{"s-maxage=1", true, 502},
		{"max-age=1", false, 503},
		{"max-age=1, stale-if-error=60", false, 200},
	} {
		var broken atomic.Bool
		e, _ := newTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
			switch {
			case broken.Load() && row.lost:
				panic(http.ErrAbortHandler)
			case broken.Load():
				w.WriteHeader(503)
			}
			fetchtest.Says("hello", "Cache-Control", row.control)(w, r)
		}})
		e.get(t, "/page")
		e.age(t, "/page", 10*time.Second)
		broken.Store(true)
		if a := e.get(t, "/page"); a.StatusCode != row.code {
			t.Errorf("%s, lost %v: %d (%s), want %d", row.control, row.lost, a.StatusCode, a.Header.Get("Cache-Status"), row.code)
		}
	}
}

// However many spellings clients have for Accept-Encoding, a response that varies by it is fetched
// for each of its normal forms, of which there are eight.
func TestHostileAcceptEncoding(t *testing.T) {
	e, s := newTest(t, map[string]http.HandlerFunc{"/page": negotiates})
	forms := map[string]bool{}
	e.get(t, "/page")
	for _, spelling := range encodingSpellings(300) {
		a := e.get(t, "/page", "Accept-Encoding", spelling)
		forms[a.Header.Get("X-Got")] = true
		if coding := a.Header.Get("Content-Encoding"); coding != "" &&
			!strings.Contains(strings.ToLower(spelling), coding) && !strings.Contains(spelling, "*") {
			t.Errorf("%q gets %s", spelling, coding)
		}
	}
	if n := len(s.Requests("/page")); n > 8 || len(forms) < 7 {
		t.Errorf("the origin received %d requests: %v", n, forms)
	}
	if got := s.Requests("/page")[0]["Accept-Encoding"]; got != nil {
		t.Errorf("without the field the origin gets %q", got)
	}
}

// The origin gets the normal form with every method, or the field as it came if the operator says
// so, and if a signature covers it.
func TestClientEncoding(t *testing.T) {
	const sent = "br;q=0.5, x-1, gzip"
	for _, row := range []struct {
		encoding vhosts.Encoding
		method   string
		fields   []string
		want     string
	}{
		{"", "GET", nil, "gzip, br"}, {vhosts.Normal, "HEAD", nil, "gzip, br"}, {"", "POST", nil, "gzip, br"},
		{vhosts.AsSent, "GET", nil, sent}, {vhosts.AsSent, "POST", nil, sent},
		{"", "GET", []string{"Cookie", "a=b"}, "gzip, br"}, {"", "GET", []string{"Authorization", "Basic YTpi"}, "gzip, br"},
		{"", "GET", []string{"Authorization", "AWS4-HMAC-SHA256 Credential=a, SignedHeaders=accept-encoding;host, Signature=b"}, sent},
		{"", "GET", []string{"Authorization", "AWS4-HMAC-SHA256 Credential=a, SignedHeaders=host, Signature=b"}, "gzip, br"},
	} {
		e, s := newTest(t, map[string]http.HandlerFunc{"/page": negotiates},
			func(s *vhosts.Settings, _ *cachepolicy.Policy) { s.ClientEncoding = row.encoding })
		e.do(t, row.method, "/page", append([]string{"Accept-Encoding", sent}, row.fields...)...)
		if got := s.Requests("/page")[0].Get("Accept-Encoding"); got != row.want {
			t.Errorf("%+v: the origin gets %q", row, got)
		}
	}
}

// A status that HTTP does not define passes, where nothing is stored. Otherwise it counts as no
// response, and clients get the stale one.
func TestOddStatus(t *testing.T) {
	status := 999
	e, _ := newTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=60")
		w.WriteHeader(status)
		io.WriteString(w, "page")
	}})
	if a := e.get(t, "/page"); a.StatusCode != 999 {
		t.Errorf("without a stored response: %d", a.StatusCode)
	}
	status = 200
	e.get(t, "/page")
	e.Room.Move(2 * time.Minute)
	status = 600
	if a := e.get(t, "/page"); a.StatusCode != 200 || e.outcome != exchange.Stale {
		t.Errorf("with a stale response: %d, %s", a.StatusCode, exchange.OutcomeNames[e.outcome])
	}
}
