//go:build linux

package load

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// serve starts a server for a test.
func serve(t *testing.T, h http.HandlerFunc) netip.AddrPort {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return netip.MustParseAddrPort(s.Listener.Addr().String())
}

func get(path string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\nHost: test\r\n\r\n")
}

func wantBody(body string) Want {
	return Want{Status: 200, Length: int64(len(body)), Sum: Checksum([]byte(body)), Summed: true}
}

// each returns a plan with n requests for paths; the response to each is its own path.
func each(n int) Plan {
	p := Plan{Once: true}
	for i := range n {
		path := fmt.Sprintf("/%d", i)
		p.Requests = append(p.Requests, Request{Head: get(path), Want: wantBody(path)})
		p.Order = append(p.Order, uint32(i))
	}
	return p
}

func echo(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }

func TestEachOnce(t *testing.T) {
	var asked sync.Map
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if _, again := asked.LoadOrStore(r.URL.Path, true); again {
			t.Errorf("%s was requested twice", r.URL.Path)
		}
		echo(w, r)
	})
	for _, threads := range []int{1, 3} {
		asked.Clear()
		r, err := Run(t.Context(), Config{Target: target, Plan: each(100), Connections: 7, Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		if r.Answers != 100 || r.Statuses["200"] != 100 || r.Wrong != 0 || r.Broken != 0 || r.Unheard != 0 || r.Latency.P50 <= 0 {
			t.Errorf("%d threads: %+v", threads, r)
		}
	}
}

// TestHead: a response to HEAD has a Content-Length, and no body; the next response follows.
func TestHead(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "5")
		fmt.Fprint(w, "hello")
	})
	head := Request{Head: []byte("HEAD / HTTP/1.1\r\nHost: test\r\n\r\n"), Want: Want{Status: 200, Summed: true}}
	plan := Plan{Once: true, Requests: []Request{head, {Head: get("/"), Want: wantBody("hello")}}, Order: []uint32{0, 1, 0, 1}}
	r, err := Run(t.Context(), Config{Target: target, Plan: plan, Connections: 1, Threads: 1})
	if err != nil || r.Answers != 4 || r.Wrong+r.Broken != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	err = Ask(t.Context(), target, 1, func(int) []byte { return head.Head }, func(_ int, a Answer) error {
		if len(a.Body) != 0 || a.Header.Get("Content-Length") != "5" {
			t.Errorf("%+v", a)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestWrongAnswersAreCounted(t *testing.T) {
	target := serve(t, echo)
	plan := each(10)
	plan.Requests[3].Want.Status = 304
	plan.Requests[4].Want.Length++
	r, err := Run(t.Context(), Config{Target: target, Plan: plan, Connections: 1, Threads: 1})
	if err != nil || r.Wrong != 2 || len(r.Mistakes) != 2 {
		t.Fatalf("%+v, %v; want 2 wrong answers", r, err)
	}
	for i, want := range []string{"GET /3 HTTP/1.1: status 200, want 304", "GET /4 HTTP/1.1: a body of 2 bytes, want 3"} {
		if r.Mistakes[i] != want {
			t.Errorf("mistake %q, want %q", r.Mistakes[i], want)
		}
	}
}

// TestOtherBytesAreFound: the checksum of one response in 64 is compared.
func TestOtherBytesAreFound(t *testing.T) {
	target := serve(t, echo)
	plan := each(10)
	plan.Requests[sampled%10-1].Want.Sum++
	plan.Once = false
	plan.Order = make([]uint32, sampled)
	plan.Order[sampled-1] = sampled%10 - 1
	plan.Once = true
	r, err := Run(t.Context(), Config{Target: target, Plan: plan, Connections: 1, Threads: 1})
	if err != nil || r.Wrong != 1 {
		t.Fatalf("%+v, %v; want 1 wrong answer", r, err)
	}
}

func TestConditional(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		w.WriteHeader(http.StatusNotModified)
	})
	plan := Plan{Requests: []Request{{Head: get("/"), Want: Want{Status: 304}}}, Order: make([]uint32, 50), Once: true}
	r, err := Run(t.Context(), Config{Target: target, Plan: plan, Connections: 5, Threads: 1})
	if err != nil || r.Statuses["304"] != 50 || r.Wrong != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestClosedConnections: the client connects again after a server has announced that it closes the
// connection.
func TestClosedConnections(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		echo(w, r)
	})
	r, err := Run(t.Context(), Config{Target: target, Plan: each(20), Connections: 3, Threads: 1})
	if err != nil || r.Answers != 20 || r.Broken != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
}

func TestBrokenConnections(t *testing.T) {
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/5" {
			panic(http.ErrAbortHandler)
		}
		echo(w, r)
	})
	r, err := Run(t.Context(), Config{Target: target, Plan: each(20), Connections: 3, Threads: 1})
	if err != nil || r.Answers != 19 || r.Broken != 1 {
		t.Fatalf("%+v, %v; want 19 answers and a broken connection", r, err)
	}
}

func TestFixedRate(t *testing.T) {
	target := serve(t, echo)
	plan := each(10)
	plan.Once = false
	spent := time.Duration(0)
	meter := func() (time.Duration, error) { spent += 100 * time.Microsecond; return spent, nil }
	r, err := Run(t.Context(), Config{Target: target, Plan: plan, Connections: 4, Threads: 2, Rate: 500,
		WarmUp: 20 * time.Millisecond, Duration: 200 * time.Millisecond, Meter: meter})
	if err != nil || r.Wrong != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if r.Answers != 100 {
		t.Errorf("%d answers in 0.2 s at 500/s, want 100: one for each request that was due, however late", r.Answers)
	}
	if spent < 200*time.Microsecond {
		t.Errorf("the server's clock was read %d times, want it as the run begins and ends", spent/(100*time.Microsecond))
	}
}

// TestSpent: the CPU time between two readings is divided by the responses between them.
func TestSpent(t *testing.T) {
	for _, row := range []struct {
		answers        int64
		micros, second float64
	}{{50, 20, 25}, {0, 0, 0}} {
		from := reading{at: time.Second, answers: 10, cpu: time.Millisecond}
		r := gather(&Config{}, nil, watched{from: from,
			to: reading{at: 3 * time.Second, answers: 10 + row.answers, cpu: 2 * time.Millisecond}})
		if r.CPUMicros != row.micros || r.PerSecond != row.second || r.Seconds != 2 {
			t.Errorf("%d answers in 2 s for 1 ms: %+v", row.answers, r)
		}
	}
}

func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var n atomic.Int64
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 50 {
			cancel()
		}
		echo(w, r)
	})
	plan := each(10)
	plan.Once = false
	r, err := Run(ctx, Config{Target: target, Plan: plan, Connections: 4, Threads: 1, Duration: time.Hour})
	if err != nil || !r.Stopped || r.Answers < 50 || r.PerSecond <= 0 {
		t.Fatalf("%+v, %v; want a partial result", r, err)
	}
}

func TestRefused(t *testing.T) {
	dead := httptest.NewServer(http.HandlerFunc(echo))
	target := netip.MustParseAddrPort(dead.Listener.Addr().String())
	dead.Close()
	if r, err := Run(t.Context(), Config{Target: target, Plan: each(1), Connections: 1, Threads: 1}); err == nil ||
		!strings.Contains(err.Error(), "connecting to") {
		t.Fatalf("%+v, %v; want an error", r, err)
	}
}

func TestSources(t *testing.T) {
	var from sync.Map
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		from.Store(netip.MustParseAddrPort(r.RemoteAddr).Addr(), true)
		echo(w, r)
	})
	sources := []netip.Addr{netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.3")}
	if _, err := Run(t.Context(), Config{Target: target, Plan: each(20), Connections: 4, Threads: 1, Sources: sources}); err != nil {
		t.Fatal(err)
	}
	for _, a := range sources {
		if _, ok := from.Load(a); !ok {
			t.Errorf("no request came from %s", a)
		}
	}
}

func TestCounter(t *testing.T) {
	r := Request{Head: []byte("GET /x?size="), Tail: []byte(" HTTP/1.1\r\n\r\n"), Count: NewCounter(3)}
	got := map[string]int{}
	for range 6 {
		got[string(r.append(nil))]++
	}
	for n := 1; n <= 3; n++ {
		if line := fmt.Sprintf("GET /x?size=%d HTTP/1.1\r\n\r\n", n); got[line] != 2 {
			t.Errorf("%q came %d times of 6, want 2: %v", line, got[line], got)
		}
	}
}

func TestAsk(t *testing.T) {
	var first atomic.Bool
	target := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if first.CompareAndSwap(false, true) {
			w.Header().Set("Connection", "close")
		}
		echo(w, r)
	})
	var seen sync.Map
	err := Ask(t.Context(), target, 30, func(i int) []byte { return get(fmt.Sprintf("/%d", i)) }, func(i int, a Answer) error {
		if a.Status != 200 || string(a.Body) != fmt.Sprintf("/%d", i) {
			return fmt.Errorf("%+v", a)
		}
		seen.Store(i, true)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if _, ok := seen.Load(i); !ok {
			t.Errorf("%d was not requested", i)
		}
	}
}

func TestAskEndsAtTheFirstError(t *testing.T) {
	target := serve(t, echo)
	err := Ask(t.Context(), target, 1000, func(i int) []byte { return get("/x") }, func(int, Answer) error { return http.ErrNotSupported })
	if err == nil || !strings.HasPrefix(err.Error(), "GET /x HTTP/1.1: ") {
		t.Fatalf("error %v, want an error with the request and the reason", err)
	}
}
