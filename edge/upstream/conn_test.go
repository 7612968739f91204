package upstream

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

const evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

// Bytes after a response are never taken for the response to the next request, whatever the
// response and however many requests wait for the connection.
func TestSurplusIsNoResponse(t *testing.T) {
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
			// More than there are connections, so each is reused as soon as it is free.
			for range 8 {
				wg.Go(func() {
					for range 20 {
						fetch(t.Context(), c, Request{Method: first.method, Target: "/long"})
						a, err := fetch(t.Context(), c, get("/good"))
						if err == nil && a.body != "ok" {
							t.Errorf("the response to /good is %d %q", a.Status, a.Body)
						}
						if err == nil && a.Header.Get("X") != "" {
							t.Errorf("/good has a field of another response: %v", a.Header)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// After a 412 the connection is not used again: nginx closes it without announcing that, and a
// request that can't be sent twice would be lost.
func TestPreconditionFailedEndsConnection(t *testing.T) {
	for name, text := range map[string]string{
		"a body":  "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 2\r\n\r\nno",
		"no body": "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var closing sync.Map // connections on which a 412 was sent
			o := serve(t, func(c net.Conn, head string) bool {
				if _, ok := closing.Load(c); ok {
					t.Errorf("%.20q follows a 412", head)
					return false
				}
				if strings.Contains(head, " /changed ") {
					closing.Store(c, true)
					_, err := io.WriteString(c, text)
					return err == nil
				}
				_, err := io.WriteString(c, ok)
				return err == nil
			})
			c := o.client(t, Config{MaxConns: 1})
			for range 20 {
				if a, err := fetch(t.Context(), c, get("/changed")); err != nil || a.Status != http.StatusPreconditionFailed {
					t.Fatalf("%v, %v", a, err)
				}
				if a, err := fetch(t.Context(), c,
					Request{Method: http.MethodPatch, Target: "/", Body: []byte("body")}); err != nil || a.body != "ok" {
					t.Fatalf("after a 412: %v, %v", a, err)
				}
			}
		})
	}
}

// Bytes that an origin sends before a request are not used.
func TestEarlyBytesAreNoResponse(t *testing.T) {
	near, far := net.Pipe()
	c := newConn(near, func() {})
	_, at := newAttempt(t.Context(), get("/"))
	go func() { io.WriteString(far, evil); io.Copy(io.Discard, far) }()
	if n, err := c.Read(make([]byte, 99)); n != 0 || err != errUnsolicited {
		t.Errorf("Read before any Write = %d, %v; want none, errUnsolicited", n, err)
	}
	if _, err := c.Write([]byte("GET")); err != errUnsolicited {
		t.Errorf("Write after it: %v, want errUnsolicited", err)
	}
	c.startRequest(at)
	if c.sent() {
		t.Error("a byte of the request was sent")
	}
}

// A request waits until the Transport has handled all earlier bytes.
func TestStartRequestWaits(t *testing.T) {
	for _, end := range []string{"reads on", "closes"} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			defer far.Close()
			c := newConn(near, func() {})
			defer c.Close()
			_, at := newAttempt(t.Context(), get("/"))
			begun := make(chan struct{})
			go func() { c.startRequest(at); close(begun) }()
			synctest.Wait()
			select {
			case <-begun:
				t.Fatal("startRequest does not wait")
			default:
			}
			if end == "closes" {
				c.Close()
			} else {
				go c.Read(make([]byte, 9))
			}
			<-begun
		})
	}
}

// Bytes after the length of a body end the connection, even if they may begin another response, and
// are an error if they can't.
func TestSurplusEndsConnection(t *testing.T) {
	for surplus, want := range map[string]error{"": nil, "\r\n": errUnsolicited, "HTTP/": errUnsolicited, "evil": errExcess} {
		synctest.Test(t, func(t *testing.T) {
			near, far := net.Pipe()
			defer far.Close()
			c := newConn(near, func() {})
			defer c.Close()
			_, at := newAttempt(t.Context(), Request{Method: "GET", StrictLength: true})
			head := make(chan int)
			go func() { n, _ := c.Read(make([]byte, 512)); head <- n }()
			c.startRequest(at)
			go func() {
				io.ReadFull(far, make([]byte, 3))
				io.WriteString(far, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
				io.WriteString(far, "ok"+surplus)
			}()
			io.WriteString(c, "GET")
			<-head
			body := make([]byte, 2)
			n, err := c.Read(body)
			if want != errExcess && (string(body[:n]) != "ok" || err != nil) || want == errExcess && err != want {
				t.Errorf("behind the body %q: Read = %q, %v", surplus, body[:n], err)
			}
			if want != errUnsolicited {
				return
			}
			if n, err := c.Read(body); n != 0 || err != want {
				t.Errorf("behind the body %q: the next Read = %q, %v; want %v", surplus, body[:n], err, want)
			}
		})
	}
}
