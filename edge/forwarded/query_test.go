package forwarded

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/fetch/fetchtest"
	"github.com/iconedge/iconedge/edge/pipeline/pipelinetest"
	"github.com/iconedge/iconedge/edge/upstream"
)

// answering is an application whose response says which request it got, and how many it has got.
type answering struct {
	fields []string // name, value, … of each response
	mu     sync.Mutex
	asked  int
}

func (a *answering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/-/") {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	a.mu.Lock()
	a.asked++
	n := a.asked
	a.mu.Unlock()
	w.Header().Set("Cache-Control", "max-age=600")
	w.Header().Set("ETag", `"v"`)
	w.Header().Set("Accept-Query", `"application/json"`)
	w.Header().Set("Vary", "X-Vary")
	for i := 0; i+1 < len(a.fields); i += 2 {
		w.Header().Add(a.fields[i], a.fields[i+1])
	}
	fmt.Fprintf(w, "%s %s %q %q %.20q of %d: %d", r.Method, r.RequestURI, r.Header["Content-Type"],
		r.Header["Content-Encoding"], body, len(body), n)
}

// A QUERY is answered from the cache if method, address, content and its description are the same;
// a model knows which are. Purges and unsafe methods concern all responses of an address.
func TestQueryModel(t *testing.T) {
	app := &answering{}
	e := newTestOf(t, fetchtest.New(t, app))
	random := rand.New(rand.NewPCG(43, 4))
	one := func(all ...string) string { return all[random.IntN(len(all))] }
	stored := map[string]string{} // bodies, by address and request
	hits := 0
	for i := range 3000 {
		method, target, content := one("QUERY", "QUERY", "QUERY", "GET"), one("/q", "/q?a=1", "/r"), one("", "a", "b", `{"a":1}`, "a\x00b")
		kind, coding, device := one("", "application/json", "text/plain"), one("", "", "gzip"), one("", "", "1", "2")
		switch random.IntN(40) {
		case 0:
			e.send(t, one("POST", "DELETE"), target, "x")
			forget(stored, target)
			continue
		case 1: // as the purger does for an address
			e.Cache.Purge(cache.Purge{Keys: []string{"http://edge.test" + target}, Tags: []string{cache.AddressTag("edge.test", target)}}, e.Now())
			forget(stored, target)
			continue
		}
		var fields []string
		for name, value := range map[string]string{"Content-Type": kind, "Content-Encoding": coding, "X-Vary": device} {
			if value != "" && (method == "QUERY" || name == "X-Vary") {
				fields = append(fields, name, value)
			}
		}
		if method == "GET" {
			content, kind, coding = "", "", ""
		}
		key := strings.Join([]string{target, method, content, kind, coding, device}, "\n")
		a := e.send(t, method, target, content, fields...)
		if want, has := stored[key]; has {
			hits++
			if a.Body != want || e.outcome != exchange.Hit {
				t.Fatalf("request %d, %q: %v %q, want the stored %q", i, key, e.outcome, a.Body, want)
			}
			continue
		}
		want, newest := fmt.Sprintf("%s %s ", method, target), fmt.Sprint(": ", app.asked)
		if !strings.HasPrefix(a.Body, want) || !strings.HasSuffix(a.Body, newest) {
			t.Fatalf("request %d, %q: %v %q, want a new response to %q", i, key, e.outcome, a.Body, want)
		}
		stored[key] = a.Body
	}
	if hits < 500 {
		t.Errorf("only %d hits", hits)
	}
}

func forget(stored map[string]string, target string) {
	for key := range stored {
		if strings.HasPrefix(key, target+"\n") {
			delete(stored, key)
		}
	}
}

// What becomes of a second QUERY for the same address.
func TestQuery(t *testing.T) {
	long := strings.Repeat("x", maxKeyed+1)
	for name, row := range map[string]struct {
		content string
		fields  []string
		status  int
		outcome exchange.Outcome
		asked   int
	}{
		"the same":                           {"q", nil, 200, exchange.Hit, 1},
		"another content":                    {"p", nil, 200, exchange.Miss, 2},
		"a condition":                        {"q", []string{"If-None-Match", `"v"`}, 304, exchange.Hit, 1},
		"a condition that fails":             {"q", []string{"If-None-Match", `"w"`}, 200, exchange.Hit, 1},
		"a range, which a server may ignore": {"q", []string{"Range", "bytes=0-4"}, 200, exchange.Hit, 1},
		"a cookie":                           {"q", []string{"Cookie", "a=b"}, 200, exchange.Hit, 1},
		"credentials":                        {"q", []string{"Authorization", "Bearer x"}, 200, exchange.Hit, 1},
		"a content too long for a key":       {long, nil, 200, exchange.Passed, 2},
		"the same, which may be stored":      {"q", []string{"Cache-Control", "only-if-cached"}, 200, exchange.Hit, 1},
		"another, which is not stored":       {"p", []string{"Cache-Control", "only-if-cached"}, 504, exchange.Refused, 1},
	} {
		app := &answering{}
		e := newTestOf(t, fetchtest.New(t, app))
		e.send(t, "QUERY", "/q", "q")
		a := e.send(t, "QUERY", "/q", row.content, row.fields...)
		if a.StatusCode != row.status || e.outcome != row.outcome || app.asked != row.asked {
			t.Errorf("%s: %d, %v, %d requests, want %d, %v, %d", name, a.StatusCode, e.outcome, app.asked,
				row.status, row.outcome, row.asked)
		}
		if len(row.content) > maxKeyed && !strings.Contains(a.Body, fmt.Sprint("of ", len(long))) {
			t.Errorf("%s: the origin got %s", name, a.Body)
		}
	}
}

// A content that still arrives is read as far as a key may have it; a longer one reaches the origin
// whole.
func TestQueryWhileItArrives(t *testing.T) {
	app := &answering{}
	e := newTestOf(t, fetchtest.New(t, app))
	for _, row := range []struct {
		length  int
		outcome exchange.Outcome
	}{{10, exchange.Miss}, {10, exchange.Hit}, {maxKeyed, exchange.Miss}, {maxKeyed, exchange.Hit},
		{maxKeyed + 1, exchange.Passed}, {3 * maxKeyed, exchange.Passed}} {
		content := strings.Repeat("y", row.length)
		q := e.request(pipelinetest.New(t, e.site, e.Now(), pipelinetest.Message{Method: "QUERY", URL: "http://edge.test/q"}))
		q.Upload = &upstream.Upload{From: strings.NewReader(content), Length: -1, Expects: true}
		r := pipelinetest.New(t, e.site, e.Now(), pipelinetest.Message{Method: "QUERY", URL: "http://edge.test/q"})
		outcome, err := e.pass(r, q)
		a := pipelinetest.Read(r)
		if err != nil || outcome != row.outcome || !strings.Contains(a.Body, fmt.Sprintf("of %d:", row.length)) {
			t.Errorf("%d bytes: %v, %v, %s; want %v", row.length, outcome, err, a.Body, row.outcome)
		}
	}
}

// A rule about queries of addresses is none about contents, so neither a GET nor another content
// gets the response.
func TestQueryWithNoVarySearch(t *testing.T) {
	app := &answering{fields: []string{"No-Vary-Search", "params"}}
	e := newTestOf(t, fetchtest.New(t, app))
	for range 2 {
		for _, row := range []struct{ method, content string }{{"QUERY", "x"}, {"QUERY", "y"}, {"GET", ""}} {
			a := e.send(t, row.method, "/q?a=1", row.content)
			if want := fmt.Sprintf("%s /q?a=1 [] [] %q of", row.method, row.content); !strings.HasPrefix(a.Body, want) {
				t.Errorf("%s got %s", want, a.Body)
			}
		}
	}
	if app.asked != 3 {
		t.Errorf("the origin got %d requests, want 3", app.asked)
	}
}

// Clients that send one QUERY at once share one request; those with another content do not.
func TestQueryCollapses(t *testing.T) {
	app := &answering{}
	arrived := make(chan struct{})
	e := newTestOf(t, fetchtest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "QUERY" {
			<-arrived
		}
		app.ServeHTTP(w, r)
	})))
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			content := fmt.Sprint("c", i%4)
			if a := e.send(t, "QUERY", "/q", content); !strings.Contains(a.Body, fmt.Sprintf("%q of 2", content)) {
				t.Errorf("content %s got %s", content, a.Body)
			}
		})
	}
	fetchtest.Reached(t, "requests that wait in the edge", 40, e.Cache.Callers)
	close(arrived)
	all.Wait()
	if app.asked != 4 {
		t.Errorf("the origin got %d requests, want 4", app.asked)
	}
}
