package fetchtest

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
)

// An Application is an origin that answers as an Express application does by default. The body
// belongs to the client, the entity tag is computed from the body, If-None-Match gets a 304, and no
// field is meant for caches. Each test adds fields and streaming.
type Application struct {
	Fields  []string // name, value, …
	Streams bool     // the body goes out in chunks, some of them late
	Shared  bool     // the body is the same for every client
	Status  int      // 0: 200
	// Each is called with the number of the request before it is answered; it may block.
	Each  func(n int64, r *http.Request)
	Asked atomic.Int64
	mu    sync.Mutex
}

// Change calls f, which may change the fields of the application while it serves.
func (a *Application) Change(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

// ServeHTTP implements http.Handler.
func (a *Application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/-/") {
		http.NotFound(w, r)
		return
	}
	n := a.Asked.Add(1)
	a.mu.Lock()
	each, fields, shared := a.Each, a.Fields, a.Shared
	a.mu.Unlock()
	if each != nil {
		each(n, r)
	}
	body := BodyFor(Identity(r))
	if shared {
		body = BodyFor(Everybody)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		w.Header().Add(fields[i], fields[i+1])
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
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
	if !a.Streams {
		io.WriteString(w, body)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream") // the edge relays such a body at once
	for half := range strings.SplitAfterSeq(body, "to ") {
		io.WriteString(w, half)
		w.(http.Flusher).Flush()
	}
}

// Identity names the client of a request, by its session cookie or by a field that no Vary names.
func Identity(r *http.Request) string {
	if c, err := r.Cookie("session"); err == nil {
		return c.Value
	}
	return r.Header.Get("X-Who")
}

// Everybody is the name in the body of a Shared application.
const Everybody = "everybody"

// BodyFor returns the body that belongs to a client.
func BodyFor(who string) string { return "private to " + who + strings.Repeat(".", 200) }

// BodyOf returns the body that belongs to client i of a crowd.
func BodyOf(i int) string { return BodyFor(fmt.Sprint("user", i)) }

// WithCookies returns the fields of client i with a session of its own.
func WithCookies(i int) []string { return []string{"Cookie", fmt.Sprint("session=user", i)} }

// Nameless returns the fields of client i without a session.
func Nameless(i int) []string { return []string{"X-Who", fmt.Sprint("user", i)} }

// A Crowd is many clients that send the same GET at once.
type Crowd struct {
	Clients int
	Fields  func(i int) []string
}

// A Reply is the response to one client of a crowd.
type Reply struct {
	StatusCode int
	Header     http.Header
	Body       string
}

// Ask sends the requests of a crowd by get, and returns the responses.
func (c Crowd) Ask(get func(fields ...string) Reply) []Reply {
	all := make([]Reply, c.Clients)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { all[i] = get(c.Fields(i)...) })
	}
	wg.Wait()
	return all
}

// Wrong counts responses of other clients, and those whose Cache-Status wrongly claims that they
// were shared.
func Wrong(all []Reply) (bodies, statuses int) {
	for i, a := range all {
		if a.StatusCode != http.StatusOK || a.Body != BodyOf(i) {
			bodies++
		}
		if s := a.Header.Get("Cache-Status"); strings.Contains(s, "collapsed") || strings.Contains(s, "hit") {
			statuses++
		}
	}
	return bodies, statuses
}

// AllWaiting holds the first request to an application until the given number of requests wait for
// it in the edge, whose callers it counts. It holds every later one until the given number are at
// the application at the same time. An edge that sent them one after the other would never get
// there.
func AllWaiting(t testing.TB, callers func() int, waiting, parallel int) func(int64, *http.Request) {
	var here atomic.Int64
	all := make(chan struct{})
	return func(n int64, _ *http.Request) {
		if n == 1 {
			Reached(t, "requests that wait in the edge", waiting, callers)
			return
		}
		if here.Add(1) == int64(parallel) {
			close(all)
		}
		select {
		case <-all:
		case <-time.After(LongEnough):
			t.Errorf("%d requests are at the origin at once, want %d", here.Load(), parallel)
		}
	}
}

// Reached waits until the count has the given value.
func Reached(t testing.TB, what string, want int, count func() int) {
	for end := time.Now().Add(LongEnough); count() < want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d %s, want %d", count(), what, want)
			return
		}
	}
}
