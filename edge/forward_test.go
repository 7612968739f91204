package edge

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/fetch"
)

// A site is the origin of another application, with pages that the test defines. It records the
// header of each request by target.
type site struct {
	mu    sync.Mutex
	asked map[string][]http.Header
	pages map[string]http.HandlerFunc
}

func newSite(pages map[string]http.HandlerFunc) *site {
	return &site{asked: map[string][]http.Header{}, pages: pages}
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.URL.RequestURI()] = append(s.asked[r.URL.RequestURI()], r.Header)
	page := s.pages[r.URL.Path]
	s.mu.Unlock()
	if page == nil {
		http.NotFound(w, r)
		return
	}
	page(w, r)
}

func (s *site) requests(target string) []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[target]
}

// says returns a handler that sends these fields (name, value, …) and a body.
func says(body string, fields ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(fields); i += 2 {
			w.Header().Add(fields[i], fields[i+1])
		}
		io.WriteString(w, body)
	}
}

func newPassTest(t *testing.T, pages map[string]http.HandlerFunc) (*edgeTest, *site) {
	t.Helper()
	s := newSite(pages)
	return newEdgeTest(t, s, func(c *Config) { c.ProxyAll = true }), s
}

// The edge passes a forwarded response on as the origin made it, without the hop-by-hop fields and
// with its own Age, Via and Cache-Status.
func TestForwardedUnchanged(t *testing.T) {
	const date = "Tue, 15 Nov 2022 08:12:31 GMT"
	e, s := newPassTest(t, map[string]http.HandlerFunc{
		"/page": says("hello", "Cache-Control", "max-age=600", "Date", date, "Age", "0", "ETag", `W/"odd tag"`, "Set-Cookie", "a=1", "Set-Cookie", "b=2",
			"Server", "theirs/1.0", "X-Odd", "x", "Content-Type", "text/odd", "Connection", "X-Hop", "X-Hop", "1", "Keep-Alive", "timeout=1"),
	})
	a := e.get(t, "/page?q=%61&&x", "X-Forwarded-For", "203.0.113.7", "X-Request", "r", "Accept-Encoding", "br", "TE", "trailers")
	want := http.Header{
		"Cache-Control": {"max-age=600"}, "Date": {date}, "Etag": {`W/"odd tag"`}, "Set-Cookie": {"a=1", "b=2"}, "Server": {"theirs/1.0"},
		"X-Odd": {"x"}, "Content-Type": {"text/odd"}, "Content-Length": {"5"}, "Via": {"1.1 iconedge"},
	}
	for name, lines := range want {
		if got := a.Header[name]; fmt.Sprint(got) != fmt.Sprint(lines) {
			t.Errorf("%s is %q, want %q", name, got, lines)
		}
	}
	for name := range a.Header {
		if want[name] == nil && name != "Age" && name != "Cache-Status" {
			t.Errorf("%s: %s did not come from the origin", name, a.Header.Get(name))
		}
	}
	if a.body != "hello" {
		t.Errorf("body %q, want %q", a.body, "hello")
	}
	asked := s.requests("/page?q=%61&&x")
	if len(asked) != 1 {
		t.Fatalf("the origin got %d requests for the target in the client's spelling, want 1", len(asked))
	}
	for name, value := range map[string]string{"X-Request": "r", "Accept-Encoding": "br", "Te": "trailers", "X-Forwarded-For": "203.0.113.7, 0.0.0.0", "X-Forwarded-Proto": "http"} {
		if got := asked[0].Get(name); got != value {
			t.Errorf("the origin got %s: %q, want %q", name, got, value)
		}
	}
}

func TestForwardedHit(t *testing.T) {
	e, s := newPassTest(t, map[string]http.HandlerFunc{
		"/page": says("hello", "Cache-Control", "max-age=600", "ETag", `"1"`, "Last-Modified", "Tue, 15 Nov 2022 08:12:31 GMT", "Content-Language", "en"),
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
		if a.StatusCode != row.code || row.code < 400 && a.body != row.body {
			t.Errorf("%s: %d %q, want %d %q", row.name, a.StatusCode, a.body, row.code, row.body)
		}
		if !strings.HasPrefix(a.Header.Get("Cache-Status"), "iconedge; hit") || row.code < 400 && (a.Header.Get("Age") == "" || a.Header.Get("Date") != first.Header.Get("Date")) {
			t.Errorf("%s: Cache-Status %q, Age %q, Date %q", row.name, a.Header.Get("Cache-Status"), a.Header.Get("Age"), a.Header.Get("Date"))
		}
	}
	if a := e.do(t, http.MethodHead, "/page"); a.StatusCode != 200 || a.ContentLength != 5 || a.body != "" {
		t.Errorf("HEAD: %d, length %d", a.StatusCode, a.ContentLength)
	}
	if n := len(s.requests("/page")); n != 1 {
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
		for _, condition := range []string{"If-None-Match: " + older, "If-Modified-Since: Tue, 15 Nov 2022 08:12:31 GMT", "Range: bytes=0-", "Range: bytes=1-2"} {
			field, value, _ := strings.Cut(condition, ": ")
			code := http.StatusNotModified
			if field == "Range" {
				code = http.StatusPartialContent
			}
			e, _ := newPassTest(t, map[string]http.HandlerFunc{"/object": func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"newer"`)
				if row.cacheControl != "" {
					w.Header().Set("Cache-Control", row.cacheControl)
				}
				if signed := r.Header.Get("Authorization"); signed != "" && (signed != "SIG "+r.Header.Get(field) || len(r.Header["If-None-Match"])+len(r.Header["If-Modified-Since"])+len(r.Header["Range"]) != 1) {
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
			if a := e.get(t, "/object", "Authorization", "SIG "+value, field, value); a.StatusCode != code || a.Header.Get("ETag") != older {
				t.Errorf("%s, %s: %d with ETag %s, want the origin's %d with %s", row.name, condition, a.StatusCode, a.Header.Get("ETag"), code, older)
			}
		}
	}
	// A fresh response that its origin has made public still needs no request.
	e, s := newPassTest(t, map[string]http.HandlerFunc{"/object": says("hello", "Cache-Control", "public, max-age=600", "ETag", `"1"`)})
	e.get(t, "/object")
	if a := e.get(t, "/object", "Authorization", "SIG", "If-None-Match", `"1"`); a.StatusCode != http.StatusNotModified || len(s.requests("/object")) != 1 {
		t.Errorf("a fresh response: %d after %d requests to the origin, want 304 after 1", a.StatusCode, len(s.requests("/object")))
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
			s := newSite(map[string]http.HandlerFunc{"/page": says("hello", "Cache-Control", "max-age=600")})
			e := newEdgeTest(t, s, func(c *Config) { c.ProxyAll, c.ClientRevalidation = true, obeyed })
			if !obeyed {
				row.asked, row.code = 1, 200
			}
			e.get(t, "/page")
			e.ages.move(time.Second)
			if a := e.get(t, "/page", row.fields...); a.StatusCode != row.code || len(s.requests("/page")) != row.asked {
				t.Errorf("%s, obeyed %v: %d after %d requests to the origin, want %d after %d", row.name, obeyed, a.StatusCode, len(s.requests("/page")), row.code, row.asked)
			}
		}
	}
	e, s := newPassTest(t, map[string]http.HandlerFunc{"/page": says("hello", "Cache-Control", "max-age=600")})
	if a := e.get(t, "/page", "Cache-Control", "only-if-cached"); a.StatusCode != 504 || len(s.requests("/page")) != 0 {
		t.Errorf("only-if-cached: %d", a.StatusCode)
	}
	e.get(t, "/page", "Cache-Control", "no-store")
	if a := e.get(t, "/page"); !strings.Contains(a.Header.Get("Cache-Status"), "uri-miss") {
		t.Errorf("the response to a no-store request was stored: %s", a.Header.Get("Cache-Status"))
	}
}

func TestForwardedVary(t *testing.T) {
	e, s := newPassTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
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
		if a.body != row.body || !strings.Contains(a.Header.Get("Cache-Status"), row.status) {
			t.Errorf("%s: %q, %s; want %q, %s", row.language, a.body, a.Header.Get("Cache-Status"), row.body, row.status)
		}
	}
	if n := len(s.requests("/page")); n != 2 {
		t.Errorf("the origin got %d requests, want 2", n)
	}
}

// Clients that wait for the same collapsed fetch, but turn out to need different variants, each get
// their own variant.
func TestForwardedVaryTogether(t *testing.T) {
	open := make(chan struct{})
	e, _ := newPassTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
		<-open
		w.Header().Set("Vary", "X-Who")
		w.Header().Set("Cache-Control", "max-age=600")
		io.WriteString(w, r.Header.Get("X-Who"))
	}})
	var wg sync.WaitGroup
	for i := range 40 {
		who := fmt.Sprint(i % 4)
		wg.Go(func() {
			if a := e.get(t, "/page", "X-Who", who); a.body != who {
				t.Errorf("client %s got %q (%s)", who, a.body, a.Header.Get("Cache-Status"))
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
	e, _ := newPassTest(t, map[string]http.HandlerFunc{"/mine": func(w http.ResponseWriter, r *http.Request) {
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
	if !e.cache.IsHitForPass("http://edge.test/mine", e.ages.now()) {
		t.Fatal("the edge has no hit-for-pass marker for /mine")
	}
	e.cache.MarkHitForPass("http://edge.test/mine", true, e.ages.now().Add(time.Hour)) // longer than the test takes
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			if a := e.get(t, "/mine", "X-Who", fmt.Sprint(i)); a.body != fmt.Sprint(i) {
				t.Errorf("client %d got %q", i, a.body)
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
		get := says("got", "Cache-Control", "max-age=600")
		e, _ := newPassTest(t, map[string]http.HandlerFunc{"/other": get, "/page": func(w http.ResponseWriter, r *http.Request) {
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
		r, err := http.NewRequest(row.method, "http://edge.test/page", strings.NewReader("body"))
		must(t, err)
		resp, err := e.RoundTrip(r)
		must(t, err)
		resp.Body.Close()
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
	e, s := newPassTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
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
	if a := e.get(t, "/page"); !strings.Contains(a.Header.Get("Cache-Status"), "hit") || a.Header.Get("X-New") != "yes" || a.body != "hello" {
		t.Errorf("after a HEAD with the same tag: %s %v", a.Header.Get("Cache-Status"), a.Header)
	}
	e.age(t, "/page", time.Hour)
	etag = `"2"`
	e.do(t, "HEAD", "/page")
	if a := e.get(t, "/page"); strings.Contains(a.Header.Get("Cache-Status"), "hit") {
		t.Errorf("after a HEAD with another tag: %s", a.Header.Get("Cache-Status"))
	}
	if n := len(s.requests("/page")); n != 4 {
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
		e, _ := newPassTest(t, map[string]http.HandlerFunc{"/page": func(w http.ResponseWriter, r *http.Request) {
			switch {
			case broken.Load() && row.lost:
				panic(http.ErrAbortHandler)
			case broken.Load():
				w.WriteHeader(503)
			}
			says("hello", "Cache-Control", row.control)(w, r)
		}})
		e.get(t, "/page")
		e.age(t, "/page", 10*time.Second)
		broken.Store(true)
		if a := e.get(t, "/page"); a.StatusCode != row.code {
			t.Errorf("%s, lost %v: %d (%s), want %d", row.control, row.lost, a.StatusCode, a.Header.Get("Cache-Status"), row.code)
		}
	}
}

// The edge sends a large body on while it arrives, and stores it when it is complete, if it fits in
// the cache.
func TestStreamed(t *testing.T) {
	t.Parallel()
	small, large := random(1<<20), random(testCacheBytes/16+1<<20)
	for _, row := range []struct {
		name   string
		body   []byte
		length bool
		stored bool
	}{
		{"with a length", small, true, true},
		{"in chunks", small, false, true},
		{"too large for the cache", large, true, false},
		{"in chunks, too large for the cache", large, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			more := make(chan struct{})
			e, s := newPassTest(t, map[string]http.HandlerFunc{"/file": func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Cache-Control", "max-age=600")
				if row.length {
					w.Header().Set("Content-Length", fmt.Sprint(len(row.body)))
				}
				w.Write(row.body[:fetch.MaxWhole+100])
				w.(http.Flusher).Flush()
				<-more
				w.Write(row.body[fetch.MaxWhole+100:])
			}})
			r, _ := http.NewRequest("GET", "http://edge.test/file", nil)
			resp, err := e.RoundTrip(r) // returns before the origin has sent the whole body
			must(t, err)
			close(more)
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || !bytes.Equal(got, row.body) {
				t.Fatalf("%d bytes %.200q, %v; want %d", len(got), got, err, len(row.body))
			}
			settled(t, "the response is stored, a moment after its last byte", func() bool { return !row.stored || e.stored("/file") != nil })
			a := e.get(t, "/file")
			if a.body != string(row.body) || len(s.requests("/file")) != map[bool]int{true: 1, false: 2}[row.stored] {
				t.Errorf("second request: %d bytes, the origin got %d requests in all, stored: want %v", len(a.body), len(s.requests("/file")), row.stored)
			}
		})
	}
}

// The edge does not pass a truncated body on as a complete one, and does not store it.
func TestCutOff(t *testing.T) {
	body := random(1 << 20)
	var whole atomic.Bool
	e, _ := newPassTest(t, map[string]http.HandlerFunc{"/file": func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "max-age=600")
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.Write(body[:len(body)/2])
		if !whole.Load() {
			panic(http.ErrAbortHandler)
		}
		w.Write(body[len(body)/2:])
	}})
	r, _ := http.NewRequest("GET", "http://edge.test/file", nil)
	if resp, err := e.RoundTrip(r); err == nil {
		// A 502 is right too.
		if got, err := io.ReadAll(resp.Body); err == nil && resp.StatusCode == http.StatusOK {
			t.Fatalf("a truncated body of %d bytes arrived as a complete one", len(got))
		}
		resp.Body.Close()
	}
	whole.Store(true)
	// The edge remembers the failure for a second.
	settled(t, "a later request gets the whole body", func() bool {
		a := e.get(t, "/file")
		return a.StatusCode == 200 && a.body == string(body)
	})
}

// With --proxy-all the edge forwards the requests for all paths but its own.
func TestForwardedPaths(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		method, target string
		forwarded      bool
	}{
		{"GET", "/mdi/home.svg", false},
		{"GET", "/api/v1/search?q=x", false},
		{"GET", "/healthz", false},
		{"POST", "/mdi/home.svg", false},
		{"GET", "/", true},
		{"GET", "/mdi/home.png", true},
		{"GET", "/MDI/Home.svg", true},
		{"GET", "/a/b/c.svg", true},
		{"GET", "/mdi%2Fhome.svg", true},
		{"GET", "/x/../y", true},
		{"OPTIONS", "/anything", true},
		{"PUT", "/anything", true},
	} {
		var seen atomic.Bool
		e := newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.SplitN(row.target, "?", 2)[0] == r.RequestURI && r.Method == row.method {
				seen.Store(true)
			}
			w.Header().Set("X-Theirs", "1")
		}), func(c *Config) { c.ProxyAll = true })
		answers := e.raw(t, row.method+" "+row.target+" HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 1)
		if len(answers) != 1 || (answers[0].Header.Get("X-Theirs") != "") != row.forwarded || row.forwarded && !seen.Load() {
			t.Errorf("%s %s: forwarded %v, want %v: %v", row.method, row.target, seen.Load(), row.forwarded, answers)
		}
	}
}

// An edge whose origin is that edge itself breaks the loop (RFC 8586).
func TestLoop(t *testing.T) {
	var e *edgeTest
	e = newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { e.ServeHTTP(w, r) }), func(c *Config) { c.ProxyAll = true })
	if a := e.get(t, "/page"); a.StatusCode != http.StatusLoopDetected {
		t.Errorf("%d, want 508", a.StatusCode)
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}
