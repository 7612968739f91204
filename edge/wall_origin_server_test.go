package edge

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/cache"
	"github.com/iconedge/iconedge/edge/observe"
	"github.com/iconedge/iconedge/edge/purge"
	"github.com/iconedge/iconedge/edge/upstream"
)

// A recorder is an origin on a raw socket: it keeps what it was asked, byte by byte, and answers with an echo of it. Bytes that are
// no request by the letter it keeps as well.
type recorder struct {
	ln    net.Listener
	mu    sync.Mutex
	seen  []message
	wrong []string
	lies  map[string]wallCase // by path: what it answers instead
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	o := &recorder{ln: ln, lies: map[string]wallCase{}}
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

func (o *recorder) serve(c net.Conn) {
	defer c.Close()
	for r := bufio.NewReader(c); ; {
		m, err := readMessage(r, true, false)
		if errors.Is(err, io.EOF) && m.line == "" || errors.Is(err, net.ErrClosed) {
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

// echoed is the body by which an answer is known to be that of a request.
func echoed(method, target, body string) string {
	if method == "HEAD" {
		method = "GET"
	}
	return fmt.Sprintf("%s %s [%s]", method, target, body)
}

// echo is an answer that can be stored; what is asked for at a path with "missing" is not there.
func (m message) echo() string {
	method, target := m.asks()
	status := "200 OK"
	if strings.Contains(target, "missing") {
		status = "404 Not Found"
	}
	body := echoed(method, target, m.body)
	head := fmt.Sprintf("HTTP/1.1 %s\r\nCache-Control: max-age=600\r\nETag: \"e\"\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", status, len(body))
	if method == "HEAD" {
		return head
	}
	return head + body
}

// take empties the record.
func (o *recorder) take() (seen []message, wrong []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	seen, wrong = o.seen, o.wrong
	o.seen, o.wrong = nil, nil
	return seen, wrong
}

// A wall is an edge as Run makes it, on TCP, before a recorder.
type wall struct {
	*edgeTest
	origin   *recorder
	public   string
	proxyAll bool
}

func newWall(t *testing.T, proxyAll bool, change ...func(*Config)) *wall {
	t.Helper()
	var cfg Config
	cfg.Flags(flag.NewFlagSet("", flag.PanicOnError))
	o := newRecorder(t)
	must(t, cfg.Origins.Set("http://"+o.ln.Addr().String()))
	patient(&cfg)
	cfg.Log, cfg.ProxyAll = slog.New(slog.DiscardHandler), proxyAll
	must(t, cfg.Limits.Set("icon=off"))
	must(t, cfg.Limits.Set("search=off"))
	for _, f := range change {
		f(&cfg)
	}
	cfg = cfg.filled()
	store, err := cache.New(cache.Options{MaxBytes: cfg.CacheBytes})
	must(t, err)
	up := upstream.New(upstream.Config{Origins: cfg.Origins, FirstByte: cfg.OriginTimeout})
	life, end := context.WithCancel(context.Background())
	h := newHandler(life, cfg, store, up, observe.NewMetrics("test"), nil, nil, nil)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := newServer(h, cfg.Log)
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(listener{ln, h, nil}) }()
	t.Cleanup(func() {
		ln.Close()
		<-done
		shut(s)
		end()
		up.Close()
		store.Close()
	})
	return &wall{&edgeTest{handler: h, purges: purge.New(store, h.library.Negative)}, o, ln.Addr().String(), proxyAll}
}

// A caller is one client connection.
type caller struct {
	net.Conn
	r *bufio.Reader
}

func (w *wall) call(t *testing.T) *caller {
	t.Helper()
	c, err := net.Dial("tcp", w.public)
	must(t, err)
	must(t, c.SetDeadline(time.Now().Add(longEnough)))
	return &caller{c, bufio.NewReader(c)}
}

// send writes in the background: an edge that has heard enough stops reading.
func (c *caller) send(s string) { go io.WriteString(c, s) }

// answer reads one answer. A 100 before it is passed over, where the client may expect one.
func (c *caller) answer(method string, expects bool) (message, error) {
	m, err := readMessage(c.r, false, method == "HEAD")
	if err == nil && m.status() == 100 && expects {
		return readMessage(c.r, false, method == "HEAD")
	}
	return m, err
}

// ask sends one plain request on its own connection.
func (w *wall) ask(t *testing.T, target string, fields ...string) message {
	t.Helper()
	return w.tell(t, "GET "+target+" HTTP/1.1\r\nHost: edge.test\r\n"+strings.Join(fields, "")+"Connection: close\r\n\r\n")
}

// tell sends one request, as it stands, on its own connection.
func (w *wall) tell(t *testing.T, request string) message {
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
