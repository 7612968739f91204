package edge

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// A recorder is an origin on a raw socket. It records each request byte by byte and answers with an
// echo of it. It also records bytes that are not a strictly valid request.
type recorder struct {
	ln    net.Listener
	mu    sync.Mutex
	seen  []message
	wrong []string
	lies  map[string]corpusCase // by path: the response instead of the echo
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	o := &recorder{ln: ln, lies: map[string]corpusCase{}}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			go o.serve(c)
		}
	}()
	return o
}

// requests returns the number of requests since the last take.
func (o *recorder) requests() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.seen)
}

func (o *recorder) serve(c net.Conn) {
	defer c.Close()
	for r := bufio.NewReader(c); ; {
		m, err := readMessage(r, aRequest, !ofHead)
		// A body that the client ended early is no request.
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
			return
		}
		o.mu.Lock()
		if err != nil {
			o.wrong = append(o.wrong, fmt.Sprintf("%s: %v", m.line, err))
		}
		o.seen = append(o.seen, m)
		_, target := m.asks()
		path, _, _ := strings.Cut(target, "?")
		lie, lies := o.lies[path]
		o.mu.Unlock()
		switch {
		case err != nil:
			return
		case lies:
			io.WriteString(c, lie.origin)
			if lie.then == "close" {
				return
			}
		default:
			io.WriteString(c, m.echo())
		}
	}
}

func (m message) asks() (method, target string) {
	words := strings.Split(m.line, " ")
	if len(words) < 2 {
		return m.line, ""
	}
	return words[0], words[1]
}

// echoed returns the body that identifies the response to a request.
func echoed(method, target, body string) string {
	if method == "HEAD" {
		method = "GET"
	}
	return fmt.Sprintf("%s %s [%s]", method, target, body)
}

// echo returns a response that can be stored. If the path contains "missing", it is a 404.
func (m message) echo() string {
	method, target := m.asks()
	status := "200 OK"
	if strings.Contains(target, "missing") {
		status = "404 Not Found"
	}
	body := echoed(method, target, m.body)
	head := fmt.Sprintf("HTTP/1.1 %s\r\nCache-Control: max-age=600\r\nETag: \"e\"\r\nContent-Type: "+
		"text/plain\r\nContent-Length: %d\r\n\r\n", status, len(body))
	if method == "HEAD" {
		return head
	}
	return head + body
}

// take returns the record and empties it.
func (o *recorder) take() (seen []message, wrong []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen, wrong = o.seen, o.wrong
	o.seen, o.wrong = nil, nil
	return seen, wrong
}

// A rawEdge is an edge on TCP, as Run starts it, in front of a recorder.
type rawEdge struct {
	*edgeTest
	origin   *recorder
	public   string
	proxyAll bool
}

func newRawEdge(t *testing.T, proxyAll bool, change ...func(*Config)) *rawEdge {
	t.Helper()
	o := newRecorder(t)
	e := newTestServer(t, append([]func(*Config){func(c *Config) {
		must(t, c.Origins.Set("http://"+o.ln.Addr().String()))
		c.ProxyAll, c.Listener, c.Listen = proxyAll, nil, "127.0.0.1:0"
		c.MaxBody = 8 << 20
		must(t, c.Limits.Set("icon=off"))
		must(t, c.Limits.Set("search=off"))
	}}, change...)...)
	e.serve(t)
	public := e.sockets.Public
	return &rawEdge{e, o, public.Addr().String(), proxyAll}
}

// A caller is one client connection.
type caller struct {
	net.Conn
	r *bufio.Reader
}

func (w *rawEdge) call(t *testing.T) *caller {
	t.Helper()
	c, err := net.Dial("tcp", w.public)
	must(t, err)
	must(t, c.SetDeadline(time.Now().Add(longEnough)))
	return &caller{c, bufio.NewReader(c)}
}

// send writes in the background, because an edge that refuses a request stops reading.
func (c *caller) send(s string) { go io.WriteString(c, s) }

// answer reads one response. It skips a 100 before it if the client may expect one.
func (c *caller) answer(method string, expects bool) (message, error) {
	m, err := readMessage(c.r, false, method == "HEAD")
	if err == nil && m.status() == 100 && expects {
		return readMessage(c.r, false, method == "HEAD")
	}
	return m, err
}

// ask sends one GET on a connection of its own.
func (w *rawEdge) ask(t *testing.T, target string, fields ...string) message {
	t.Helper()
	return w.tell(t, "GET "+target+" HTTP/1.1\r\nHost: edge.test\r\n"+strings.Join(fields, "")+"Connection: close\r\n\r\n")
}

// tell sends one request, unchanged, on a connection of its own.
func (w *rawEdge) tell(t *testing.T, request string) message {
	t.Helper()
	c := w.call(t)
	defer c.Close()
	c.send(request)
	method, _, _ := strings.Cut(request, " ")
	m, err := c.answer(method, false)
	if err != nil {
		t.Fatalf("%.100q: %v", request, err)
	}
	return m
}
