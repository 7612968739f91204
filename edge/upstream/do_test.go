package upstream

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDo(t *testing.T) {
	o := serve(t, responds("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"x\"\r\nCache-Control: max-age=1\r\n"+
		"Connection: keep-alive, X-Hop, Cache-Control\r\nX-Hop: 1\r\nVia: 0.9 back\r\nKeep-Alive: "+
		"timeout=5\r\nProxy-Authenticate: x\r\n\r\nhello"))
	c := o.client(t, Config{})
	before := time.Now()
	a, err := fetch(t.Context(), c, get("/mdi/home.svg?size=2%2b"))
	if err != nil {
		t.Fatal(err)
	}
	if a.Status != 200 || a.body != "hello" {
		t.Errorf("response %d %q", a.Status, a.Body)
	}
	if a.RequestTime.Before(before) || a.ResponseTime.Before(a.RequestTime) || time.Now().Before(a.ResponseTime) {
		t.Errorf("RequestTime %v, ResponseTime %v", a.RequestTime, a.ResponseTime)
	}
	want := http.Header{"Content-Length": {"5"}, "Etag": {`"x"`}, "Cache-Control": {"max-age=1"}, "Via": {"0.9 back, 1.1 iconedge"}}
	for name := range a.Header {
		if !slices.Equal(a.Header[name], want[name]) {
			t.Errorf("%s: %q, want %q", name, a.Header[name], want[name])
		}
	}
	if len(a.Header) != len(want) {
		t.Errorf("fields are %v, want %v", a.Header, want)
	}
}

func TestUnfitRequests(t *testing.T) {
	o := serve(t, responds(ok))
	c := o.client(t, Config{})
	for _, r := range []Request{
		{Method: "GET", Target: ""}, {Method: "GET", Target: "a"}, {Method: "GET", Target: "http://evil/"},
		{Method: "GET", Target: "/a b"}, {Method: "GET", Target: "/a\r\nX: y"}, {Method: "GET", Target: "/\x00"},
		{Method: "GET", Target: "//a\x7f"},
		{Method: "GET", Target: "/#x"}, {Method: "GET X", Target: "/"}, {Method: "CONNECT", Target: "/"},
		{Method: "", Target: "/"}, {Method: "GET", Target: "/", Header: http.Header{"X": {"a\r\nb"}}},
		{Method: "GET", Target: "/", Header: http.Header{"X Y": {"a"}}},
	} {
		_, err := fetch(t.Context(), c, r)
		wantProblem(t, err, 502, ErrRequest)
	}
	if got := o.requests(); len(got) != 0 {
		t.Errorf("the origin got %q", got)
	}
	if got := c.Stats().Origins[0]; got.Failures != 0 {
		t.Errorf("Stats = %+v, want no failure of the origin", got)
	}
}

func TestRedirectsAndCodingsArePassedOn(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/base/old" {
			http.Redirect(w, r, "/new", http.StatusFound)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, "packed")
		z.Close()
	}))
	defer s.Close()
	u, _ := url.Parse(s.URL + "/base/")
	c := newClient(Config{Origins: [][]*url.URL{{u}}})
	defer c.Close()
	if a, err := fetch(t.Context(), c, get("/old")); err != nil || a.Status != 302 || a.Header.Get("Location") != "/new" {
		t.Errorf("redirect: %+v, %v", a, err)
	}
	a, err := fetch(t.Context(), c, get("/x"))
	if err != nil || a.Header.Get("Content-Encoding") != "gzip" || !strings.HasPrefix(a.body, "\x1f\x8b") {
		t.Errorf("coding: %+v, %v", a, err)
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }))
	defer s.Close()
	u, _ := url.Parse(s.URL)
	c := newClient(Config{Origins: [][]*url.URL{{u}},
		TLS: func() *tls.Config { return s.Client().Transport.(*http.Transport).TLSClientConfig }})
	defer c.Close()
	for range 5 { // session tickets arrive after the handshake; they are no bytes of a response
		if a, err := fetch(t.Context(), c, get("/")); err != nil || a.body != "HTTP/1.1" {
			t.Fatalf("over TLS: %+v, %v", a, err)
		}
	}
	if got := c.Stats(); got.Open != 1 || got.Retries != 0 {
		t.Errorf("Stats = %+v, want one connection, no retries", got)
	}
	stranger := newClient(Config{Origins: [][]*url.URL{{u}}})
	_, err := fetch(t.Context(), stranger, get("/"))
	wantProblem(t, err, 502, ErrUnreachable)
}

// The handshake counts as connecting.
func TestTLSThatHangs(t *testing.T) {
	o := serve(t, hangs)
	u := o.url()
	u.Scheme = "https"
	c := newClient(Config{Origins: [][]*url.URL{{u}}, Connect: 50 * time.Millisecond, FirstByte: time.Minute})
	_, err := c.Do(t.Context(), get("/"))
	wantProblem(t, err, 504, ErrUnreachable)
}

func TestUnreachable(t *testing.T) {
	// Nothing listens here.
	c := newClient(Config{Origins: [][]*url.URL{{{Scheme: "http", Host: "127.0.0.1:1"}}}})
	_, err := fetch(t.Context(), c, get("/"))
	wantProblem(t, err, 502, ErrUnreachable)
	if got := c.Stats(); got.Requests != 1 || got.Failures != 1 || got.Timeouts != 0 || got.Retries != 0 || got.Open != 0 {
		t.Errorf("Stats = %+v", got)
	}
}

func TestCallerGone(t *testing.T) {
	arrived, leave := make(chan struct{}), make(chan struct{})
	o := serve(t, func(net.Conn, string) bool { close(arrived); <-leave; return false })
	defer close(leave)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	_, err := fetch(ctx, o.client(t, Config{}), get("/"))
	wantProblem(t, err, 502, context.Canceled)
}

// Connections are reused, and no more of them are open than allowed.
func TestMaxConns(t *testing.T) {
	o := serve(t, responds(ok))
	c := o.client(t, Config{MaxConns: 3})
	done := make(chan error)
	for range 60 {
		go func() { _, err := fetch(t.Context(), c, get("/")); done <- err }()
	}
	for range 60 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := c.Stats(); got.Open > 3 || got.Open < 1 {
		t.Errorf("Stats = %+v, want at most 3 connections", got)
	}
}
