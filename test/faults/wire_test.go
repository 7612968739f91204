//go:build linux

package faults

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/test/harness"
)

// A wire lies between the tested proxy and a real origin. It passes requests on, unless a fault
// answers them.
type wire struct {
	t       *testing.T
	origin  string // HOST:PORT; empty: the wire serves only the paths of generated
	address string
	ended   chan struct{} // closed when the test ends, so that faults that hang can end

	mu       sync.Mutex
	server   *http.Server
	conns    map[net.Conn]struct{}
	fault    fault
	requests map[string]int // by path, whatever the response
}

// A fault answers a request in its own way.
type fault func(w *wire, rw http.ResponseWriter, r *http.Request)

func newWire(t *testing.T, origin string) *wire {
	t.Helper()
	w := &wire{t: t, origin: origin, address: harness.FreeAddress(t), ended: make(chan struct{}),
		conns: map[net.Conn]struct{}{}, requests: map[string]int{}}
	w.listen()
	t.Cleanup(func() { close(w.ended); w.cut() })
	return w
}

// listen begins to accept connections, also after a cut.
func (w *wire) listen() {
	var ln net.Listener
	for tries := 0; ; tries++ { // the kernel may need a moment to release the port
		var err error
		if ln, err = net.Listen("tcp", w.address); err == nil {
			break
		}
		if tries == 6000 {
			w.t.Errorf("the wire can't listen again: %v", err)
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	w.address = ln.Addr().String()
	server := &http.Server{Handler: w, ConnState: w.track, ErrorLog: quiet}
	w.mu.Lock()
	w.server = server
	w.mu.Unlock()
	go server.Serve(ln)
}

// track tracks all open connections, including those that a fault has taken over. The fault or cut
// closes them.
func (w *wire) track(c net.Conn, state http.ConnState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch state {
	case http.StateNew:
		w.conns[c] = struct{}{}
	case http.StateClosed:
		delete(w.conns, c)
	}
}

// cut stops listening and resets every connection.
func (w *wire) cut() {
	w.mu.Lock()
	server, conns := w.server, w.conns
	w.server, w.conns = nil, map[net.Conn]struct{}{}
	w.mu.Unlock()
	if server != nil {
		server.Close()
	}
	for c := range conns {
		reset(c)
	}
}

// reset closes a connection with a RST.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Close()
}

// setFault makes a fault answer all further requests; nil ends it.
func (w *wire) setFault(f fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = f
}

// count returns the number of requests for a path.
func (w *wire) count(path string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests[path]
}

func (w *wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.requests[r.URL.Path]++
	f := w.fault
	w.mu.Unlock()
	if f == nil {
		f = (*wire).pass
	}
	f(w, rw, r)
}

// pass answers with the origin's response.
func (w *wire) pass(rw http.ResponseWriter, r *http.Request) {
	a, ok := w.fetch(r)
	if !ok {
		panic(http.ErrAbortHandler) // the origin is gone, so the connection goes too
	}
	for name, lines := range a.header {
		rw.Header()[name] = lines
	}
	rw.WriteHeader(a.status)
	rw.Write(a.body)
}

// A response is a complete response of the origin.
type response struct {
	status int
	header http.Header
	body   []byte
}

// fetch returns the origin's response to a request.
func (w *wire) fetch(r *http.Request) (*response, bool) {
	if made := generated(r.URL.Path); made != nil {
		return &response{200, http.Header{"Content-Type": {"application/octet-stream"},
			"Cache-Control": {"public, max-age=600"}}, made}, true
	}
	req := r.Clone(r.Context())
	req.RequestURI, req.URL.Scheme, req.URL.Host = "", "http", w.origin
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, false
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if life := cacheControls[pack(r.URL.Path)]; life != "" && resp.StatusCode < 400 {
		resp.Header.Set("Cache-Control", life)
	}
	return &response{resp.StatusCode, resp.Header, body}, err == nil
}

// transport is a transport that does not change requests.
var transport = &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}

// cacheControls holds the Cache-Control of packs whose icons become stale. Other packs have the
// origin's.
var cacheControls = map[string]string{
	"stale": "public, max-age=1, stale-while-revalidate=600, stale-if-error=600",
	"spare": "public, max-age=1, stale-if-error=600",
}

func pack(path string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return name
}

// generated returns the body of a path that iconedge's origins do not have, and that a proxy
// therefore forwards unchanged: a short body, or one that is too long to be held whole.
func generated(path string) []byte {
	length := map[string]int{"file": 2 << 10, "big": 400 << 10}[pack(path)]
	if length == 0 {
		return nil
	}
	body := make([]byte, length)
	rand.NewChaCha8(sha256.Sum256([]byte(path))).Read(body)
	return body
}

// onConn returns a fault that writes to the connection of a request itself, given the origin's
// response.
func onConn(do func(w *wire, c net.Conn, a *response)) fault {
	return func(w *wire, rw http.ResponseWriter, r *http.Request) {
		a, ok := w.fetch(r)
		if !ok {
			panic(http.ErrAbortHandler)
		}
		c, _, err := rw.(http.Hijacker).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		do(w, c, a)
	}
}

// head returns the head of a's message with another Content-Length.
func (a *response) head(length int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nContent-Length: %d\r\n", a.status, http.StatusText(a.status), length)
	a.header.WriteSubset(&b, map[string]bool{"Content-Length": true, "Connection": true})
	b.WriteString("\r\n")
	return b.Bytes()
}

// status returns a fault that answers everything with a status and a body of its own.
func status(code int, field ...string) fault {
	return func(_ *wire, rw http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(field); i += 2 {
			rw.Header().Set(field[i], field[i+1])
		}
		rw.Header().Set("Content-Type", "text/html")
		rw.WriteHeader(code)
		fmt.Fprintf(rw, "<h1>%d</h1><p>not for clients", code)
	}
}

var (
	// neverAnswers reads a request and never answers it, even after the fault has ended.
	neverAnswers = onConn(func(*wire, net.Conn, *response) {})
	// drips sends a response byte by byte, dripsBody only the body.
	drips = onConn(func(w *wire, c net.Conn, a *response) {
		w.drip(c, append(a.head(len(a.body)), a.body...))
	})
	dripsBody = onConn(func(w *wire, c net.Conn, a *response) {
		c.Write(a.head(len(a.body)))
		w.drip(c, a.body)
	})
	// halves sends half of a body and resets the connection.
	halves = onConn(func(_ *wire, c net.Conn, a *response) {
		c.Write(append(a.head(len(a.body)), a.body[:len(a.body)/2]...))
		reset(c)
	})
	// tooLong declares more bytes than it sends, tooShort fewer.
	tooLong = onConn(func(_ *wire, c net.Conn, a *response) {
		c.Write(append(a.head(len(a.body)+100), a.body...))
		c.Close()
	})
	tooShort = onConn(func(_ *wire, c net.Conn, a *response) {
		c.Write(append(a.head(max(len(a.body)-10, 0)), a.body...))
		c.Close()
	})
	// garbage answers with bytes that are not HTTP.
	garbage = onConn(func(_ *wire, c net.Conn, _ *response) {
		c.Write(bytes.Repeat([]byte{0x16, 3, 1, 0, '\n', 0xff}, 200))
		c.Close()
	})
	// closes closes the connection after each response without announcing it: at once, or a moment
	// later, when the next request may be on its way.
	closes = onConn(func(_ *wire, c net.Conn, a *response) {
		c.Write(append(a.head(len(a.body)), a.body...))
		<-time.After(rand.N(4*time.Millisecond) * rand.N[time.Duration](2))
		c.Close()
	})
)

// drip sends a byte a second.
func (w *wire) drip(c net.Conn, text []byte) {
	defer c.Close()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for i := range text {
		if _, err := c.Write(text[i : i+1]); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-w.ended:
			return
		}
	}
}

// slow returns a fault that delays the origin's responses.
func slow(by time.Duration) fault {
	return func(w *wire, rw http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(by):
			w.pass(rw, r)
		case <-w.ended:
		}
	}
}

// flaps returns a fault that alternates between faults and none.
func flaps(every time.Duration, faults ...fault) fault {
	begun := time.Now()
	return func(w *wire, rw http.ResponseWriter, r *http.Request) {
		if n := int(time.Since(begun) / every); n%2 == 0 {
			faults[n/2%len(faults)](w, rw, r)
			return
		}
		w.pass(rw, r)
	}
}

// gate returns a fault that waits until open ends, and then calls another fault.
func gate(open context.Context, then fault) fault {
	return func(w *wire, rw http.ResponseWriter, r *http.Request) {
		<-open.Done()
		then(w, rw, r)
	}
}
