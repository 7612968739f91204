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
	"time"

	"github.com/iconedge/iconedge/problem"
)

// TestMain keeps net/http's log of unasked bytes out of the tests' output: here they are sent on purpose.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	m.Run()
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// An answerer writes to a request whatever bytes a test says; it may wait and close. Unless it returns false the connection takes the
// next request.
type answerer func(c net.Conn, head string) bool

// says answers every request with the same bytes and keeps the connection open.
func says(text string) answerer {
	return func(c net.Conn, _ string) bool { _, err := io.WriteString(c, text); return err == nil }
}

// drops closes the connection without a word.
func drops(net.Conn, string) bool { return false }

// hangs never answers.
func hangs(c net.Conn, _ string) bool { io.Copy(io.Discard, c); return false }

// A server is an origin of raw connections.
type server struct {
	answer answerer
	ln     net.Listener
	mu     sync.Mutex
	seen   []string // heads of the requests, in the order in which they came
}

// serve starts an origin on loopback.
func serve(t *testing.T, answer answerer) *server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{ln: ln, answer: answer}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() }) // wakes an answer that still writes
			go s.connection(c)
		}
	}()
	t.Cleanup(func() { ln.Close() })
	return s
}

func (s *server) connection(c net.Conn) {
	defer c.Close()
	for r := bufio.NewReader(c); ; {
		head, err := readHead(r)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.seen = append(s.seen, head)
		s.mu.Unlock()
		if !s.answer(c, head) {
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
func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

func (s *server) url() *url.URL { return &url.URL{Scheme: "http", Host: s.ln.Addr().String()} }

// client asks s, with the patience that a busy machine needs.
func (s *server) client(t *testing.T, cfg Config) *Client {
	t.Helper()
	cfg.Origins, cfg.Connect, cfg.FirstByte = [][]*url.URL{{s.url()}}, or(cfg.Connect, time.Minute), or(cfg.FirstByte, time.Minute)
	c := New(cfg)
	t.Cleanup(c.Close)
	return c
}

// A network has a server for each host name, and connections that are pipes: within a bubble time passes only when all wait, and
// the bubble's end fails if a goroutine is left. A host that it has no server for can't be connected to.
type network map[string]*server

func (n network) dial(_ context.Context, _, address string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(address)
	s := n[host]
	if s == nil {
		return nil, errors.New("connection refused")
	}
	near, far := net.Pipe()
	go s.connection(far)
	return near, nil
}

// client asks origins by name: groups are apart by a bar, hosts by a space.
func (n network) client(cfg Config, origins string) *Client {
	for group := range strings.SplitSeq(origins, "|") {
		var urls []*url.URL
		for _, host := range strings.Fields(group) {
			urls = append(urls, &url.URL{Scheme: "http", Host: host})
		}
		cfg.Origins = append(cfg.Origins, urls)
	}
	c := New(cfg)
	c.dialWith(n.dial)
	return c
}

// dialWith makes c connect as a test says.
func (c *Client) dialWith(d dial) {
	c.transport.DialContext, c.again.DialContext = c.watch(d), c.watch(d)
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

func get(target string) Request { return Request{Method: http.MethodGet, Target: target} }

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
