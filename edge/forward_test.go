package edge

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/fetch/fetchtest"
)

// A site is an application that records the requests which it gets.
type site struct{ *fetchtest.Pages }

func newSite(pages map[string]http.HandlerFunc) *site { return &site{fetchtest.NewPages(pages)} }

func (s *site) requests(target string) []http.Header { return s.Requests(target) }

var says = fetchtest.Says

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
		"/page": says("hello", "Cache-Control", "max-age=600", "Date", date, "Age", "0", "ETag", `W/"odd tag"`,
			"Set-Cookie", "a=1", "Set-Cookie", "b=2",
			"Server", "theirs/1.0", "X-Odd", "x", "Content-Type", "text/odd", "Connection", "X-Hop", "X-Hop", "1",
			"Keep-Alive", "timeout=1"),
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
	for name, value := range map[string]string{"X-Request": "r", "Accept-Encoding": "br", "Te": "trailers",
		"X-Forwarded-For": "203.0.113.7, 0.0.0.0", "X-Forwarded-Proto": "http"} {
		if got := asked[0].Get(name); got != value {
			t.Errorf("the origin got %s: %q, want %q", name, got, value)
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
		{name: "with a length", body: small, length: true, stored: true},
		{name: "in chunks", body: small, stored: true},
		{name: "too large for the cache", body: large, length: true},
		{name: "in chunks, too large for the cache", body: large},
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
			settled(t, "the response is stored, a moment after its last byte",
				func() bool { return !row.stored || e.stored("/file") != nil })
			a := e.get(t, "/file")
			if a.body != string(row.body) || len(s.requests("/file")) != map[bool]int{true: 1, false: 2}[row.stored] {
				t.Errorf("second request: %d bytes, the origin got %d requests in all, stored: want %v", len(a.body),
					len(s.requests("/file")), row.stored)
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
	e = newEdgeTest(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { e.ServeHTTP(w, r) }),
		func(c *Config) { c.ProxyAll = true })
	if a := e.get(t, "/page"); a.StatusCode != http.StatusLoopDetected {
		t.Errorf("%d, want 508", a.StatusCode)
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}
