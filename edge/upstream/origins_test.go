package upstream

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/iconedge/iconedge/internal/problem"
)

func hosts(origins []*origin) string {
	var names []string
	for _, o := range origins {
		names = append(names, o.url.Host)
	}
	return strings.Join(names, " ")
}

// Each origin of a group gets its share of the paths, and when an origin is removed only its own
// paths move.
func TestRendezvous(t *testing.T) {
	const paths = 10_000
	for _, names := range []string{"a b", "a b c", "10.0.0.1:8081 10.0.0.2:8081 10.0.0.3:8081 10.0.0.4:8081 10.0.0.5:8081"} {
		c := network{}.client(Config{}, names)
		first := map[string]int{}
		for i := range paths {
			path := fmt.Sprintf("/mdi/icon-%d.svg", i)
			ranked := rank(c.set.all(), c.policy, path)
			first[ranked[0].url.Host]++
			rest := hosts(rank(without(c.set.all(), ranked[0]), c.policy, path))
			if all := hosts(ranked); all != ranked[0].url.Host+" "+rest {
				t.Fatalf("%s: the order is %s, without the first origin %s", path, all, rest)
			}
		}
		for host, n := range first {
			if want := paths / len(c.set.all()); n < want*9/10 || n > want*11/10 {
				t.Errorf("%s gets %d of %d paths, want about %d", host, n, paths, want)
			}
		}
	}
}

func without(origins []*origin, one *origin) (rest []*origin) {
	for _, o := range origins {
		if o != one {
			rest = append(rest, o)
		}
	}
	return rest
}

// The order is the same in every edge and must never change, because every path would move to
// another origin's cache.
func TestRankIsFixed(t *testing.T) {
	c := network{}.client(Config{}, "a b c d")
	for path, want := range map[string]string{"/mdi/home.svg": "b a c d", "/": "c d a b", "/api/v1/search": "b a d c"} {
		if got := hosts(rank(c.set.all(), c.policy, path)); got != want {
			t.Errorf("%s goes to %s, want %s", path, got, want)
		}
	}
}

func TestRank(t *testing.T) {
	for _, row := range []struct{ origins, unhealthy, want string }{
		{"a", "", "a"},
		{"a", "a", "a"},
		{"a|b|c", "", "a b c"},
		{"a|b|c", "a", "b c a"},
		{"a|b|c", "a b", "c a b"},
		{"a|b|c", "a b c", "a b c"},
		{"a b|c", "a b", "c b a"},
		{"a b|c", "", "b a c"},
		{"a b|c", "b", "a c b"},
	} {
		c := network{}.client(Config{}, row.origins)
		for _, o := range c.set.all() {
			if strings.Contains(row.unhealthy, o.url.Host) {
				o.health.failures = failedChecks
			}
		}
		if got := hosts(rank(c.set.all(), c.policy, "/b")); got != row.want {
			t.Errorf("of %s, with %q unhealthy: %s, want %s", row.origins, row.unhealthy, got, row.want)
		}
	}
}

// TestTries checks which origins get a request, and the result.
func TestTries(t *testing.T) {
	good := &server{answer: responds(ok)}
	drop := &server{answer: drops}
	broken := &server{answer: responds("nonsense\r\n\r\n")}
	for _, row := range []struct {
		name, method string
		first        *server // second and third come after it; nil can't be connected to
		second       *server
		third        *server
		cause        error
		asked        [3]int
	}{
		{"the first responds", "GET", good, good, good, nil, [3]int{1, 0, 0}},
		{"no connection", "GET", nil, good, good, nil, [3]int{0, 1, 0}},
		{"no connection for a POST", "POST", nil, good, good, nil, [3]int{0, 1, 0}},
		{"no connection twice", "GET", nil, nil, good, nil, [3]int{0, 0, 1}},
		{"no connection twice for a POST", "POST", nil, nil, good, nil, [3]int{0, 0, 1}},
		{"no connection at all", "GET", nil, nil, nil, ErrUnreachable, [3]int{0, 0, 0}},
		{"lost", "GET", drop, good, good, nil, [3]int{1, 1, 0}},
		{"lost HEAD", "HEAD", drop, good, good, nil, [3]int{1, 1, 0}},
		{"lost OPTIONS", "OPTIONS", drop, good, good, nil, [3]int{1, 1, 0}},
		{"lost POST", "POST", drop, good, good, ErrResponse, [3]int{1, 0, 0}},
		{"lost PUT", "PUT", drop, good, good, ErrResponse, [3]int{1, 0, 0}},
		{"lost twice", "GET", drop, drop, good, nil, [3]int{1, 1, 1}},
		{"lost three times", "GET", drop, drop, drop, ErrResponse, [3]int{1, 1, 1}},
		{"no connection, then lost", "GET", nil, drop, good, nil, [3]int{0, 1, 1}},
		{"lost, then no connection", "GET", drop, nil, good, nil, [3]int{1, 0, 1}},
		{"no connection, then a lost POST", "POST", nil, drop, good, ErrResponse, [3]int{0, 1, 0}},
		{"a malformed response", "GET", broken, good, good, ErrResponse, [3]int{1, 0, 0}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := network{}
				var asked [3]*server
				for i, s := range []*server{row.first, row.second, row.third} {
					if s != nil {
						asked[i] = &server{answer: s.answer}
						n[string(rune('a'+i))] = asked[i]
					}
				}
				c := n.client(Config{}, "a|b|c")
				defer c.Close()
				_, err := fetch(t.Context(), c, Request{Method: row.method, Target: "/", Body: []byte("x")})
				if row.cause != nil {
					wantProblem(t, err, 502, row.cause)
				} else if err != nil && row.method != "HEAD" {
					t.Fatal(err)
				}
				for i, s := range asked {
					if s != nil && len(s.requests()) != row.asked[i] {
						t.Errorf("origin %d got %d requests, want %d", i, len(s.requests()), row.asked[i])
					}
				}
			})
		})
	}
}

// While an origin fails it gets no requests but probes; a successful probe closes the breaker.
func TestBreakerOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		n := network{}
		c := n.client(Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, "a")
		defer c.Close()
		for range maxFailures {
			_, err := c.Do(t.Context(), get("/"))
			wantProblem(t, err, 502, ErrUnreachable)
		}
		n["a"] = &server{answer: responds(ok)}
		_, err := c.Do(t.Context(), get("/"))
		wantProblem(t, err, 502, ErrOpen)
		wantProblem(t, err, 502, ErrUnreachable)
		if got := c.Stats().Origins[0]; got != (OriginStats{URL: "http://a", Healthy: false, Failures: maxFailures, Opened: 1}) {
			t.Errorf("Stats = %+v", got)
		}
		time.Sleep(maxPause)
		for range 3 {
			if _, err := fetch(t.Context(), c, get("/")); err != nil {
				t.Fatal(err)
			}
		}
		if got := c.Stats().Origins[0]; !got.Healthy || len(n["a"].requests()) != 3 {
			t.Errorf("Stats = %+v, requests %q", got, n["a"].requests())
		}
		if got := log.String(); strings.Count(got, "level=WARN") != 1 || strings.Count(got, "level=INFO") != 1 ||
			!strings.Contains(got, "origin=a") {
			t.Errorf("log: %s", got)
		}
	})
}

// A malformed response to a probe is a success, because the origin is there.
func TestMalformedResponseToProbe(t *testing.T) {
	for _, text := range []string{"nonsense\r\n\r\n", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			n := network{}
			c := n.client(Config{}, "a")
			for range maxFailures {
				c.Do(t.Context(), get("/"))
			}
			time.Sleep(maxPause)
			n["a"] = &server{answer: responds(text)}
			_, err := c.Do(t.Context(), get("/"))
			wantProblem(t, err, 502, ErrResponse)
			if got := c.Stats(); !got.Origins[0].Healthy {
				t.Errorf("Stats = %+v", got)
			}
		})
	}
}

// While a probe hangs, no other request is admitted in its pause, but the next probe is, so that it
// can find a recovered origin before the first probe times out.
func TestProbeThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := network{}
		c := n.client(Config{}, "a")
		defer c.Close()
		for range maxFailures {
			c.Do(t.Context(), get("/"))
		}
		time.Sleep(maxPause)
		hung := &server{answer: hangs}
		n["a"] = hung
		first := make(chan error)
		go func() { _, err := c.Do(t.Context(), get("/")); first <- err }()
		synctest.Wait()
		_, err := c.Do(t.Context(), get("/"))
		wantProblem(t, err, 502, ErrOpen)
		n["a"] = &server{answer: responds(ok)}
		time.Sleep(maxPause)
		for range 2 * maxFailures {
			if _, err := fetch(t.Context(), c, get("/")); err != nil {
				t.Fatal(err)
			}
		}
		wantProblem(t, <-first, 504, ErrTimeout)
		if got := c.Stats().Origins[0]; !got.Healthy || len(hung.requests()) != 1 {
			t.Errorf("Stats = %+v, the hanging origin got %q", got, hung.requests())
		}
	})
}

// A caller that leaves early, and a pool without a free connection, are inconclusive about the
// origin.
func TestInconclusive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := network{"a": {answer: responds("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok")}}
		c := n.client(Config{MaxConns: 1, Idle: time.Hour}, "a")
		defer c.Close()
		a, err := c.Do(t.Context(), get("/"))
		if err != nil {
			t.Fatal(err)
		}
		for range maxFailures {
			_, err := c.Do(t.Context(), get("/"))
			wantProblem(t, err, 504, ErrTimeout)
			ctx, leave := timeout(t, time.Second)
			_, err = c.Do(ctx, get("/"))
			leave()
			wantProblem(t, err, 504, ErrTimeout)
		}
		if got := c.Stats(); !got.Origins[0].Healthy || got.Origins[0].Failures != 0 || got.Timeouts != 2*maxFailures {
			t.Errorf("Stats = %+v", got)
		}
		io.ReadFull(a.Body, make([]byte, 2))
		a.Body.Close()
		if _, err := c.Do(t.Context(), get("/")); err != nil {
			t.Error(err)
		}
	})
}

// The only origin stays available if it loses the requests for one URL.
func TestLostRequestsOfOneOrigin(t *testing.T) {
	for _, names := range [][]string{{"a"}, {"a", "b"}} {
		synctest.Test(t, func(t *testing.T) {
			n := network{}
			for _, name := range names {
				n[name] = &server{answer: drops}
			}
			c := n.client(Config{}, strings.Join(names, " "))
			defer c.Close()
			for range 2 * maxFailures {
				c.Do(t.Context(), get("/"))
			}
			if healthy := c.Stats().Origins[0].Healthy; healthy != (len(names) == 1) {
				t.Errorf("of %d origins the first is available: %v", len(names), healthy)
			}
		})
	}
}

func TestOriginStats(t *testing.T) {
	u, _ := url.Parse("https://user:secret@origin.example:8443/base")
	c := newClient(Config{Origins: [][]*url.URL{{u}}})
	if got := c.Stats().Origins[0]; strings.Contains(got.URL, "secret") || !got.Healthy {
		t.Errorf("Stats = %+v", got)
	}
}

// TestPolicies: weights share keys and random requests, an origin of weight 0 comes last, and
// least_conn chooses the origin with the fewest exchanges for its weight.
func TestPolicies(t *testing.T) {
	urls := [][]*url.URL{{{Scheme: "http", Host: "a"}, {Scheme: "http", Host: "b"}, {Scheme: "http", Host: "c"}}}
	for _, policy := range []string{"hash", "random"} {
		c := New(Config{Origins: urls, Policy: policy, Weights: []int{3, 1, 0}})
		first := map[string]int{}
		for i := range 4000 {
			first[rank(c.set.all(), c.policy, fmt.Sprint("/", i))[0].url.Host]++
		}
		if first["c"] != 0 || first["a"] < 2700 || first["a"] > 3300 {
			t.Errorf("%q: %v", policy, first)
		}
		c.Close()
	}
	c := New(Config{Origins: urls, Policy: "least_conn", Weights: []int{1, 2, 1}})
	defer c.Close()
	c.set.all()[0].active.Store(3)
	c.set.all()[1].active.Store(4)
	c.set.all()[2].active.Store(3)
	if got := rank(c.set.all(), c.policy, "/")[0].url.Host; got != "b" {
		t.Errorf("%s has fewest for its weight", got)
	}
	c.set.all()[2].active.Store(0)
	if got := rank(c.set.all(), c.policy, "/")[0].url.Host; got != "c" {
		t.Errorf("%s has fewest", got)
	}
}

// TestHealthNeeds: with a path of the operator two failures take an origin out, and two successes
// bring it back.
func TestHealthNeeds(t *testing.T) {
	h := health{needs: failedChecks}
	for i, row := range []struct {
		v       outcome
		healthy bool
	}{{failure, true}, {success, true}, {failure, true}, {failure, false}, {success, false}, {failure, false},
		{success, false}, {success, true}, {failure, true}} {
		if h.update(row.v); h.healthy() != row.healthy {
			t.Errorf("after check %d: healthy %v", i+1, h.healthy())
		}
	}
}

// TestBounded: beyond MaxConns requests of a bounded client wait, and get a 503 when their time is
// over; health checks are answered all the same.
func TestBounded(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			close(held)
			<-release
		}
		if r.URL.Path == "/slow" {
			time.Sleep(600 * time.Millisecond)
		}
	}))
	defer s.Close()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := New(Config{Origins: [][]*url.URL{{u}}, MaxConns: 1, Bounded: true, Health: "/up"})
	defer c.Close()
	done := make(chan error, 1)
	go func() {
		a, err := c.Do(t.Context(), Request{Method: "GET", Target: "/held"})
		if err == nil {
			a.Body.Close()
		}
		done <- err
	}()
	<-held
	_, err = c.Do(t.Context(), Request{Method: "GET", Target: "/late",
		Patience: &Patience{FirstByte: 50 * time.Millisecond, Idle: time.Second}})
	if p, ok := errors.AsType[*problem.Problem](err); !ok || p.Status != http.StatusServiceUnavailable {
		t.Errorf("%v, want a 503", err)
	}
	if v, err := c.probe(t.Context(), c.set.all()[0]); v != success {
		t.Errorf("the health check: %v", err)
	}
	// A request whose turn comes just before its time is over has all its time for the response.
	late := make(chan error, 1)
	go func() {
		a, err := c.Do(t.Context(), Request{Method: "GET", Target: "/slow", Patience: &Patience{FirstByte: time.Second, Idle: time.Second}})
		if err == nil {
			a.Body.Close()
		}
		late <- err
	}()
	time.AfterFunc(800*time.Millisecond, func() { close(release) })
	if err := <-late; err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
