package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/internal/problem"
)

// TestMain silences net/http's log of unsolicited bytes, which these tests send on purpose.
func TestMain(m *testing.M) {
	log.SetOutput(io.Discard)
	for _, everyLean = range []bool{false, true} {
		if status := m.Run(); status != 0 {
			fmt.Println("lean exchanges:", everyLean)
			os.Exit(status)
		}
	}
}

// everyLean makes the exchanges of all clients lean, so that every test runs with net/http's
// Transport and with the lean client.
var everyLean bool

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// An answerer responds to a request with any bytes; it may wait and close the connection. If it
// returns true the connection reads the next request.
type responder func(c net.Conn, head string) bool

// responds responds to every request with the same bytes and keeps the connection open.
func responds(text string) responder {
	return func(c net.Conn, _ string) bool { _, err := io.WriteString(c, text); return err == nil }
}

// drops closes the connection without a response.
func drops(net.Conn, string) bool { return false }

// hangs never responds.
func hangs(c net.Conn, _ string) bool { io.Copy(io.Discard, c); return false }

// A server is an origin that reads and writes raw bytes.
type server struct {
	answer responder
	ln     net.Listener
	mu     sync.Mutex
	seen   []string // heads of the requests, in order of arrival
}

// serve starts an origin on loopback.
func serve(t *testing.T, answer responder) *server {
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
			t.Cleanup(func() { c.Close() }) // ends a response that is still being written
			go s.connection(c)
		}
	}()
	t.Cleanup(func() { ln.Close() })
	return s
}

// change changes the responses to later requests.
func (s *server) change(answer responder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
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
		answer := s.answer
		s.mu.Unlock()
		if !answer(c, head) {
			return
		}
	}
}

// readHead reads a request line and its fields, and discards a body with a Content-Length.
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

// requests returns the heads of the requests received.
func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

func (s *server) url() *url.URL { return &url.URL{Scheme: "http", Host: s.ln.Addr().String()} }

// newClient returns New of cfg.
func newClient(cfg Config) *Client {
	c := New(cfg)
	if c.leans = never; everyLean {
		c.leans = always
	}
	return c
}

// client returns a Client of s with timeouts that suit a busy machine.
func (s *server) client(t *testing.T, cfg Config) *Client {
	t.Helper()
	cfg.Origins, cfg.Connect, cfg.FirstByte = [][]*url.URL{{s.url()}}, or(cfg.Connect, time.Minute), or(cfg.FirstByte, time.Minute)
	c := newClient(cfg)
	t.Cleanup(c.Close)
	return c
}

// A network has a server for each host name, connected by pipes, so that within a bubble time
// passes only when all goroutines wait, and a remaining goroutine fails the test. Other hosts
// refuse connections.
type network map[string]*server

func (n network) dial(_ context.Context, _, address string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(address)
	s := n[host]
	if s == nil {
		return nil, errors.New("connection refused")
	}
	near, far := net.Pipe()
	go s.connection(far)
	return quietPipe{near}, nil
}

// A quietPipe is a pipe on which no bytes wait: a write to a pipe returns when they are read.
type quietPipe struct{ net.Conn }

// Quiet lets a lean client use the pipe again.
func (quietPipe) Quiet() bool { return true }

// client returns a Client of the named origins: a bar separates groups, a space separates hosts.
func (n network) client(cfg Config, origins string) *Client {
	for group := range strings.SplitSeq(origins, "|") {
		var urls []*url.URL
		for _, host := range strings.Fields(group) {
			urls = append(urls, &url.URL{Scheme: "http", Host: host})
		}
		cfg.Origins = append(cfg.Origins, urls)
	}
	cfg.Lookup.Addresses = func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no resolver") }
	c := newClient(cfg)
	c.dialWith(n.dial)
	return c
}

// dialWith makes c connect with d.
func (c *Client) dialWith(d dial) {
	c.dial = d
	for _, t := range []*http.Transport{c.transport, c.retryTransport, c.unsafeTransport} {
		t.DialContext = c.wrapDial(d)
	}
}

// fetched is a response with its whole body.
type fetched struct {
	*Response
	body string
}

// fetch reads a whole response of at most a MiB.
func fetch(ctx context.Context, c *Client, r Request) (*fetched, error) {
	a, err := c.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	b, err := a.Whole(1 << 20)
	return &fetched{a, string(b)}, err
}

func get(target string) Request { return Request{Method: http.MethodGet, Target: target} }

// wantProblem checks that err is a problem with this status and cause, and that its detail does not
// reveal the cause.
func wantProblem(t *testing.T, err error, status int, cause error) {
	t.Helper()
	p, ok := errors.AsType[*problem.Problem](err)
	if !ok || p.Status != status || !errors.Is(err, cause) {
		t.Fatalf("error %v, want a %d because of %q", err, status, cause)
	}
	if p.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q, want 1", p.Header.Get("Retry-After"))
	}
	if strings.Contains(p.Detail, "127.0.0.1") {
		t.Errorf("the detail %q names the origin", p.Detail)
	}
}
