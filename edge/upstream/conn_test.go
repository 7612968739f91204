package upstream

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

// Bytes after an answer are nobody's: they are never the next request's answer, whatever the answer was and however many wait for the connection.
func TestLeftoverIsNoAnswer(t *testing.T) {
	for name, first := range map[string]struct{ method, text string }{
		"a length":    {"GET", ok + evil},
		"chunks":      {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n" + evil},
		"no body":     {"GET", "HTTP/1.1 204 No Content\r\n\r\n" + evil},
		"length 0":    {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" + evil},
		"HEAD":        {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" + evil},
		"part of one": {"GET", ok + "HTTP/1.1 200 OK\r\nX: "},
	} {
		t.Run(name, func(t *testing.T) {
			o := serve(t, func(c net.Conn, head string) bool {
				text := ok
				if strings.Contains(head, " /long ") {
					text = first.text
				}
				_, err := io.WriteString(c, text)
				return err == nil
			})
			c := o.client(t, Config{MaxConns: 2})
			var wg sync.WaitGroup
			for range 8 { // more than there are connections: each is handed on the moment it is free
				wg.Go(func() {
					for range 20 {
						fetch(t.Context(), c, Request{Method: first.method, Target: "/long"})
						a, err := fetch(t.Context(), c, Request{Method: "GET", Target: "/good"})
						if err == nil && a.body != "ok" {
							t.Errorf("/good is answered %d %q", a.Status, a.Body)
						}
						if err == nil && a.Header.Get("X") != "" {
							t.Errorf("/good has a field of another answer: %v", a.Header)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// An origin that speaks before it is asked is not listened to.
func TestGreetingIsNoAnswer(t *testing.T) {
	near, far := net.Pipe()
	c := newConn(near, func() {})
	_, at := newAttempt(t.Context())
	go func() { io.WriteString(far, evil); io.Copy(io.Discard, far) }()
	if n, err := c.Read(make([]byte, 99)); n != 0 || err != errUnasked {
		t.Errorf("Read before any Write = %d, %v; want none, errUnasked", n, err)
	}
	if _, err := c.Write([]byte("GET")); err != errUnasked {
		t.Errorf("Write after it: %v, want errUnasked", err)
	}
	c.begin(at)
	if c.sent() {
		t.Error("something was sent")
	}
}

// An origin that closes a connection without a word gets a GET once more, on whichever connection, and a POST never.
func TestOnceMore(t *testing.T) {
	for _, r := range []struct {
		method string
		most   int
	}{{"GET", 2}, {"HEAD", 2}, {"POST", 1}} {
		t.Run(r.method, func(t *testing.T) {
			const idle = 10
			var warm sync.WaitGroup // holds the first answers back until each has a connection of its own
			warm.Add(idle)
			o := serve(t, func(c net.Conn, head string) bool {
				if strings.Contains(head, " /drop ") {
					return false
				}
				warm.Done()
				warm.Wait()
				return says(ok)(c, head)
			})
			c := o.client(t, Config{})
			var wg sync.WaitGroup
			for range idle {
				wg.Go(func() {
					if _, err := fetch(t.Context(), c, Request{Method: "GET", Target: "/warm"}); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			_, err := fetch(t.Context(), c, Request{Method: r.method, Target: "/drop"})
			wantProblem(t, err, 502, ErrAnswer)
			if got := len(o.requests()) - idle; got > r.most || got < 1 {
				t.Errorf("the origin got %d of one %s, want at most %d", got, r.method, r.most)
			}
		})
	}
}

// A connection that was lost while idle is no error of a GET's: it goes out on another.
func TestLostConnectionIsMended(t *testing.T) {
	var dropped atomic.Bool
	o := serve(t, func(c net.Conn, head string) bool {
		if strings.Contains(head, " /second ") && dropped.CompareAndSwap(false, true) {
			return false
		}
		return says(ok)(c, head)
	})
	c := o.client(t, Config{})
	for _, target := range []string{"/first", "/second"} {
		if a, err := fetch(t.Context(), c, Request{Method: "GET", Target: target}); err != nil || a.body != "ok" {
			t.Fatalf("%s: %+v, %v", target, a, err)
		}
	}
	if got := c.Stats(); got.Retries != 1 || got.Failures != 0 {
		t.Errorf("Stats = %+v, want one retry", got)
	}
}

// A new connection that fails is not tried again.
func TestFreshConnectionIsNotMended(t *testing.T) {
	o := serve(t, func(net.Conn, string) bool { return false })
	c := o.client(t, Config{})
	_, err := fetch(t.Context(), c, Request{Method: "GET", Target: "/"})
	wantProblem(t, err, 502, ErrAnswer)
	if got := o.requests(); len(got) != 1 {
		t.Errorf("the origin was asked %d times", len(got))
	}
}

// Whatever an origin sends, the answer that follows on another request is that request's own.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{ok, ok + evil, "HTTP/1.1 200 OK\r\n\r\nab", "HTTP/1.1 204 No Content\r\n\r\nab", "HTTP/1.1 100 Continue\r\n\r\n", "x",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var good atomic.Int64
		o := serve(t, func(c net.Conn, head string) bool {
			if strings.Contains(head, " /good/") {
				n := good.Add(1)
				_, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nX-Number: %d\r\n\r\n%d", n, n)
				return err == nil
			}
			_, err := io.WriteString(c, text)
			return err == nil && good.Load() > 0 // the first time the connection is closed, then it stays open
		})
		c := o.client(t, Config{})
		for i := 1; i <= 2; i++ {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // some bytes leave more to be waited for
			a, err := fetch(ctx, c, Request{Method: "GET", Target: "/bad"})
			cancel()
			if err == nil && (a.Status < 200 || a.Status > 599 || len(a.body) > 1<<20) {
				t.Fatalf("passed on: %+v", a)
			}
			a, err = fetch(t.Context(), c, Request{Method: "GET", Target: fmt.Sprintf("/good/%d", i)})
			if err != nil || a.body != fmt.Sprint(i) || a.Header.Get("X-Number") != fmt.Sprint(i) {
				t.Fatalf("after %q the answer %d is %+v, %v", text, i, a, err)
			}
		}
	})
}
