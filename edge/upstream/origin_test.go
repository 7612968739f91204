package upstream

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/iconedge/iconedge/problem"
)

// TestMain keeps net/http's log of unasked bytes out of the tests' output: here they are sent on purpose.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	m.Run()
}

// A server is an origin: a raw socket that answers each request with whatever bytes the test says.
type server struct {
	ln   net.Listener
	mu   sync.Mutex
	seen []string // heads of the requests, in the order in which they came
	wg   sync.WaitGroup
}

// serve starts an origin on loopback. Each request is answered by a call of answer, which may write, wait and close; after it
// the connection takes the next request, unless it returned false.
func serve(t *testing.T, answer func(c net.Conn, head string) bool) *server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := &server{ln: ln}
	o.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() }) // wakes an answer that still writes
			o.wg.Go(func() { defer c.Close(); o.connection(c, answer) })
		}
	})
	t.Cleanup(func() { ln.Close() })
	return o
}

func (o *server) connection(c net.Conn, answer func(net.Conn, string) bool) {
	for r := bufio.NewReader(c); ; {
		head, err := readHead(r)
		if err != nil {
			return
		}
		o.mu.Lock()
		o.seen = append(o.seen, head)
		o.mu.Unlock()
		if !answer(c, head) {
			return
		}
	}
}

// readHead reads a request line and its fields, and throws away a body of a Content-Length.
func readHead(r *bufio.Reader) (string, error) {
	var head strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", err
		}
		head.WriteString(line)
		if line == "\r\n" {
			req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head.String())))
			if err != nil {
				return "", err
			}
			_, err = r.Discard(int(max(req.ContentLength, 0)))
			return head.String(), err
		}
	}
}

// requests is what the origin was asked.
func (o *server) requests() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.seen...)
}

func (o *server) url() *url.URL { return &url.URL{Scheme: "http", Host: o.ln.Addr().String()} }

// client asks o; its deadlines are short, where a test waits for one.
func (o *server) client(t *testing.T, cfg Config) *Client {
	t.Helper()
	cfg.Origins = [][]*url.URL{{o.url()}}
	c := New(cfg)
	t.Cleanup(c.Close)
	return c
}

// says answers every request with the same bytes and keeps the connection open.
func says(text string) func(net.Conn, string) bool {
	return func(c net.Conn, _ string) bool { _, err := c.Write([]byte(text)); return err == nil }
}

// wantProblem checks that err is an answer with this status and cause, and tells a caller nothing of the cause.
func wantProblem(t *testing.T, err error, status int, cause error) {
	t.Helper()
	p, ok := errors.AsType[*problem.Problem](err)
	if !ok || p.Status != status || !errors.Is(err, cause) {
		t.Fatalf("error is %v, want a %d because of %q", err, status, cause)
	}
	if p.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q, want 1", p.Header.Get("Retry-After"))
	}
	if strings.Contains(p.Detail, "127.0.0.1") {
		t.Errorf("the detail %q names the origin", p.Detail)
	}
}

// fetched is an answer that has been read.
type fetched struct {
	*Answer
	body string
}

// fetch reads the whole of an answer, of a mebibyte or less.
func fetch(ctx context.Context, c *Client, r Request) (*fetched, error) {
	a, err := c.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	b, err := a.Whole(1 << 20)
	return &fetched{a, string(b)}, err
}
