package upstream

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// An origin that closes a connection without a response gets a GET a second time, on whichever
// connection, and a POST never, whatever its header fields: net/http would repeat one with an
// Idempotency-Key.
func TestRetryByMethod(t *testing.T) {
	for _, r := range []struct {
		method string
		want   int
	}{{"GET", 2}, {"HEAD", 2}, {"OPTIONS", 2}, {"POST", 1}, {"TRACE", 1}} {
		t.Run(r.method, func(t *testing.T) {
			const idle = 10
			// Delays the first responses until each has a connection of its own.
			var warm sync.WaitGroup
			warm.Add(idle)
			o := serve(t, func(c net.Conn, head string) bool {
				if strings.Contains(head, " /drop ") {
					return false
				}
				warm.Done()
				warm.Wait()
				return responds(ok)(c, head)
			})
			c := o.client(t, Config{})
			var wg sync.WaitGroup
			for range idle {
				wg.Go(func() {
					if _, err := fetch(t.Context(), c, get("/warm")); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			_, err := c.Do(t.Context(), Request{Method: r.method, Target: "/drop", Header: http.Header{"Idempotency-Key": {"x"}}})
			wantProblem(t, err, 502, ErrResponse)
			if got := len(o.requests()) - idle; got != r.want {
				t.Errorf("the origin got one %[2]s %[1]d times, want %[3]d", got, r.method, r.want)
			}
		})
	}
}

// A GET whose connection was lost is sent again on another connection, even if the first one was
// new, because an origin that restarts closes new connections too.
func TestLostConnectionIsRetried(t *testing.T) {
	for _, before := range []int{0, 1} {
		var dropped atomic.Bool
		o := serve(t, func(c net.Conn, head string) bool {
			if strings.Contains(head, " /drop ") && dropped.CompareAndSwap(false, true) {
				return false
			}
			return responds(ok)(c, head)
		})
		c := o.client(t, Config{})
		for range before {
			fetch(t.Context(), c, get("/"))
		}
		if a, err := fetch(t.Context(), c, get("/drop")); err != nil || a.body != "ok" {
			t.Fatalf("%+v, %v", a, err)
		}
		if got := c.Stats(); got.Retries != 1 || got.Failures != 0 || got.Origins[0].Failures != 1 {
			t.Errorf("Stats = %+v, want one retry", got)
		}
	}
}

// An origin that closes only idle connections loses no GET, however many idle ones it has.
func TestRetryUsesNewConnection(t *testing.T) {
	const idle = 10
	var mu sync.Mutex
	var warm sync.WaitGroup
	warm.Add(idle)
	served := map[net.Conn]bool{}
	o := serve(t, func(c net.Conn, head string) bool {
		mu.Lock()
		before := served[c]
		served[c] = true
		mu.Unlock()
		if strings.Contains(head, " /warm ") {
			warm.Done()
			warm.Wait()
		}
		return !before && responds(ok)(c, head)
	})
	c := o.client(t, Config{})
	var wg sync.WaitGroup
	for range idle {
		wg.Go(func() { fetch(t.Context(), c, get("/warm")) })
	}
	wg.Wait()
	for range idle {
		if a, err := fetch(t.Context(), c, get("/")); err != nil || a.body != "ok" {
			t.Fatalf("%+v, %v", a, err)
		}
	}
}

// A request is not repeated once a response has begun.
func TestBegunResponseIsNotRetried(t *testing.T) {
	for _, text := range []string{"H", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n"} {
		o := serve(t, func(c net.Conn, head string) bool {
			if strings.Contains(head, " /bad ") {
				responds(text)(c, head)
				return false
			}
			return responds(ok)(c, head)
		})
		c := o.client(t, Config{})
		fetch(t.Context(), c, get("/"))
		_, err := c.Do(t.Context(), get("/bad"))
		wantProblem(t, err, 502, ErrResponse)
		if got := c.Stats(); len(o.requests()) != 2 || got.Retries != 0 || got.Origins[0].Failures != 0 {
			t.Errorf("requests %q; Stats = %+v", o.requests(), got)
		}
	}
}

// An idle connection that the origin closes before a request is sent costs no try, not even for a
// POST.
func TestIdleConnectionIsClosed(t *testing.T) {
	o := serve(t, func(c net.Conn, head string) bool { responds(ok)(c, head); return false })
	c := o.client(t, Config{})
	for range 50 {
		a, err := fetch(t.Context(), c, get("/"))
		if err != nil || a.body != "ok" {
			t.Fatalf("%+v, %v", a, err)
		}
	}
	if got := c.Stats(); got.Failures != 0 {
		t.Errorf("Stats = %+v", got)
	}
}

// A request that may not be repeated uses no connection that the origin may be about to close.
// Many applications close one that was idle for two seconds. Others use it again.
func TestIdleConnectionOfUnsafeRequest(t *testing.T) {
	for method, want := range map[string]int{"GET": 1, "POST": 2} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				connections := map[net.Conn]bool{}
				s := &server{answer: func(c net.Conn, _ string) bool {
					connections[c] = true // one request after the other
					return responds(ok)(c, "")
				}}
				c := network{"a.test": s}.client(Config{}, "a.test")
				defer c.Close()
				for _, pause := range []time.Duration{0, time.Second, 1900 * time.Millisecond} {
					time.Sleep(pause)
					if a, err := fetch(t.Context(), c, Request{Method: method, Target: "/"}); err != nil || a.body != "ok" {
						t.Fatalf("after %v: %+v, %v", pause, a, err)
					}
				}
				if len(connections) != want {
					t.Errorf("%d connections, want %d", len(connections), want)
				}
			})
		})
	}
}

// A request that could not be written was not sent, so it goes to the next origin, or to the same
// one again, whatever the method.
func TestUnwrittenRequest(t *testing.T) {
	for _, row := range []struct {
		origins string
		dead    int32 // connections that accept no byte
		want    error
	}{{"a|b", 1, nil}, {"a", 1, nil}, {"a|b", 2, errUnsent}, {"a", 2, errUnsent}} {
		synctest.Test(t, func(t *testing.T) {
			n := network{"a": {answer: responds(ok)}, "b": {answer: responds(ok)}}
			c := n.client(Config{}, row.origins)
			defer c.Close()
			var dials atomic.Int32
			c.dialWith(func(ctx context.Context, network, address string) (net.Conn, error) {
				raw, err := n.dial(ctx, network, address)
				if dials.Add(1) <= row.dead {
					raw = unwritable{raw}
				}
				return raw, err
			})
			_, err := fetch(t.Context(), c, Request{Method: "POST", Target: "/", Body: []byte("x")})
			if row.want != nil {
				wantProblem(t, err, 502, row.want)
			} else if err != nil {
				t.Errorf("%+v: %v", row, err)
			}
			if got := dials.Load(); got != 2 {
				t.Errorf("%+v: %d connections", row, got)
			}
		})
	}
}

type unwritable struct{ net.Conn }

func (unwritable) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
