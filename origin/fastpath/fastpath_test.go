package fastpath

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A served is a server behind a Listener.
type served struct {
	*testing.T
	listener *Listener
	server   *http.Server
	direct   atomic.Int64 // requests that the server did not see
	stopping atomic.Bool
}

func serve(t *testing.T, h http.HandlerFunc) *served {
	s := &served{T: t}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(http.ServerContextKey) == nil {
			s.direct.Add(1)
		}
		h(w, r)
	})
	s.listener = New(ln, Options{Handler: handler, Idle: time.Hour, Write: time.Hour, Stopping: s.stopping.Load})
	s.server = &http.Server{Handler: handler, ConnState: s.listener.State}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.server.Serve(s.listener)
	}()
	t.Cleanup(func() { s.server.Close(); <-done })
	return s
}

// A client is a connection to a served.
type client struct {
	*testing.T
	net.Conn
	reader *bufio.Reader
}

func (s *served) dial() *client {
	s.Helper()
	c, err := net.Dial("tcp", s.listener.Addr().String())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(2 * time.Minute))
	return &client{s.T, c, bufio.NewReader(c)}
}

// ask sends bytes, and returns the response as it lies on the wire, without its date.
func (c *client) ask(request string) string {
	c.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		c.Fatal(err)
	}
	return c.response()
}

var date = regexp.MustCompile(`Date: [^\r]+\r\n`)

func (c *client) response() string {
	c.Helper()
	var raw bytes.Buffer
	resp, err := http.ReadResponse(bufio.NewReader(io.TeeReader(oneByte{c.reader}, &raw)), nil)
	if err != nil {
		c.Fatalf("%v after %q", err, raw.String())
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		c.Fatal(err)
	}
	return date.ReplaceAllString(raw.String(), "Date: …\r\n")
}

// A oneByte reads no byte of the next response.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:1]) }

const get = "GET /mdi/home.svg HTTP/1.1\r\nHost: x:80\r\nAccept-Encoding: gzip\r\n\r\n"

// echo answers with all that it gets.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var b bytes.Buffer
	fmt.Fprintln(&b, r.Method, r.URL.Path, r.URL.RawQuery, r.URL.EscapedPath(), r.RequestURI, r.Host, r.Proto,
		r.ContentLength, len(r.TransferEncoding), r.Close)
	r.Header.Write(&b)
	b.Write(body)
	w.Header()["B"] = []string{"two", " lines\r\nX: y "}
	w.Header().Set("Content-Type", "text/plain")
	if strings.Contains(r.URL.Path, "unchanged") {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if !strings.Contains(r.URL.Path, "without") {
		w.Header().Set("Content-Length", fmt.Sprint(b.Len()))
	}
	w.WriteHeader(http.StatusNotFound)
	w.Header().Set("Too-Late", "1")
	w.Write(b.Bytes()[:10])
	w.Write(b.Bytes()[10:])
}

// The server answers the first request of a connection, and the package the second one: the same
// bytes.
func TestSameResponses(t *testing.T) {
	for _, request := range []string{
		get,
		"GET /mdi/unchanged.svg HTTP/1.1\r\nHost: x\r\nIf-None-Match: \"a\"\r\n\r\n",
		"GET /mdi/without.svg HTTP/1.1\r\nhost: [::1]:80\r\nx-a:  1 \r\nX-A: 2\r\nvia: 1.1 a\r\n\r\n",
	} {
		s := serve(t, echo)
		c := s.dial()
		want := c.ask(request)
		for range 3 {
			if got := c.ask(request); got != want {
				t.Errorf("%q:\ngot  %q\nwant %q", request, got, want)
			}
		}
		if n := s.direct.Load(); n != 3 {
			t.Errorf("%q: %d direct responses, want 3", request, n)
		}
	}
}

// Requests that are not plain go to the server, and plain ones after them are answered directly
// only if the server has had one whole request.
func TestOtherRequests(t *testing.T) {
	for _, row := range []struct {
		request string
		again   bool // the connection is used directly after it
	}{
		{"GET /api/v1/search?query=home HTTP/1.1\r\nHost: x\r\n\r\n", true},
		{"GET /mdi/home.svg?color=red HTTP/1.1\r\nHost: x\r\n\r\n", true},
		{"GET /a/%61.svg HTTP/1.1\r\nHost: x\r\n\r\n", false},
		{"GET /a/b.svg HTTP/1.1\nHost: x\n\n", false},
		{"GET /a/b.svg HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", false},
		{"GET /a/b.svg HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", false},
		{"POST /a/b.svg HTTP/1.1\r\nHost: x\r\nContent-Length: " + fmt.Sprint(len(get)) + "\r\n\r\n" + get, false},
		{"GET /a/b.svg HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n", false},
		{"GET /a/b.svg HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 5000) + "\r\n\r\n", false},
	} {
		s := serve(t, echo)
		c := s.dial()
		c.ask(get)
		want := s.dial().ask(row.request) // by the server alone
		if got := c.ask(row.request); got != want {
			t.Errorf("%q:\ngot  %q\nwant %q", row.request, got, want)
		}
		before := s.direct.Load()
		c.ask(get)
		if again := s.direct.Load() > before; before != 0 || again != row.again {
			t.Errorf("%q: %d direct before the last request, directly again: %v, want %v", row.request, before, again, row.again)
		}
	}
}

// Requests in any pieces, and several at once, get the responses that the server would send.
func TestPieces(t *testing.T) {
	s := serve(t, echo)
	want := s.dial().ask(get)
	for cut := 1; cut < len(get); cut += 7 {
		c := s.dial()
		c.ask(get)
		io.WriteString(c, get[:cut])
		if got := c.ask(get[cut:]); got != want {
			t.Fatalf("cut at %d: %q", cut, got)
		}
	}
	c := s.dial()
	c.ask(get)
	io.WriteString(c, strings.Repeat(get, 3)+"GET /a/b?c HTTP/1.1\r\nHost: x\r\n\r\n"+get)
	for i := range 5 {
		if got := c.response(); (got == want) != (i != 3) {
			t.Errorf("response %d: %q", i, got)
		}
	}
}

// Bytes that arrive while the server answers belong to the next request, which may be plain.
func TestBytesDuringResponse(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/wait") {
			began <- struct{}{}
			<-goOn
		}
		echo(w, r)
	})
	// GGET is no method of an eligible request.
	for next, direct := range map[string]int64{"GET": 1, "GGET": 0} {
		s.direct.Store(0)
		c := s.dial()
		io.WriteString(c, "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")
		<-began
		io.WriteString(c, strings.Replace(get, "GET", next, 1))
		goOn <- struct{}{}
		c.response()
		if got := c.response(); !strings.Contains(got, "\r\n\r\n"+next+" /mdi/home.svg") || s.direct.Load() != direct {
			t.Errorf("%q, %d direct responses, want %d", got, s.direct.Load(), direct)
		}
	}
}

// Shutdown takes the connection for idle, but its response arrives whole, and no other follows.
func TestShutdown(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	var waits atomic.Bool
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if waits.Load() {
			began <- struct{}{}
			<-goOn
		}
		echo(w, r)
	})
	c := s.dial()
	want := c.ask(get)
	waits.Store(true)
	io.WriteString(c, get)
	<-began
	s.stopping.Store(true)
	if err := s.server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if s.listener.Drain(ended); s.listener.busy.Load() != 1 {
		t.Error("Drain does not know of the response")
	}
	close(goOn)
	if got := c.response(); got != want {
		t.Errorf("%q", got)
	}
	s.listener.Drain(t.Context())
	if _, err := c.reader.ReadByte(); err != io.EOF {
		t.Errorf("after the response: %v", err)
	}
}

// When the origin stops, the server gets every request.
func TestStopping(t *testing.T) {
	s := serve(t, echo)
	c := s.dial()
	want := c.ask(get)
	s.stopping.Store(true)
	if got := c.ask(get); got != want || s.direct.Load() != 0 {
		t.Errorf("%q, %d direct responses", got, s.direct.Load())
	}
}

// A response with Connection: close is the last one.
func TestLast(t *testing.T) {
	var last atomic.Bool
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if last.Load() {
			w.Header().Set("Connection", "close")
		}
		echo(w, r)
	})
	c := s.dial()
	c.ask(get)
	last.Store(true)
	if got := c.ask(get + get); !strings.Contains(got, "Connection: close\r\n") || s.direct.Load() != 1 {
		t.Errorf("%q", got)
	}
	if _, err := c.reader.ReadByte(); err == nil {
		t.Error("another response follows")
	}
}

// An eligible request is one for net/http too, with the same end.
func FuzzParse(f *testing.F) {
	f.Add([]byte(get))
	f.Add([]byte("GET /a?b=c HTTP/1.1\r\nHost: x\r\nx-a:  1 \r\nX-A: 2\r\n\r\nGET /"))
	f.Add([]byte("GET /a HTTP/1.1\r\nHost: x\r\nA: b\nContent-Length: 1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, p []byte) {
		r, size := parse(p)
		if size == 0 {
			return
		}
		from := bytes.NewReader(p)
		reader := bufio.NewReaderSize(from, 16)
		want, err := http.ReadRequest(reader)
		if err != nil {
			t.Fatal(err)
		}
		if used := len(p) - from.Len() - reader.Buffered(); used != size {
			t.Fatalf("%d bytes, by net/http %d", size, used)
		}
		h := http.Header{}
		host := r.fields(h)
		if host != want.Host || r.target != want.RequestURI || want.Body != http.NoBody || fmt.Sprint(h) != fmt.Sprint(want.Header) {
			t.Fatalf("%v %v %v, by net/http %v", r.target, host, h, want)
		}
		if r.icon && (want.URL.Path != r.target || want.URL.EscapedPath() != r.target) {
			t.Fatalf("%q is %v", r.target, want.URL)
		}
	})
}
