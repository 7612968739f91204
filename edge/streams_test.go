package edge

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/fetch"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/listen/listentest"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/internal/logtest"
)

// from returns a client that connects from the given address and begins each connection with lead.
func (s *securedTest) from(t testing.TB, way, address, lead string) *securedTest {
	t.Helper()
	e := s.by(t, way)
	e.via.(*http.Transport).DialContext = func(ctx context.Context, network, to string) (net.Conn, error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
		at := s.plain
		if !e.plainly {
			at = s.tls
		}
		c, err := d.DialContext(ctx, network, at)
		if err == nil {
			_, err = io.WriteString(c, lead)
		}
		return c, err
	}
	return e
}

// overTCP are the ways in which a proxy in front may connect.
var overTCP = []string{"h1", "h1 over TLS", "h2", "h2c", "reference of h2", "reference of h2c"}

// Limits count the client that a trusted proxy names before TLS or before HTTP/2. The edge believes
// no other peer.
func TestProxyHeaderOfEveryProtocol(t *testing.T) {
	t.Parallel()
	for _, way := range overTCP {
		s := newSecured(t, owntest.NewOrigin(), append(wayOf[way].changes(), func(c *Config) { c.Limits.Set("cdn=1000/1h") })...)
		for _, tt := range listentest.ProxyHeaders {
			client := tt.Client
			if client == "" {
				client = "127.0.0.1"
			}
			before := s.used(client)
			e := s.from(t, way, "127.0.0.1", tt.Header)
			for range 2 {
				if a := e.get(t, "/mdi/home.svg"); a.StatusCode != http.StatusOK {
					t.Errorf("%s, %s: %d", way, tt.Name, a.StatusCode)
				}
			}
			if got := s.used(client) - before - 1; got != 2 { // one for having asked
				t.Errorf("%s, %s: %d calls of %s are counted, want 2", way, tt.Name, got, client)
			}
		}
		for _, tt := range listentest.ProxyHeaders[1:] {
			r, _ := http.NewRequest("GET", "https://edge.test/mdi/home.svg", nil)
			if resp, err := s.from(t, way, "127.0.0.2", tt.Header).RoundTrip(r); err == nil && resp.StatusCode == http.StatusOK {
				t.Errorf("%s, %s: a stranger is answered %d", way, tt.Name, resp.StatusCode)
			}
		}
	}
}

const haproxyConf = `global
	maxconn 100
defaults
	timeout connect 2m
	timeout client 2m
	timeout server 2m
	mode http
frontend one
	bind fd@3
	default_backend h1
frontend two
	bind fd@4
	default_backend h2c
frontend three
	mode tcp
	bind fd@5
	default_backend tls
backend h1
	server edge %[1]s send-proxy-v2
backend h2c
	server edge %[1]s proto h2 send-proxy-v2
backend tls
	mode tcp
	server edge %[2]s send-proxy-v2
`

// haproxy returns the path of HAProxy, which Debian puts outside of some users' PATH; empty: it is
// missing on this machine, which is a failure in CI.
func haproxy(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"haproxy", "/usr/sbin/haproxy"} {
		if program, err := exec.LookPath(name); err == nil {
			return program
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal("HAProxy is missing: make engines installs it")
	}
	return ""
}

// A real HAProxy in front names the client over HTTP/1.1, over h2c, and before TLS that it passes
// through.
func TestBehindHAProxy(t *testing.T) {
	program := haproxy(t)
	if program == "" {
		t.Skip("SKIPPED: no HAProxy on this machine")
	}
	s := newSecured(t, owntest.NewOrigin(), func(c *Config) { c.Limits.Set("cdn=1000/1h") })
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	must(t, os.WriteFile(file, fmt.Appendf(nil, haproxyConf, s.plain, s.tls), 0o600))
	cmd := exec.Command(program, "-db", "-f", file)
	var front []string
	for range 3 {
		ln := listenTest(t)
		defer ln.Close()
		socket, err := ln.(*net.TCPListener).File()
		must(t, err)
		defer socket.Close()
		front, cmd.ExtraFiles = append(front, ln.Addr().String()), append(cmd.ExtraFiles, socket)
	}
	var output logtest.Log
	cmd.Stdout, cmd.Stderr = &output, &output
	must(t, cmd.Start())
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	for i, way := range []string{"h1", "h1", "h2"} {
		client := fmt.Sprintf("127.0.0.%d", 10+i)
		proxy := *s
		proxy.plain, proxy.tls = front[i], front[i]
		e := proxy.from(t, way, client, "")
		before := s.counted(t)
		for range 3 {
			if a := e.get(t, "/mdi/home.svg"); a.StatusCode != http.StatusOK || a.body != owntest.SVG(owntest.ReleaseA) {
				t.Fatalf("through HAProxy, %d: %d\n%s", i, a.StatusCode, output.String())
			}
		}
		if got := s.used(client); got != 3 {
			t.Errorf("through HAProxy, %d: %d calls of the client counted, want 3", i, got)
		}
		if now, p := s.counted(t), []exchange.Protocol{exchange.H1, exchange.H2, exchange.H2}[i]; now[p]-before[p] != 3 {
			t.Errorf("through HAProxy, %d: %v, then %v; want 3 by %s", i, before, now, p.String())
		}
	}
}

// Idle HTTP/2 connections make room for new ones; those in use do not.
func TestIdleStreamsMakeRoom(t *testing.T) {
	for _, way := range []string{"h2", "h2c"} {
		l := owntest.NewOrigin()
		s := newSecured(t, l, func(c *Config) { c.MaxConnections = 3 })
		held := s.by(t, way)
		received, open := make(chan struct{}, 1), make(chan struct{})
		l.Set(func() {
			l.Hold = func(target string) {
				if target == "/mdi/account.svg" {
					received <- struct{}{}
					<-open
				}
			}
		})
		done := make(chan int)
		go func() { done <- held.get(t, "/mdi/account.svg").StatusCode }()
		<-received
		s.by(t, way).get(t, "/mdi/home.svg")
		s.by(t, way).get(t, "/mdi/home.svg")
		settled(t, "two are idle", func() bool { return s.listeners.Stats().States["idle"] == 2 })
		s.later(time.Second)
		if a := s.by(t, way).get(t, "/mdi/home.svg"); a.StatusCode != http.StatusOK {
			t.Errorf("%s: a fourth connection: %d", way, a.StatusCode)
		}
		if n := s.listeners.Stats().Reclaimed; n != 1 {
			t.Errorf("%s: %d connections made room, want 1", way, n)
		}
		close(open)
		if code := <-done; code != http.StatusOK {
			t.Errorf("%s: the connection in use: %d", way, code)
		}
	}
}

// A client that requests uncached responses and resets the streams at once causes a limited number
// of requests to the origin.
func TestResetStreams(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	var received atomic.Int64
	s := newSecured(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { received.Add(1); <-open }),
		func(c *Config) { c.ProxyAll = true })
	defer close(open)
	config := trusting.Clone()
	config.NextProtos = []string{"h2"}
	c, err := tls.Dial("tcp", s.tls, config)
	must(t, err)
	defer c.Close()
	io.WriteString(c, h2.Preface)
	f := http2.NewFramer(c, c)
	go io.Copy(io.Discard, c)
	must(t, f.WriteSettings())
	const atOnce, tries = 128, 5000
	for i := range tries {
		var block bytes.Buffer
		enc := hpack.NewEncoder(&block)
		for _, field := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "https"},
			{Name: ":authority", Value: "edge.test"}, {Name: ":path", Value: fmt.Sprintf("/cold/%d", i)}} {
			enc.WriteField(field)
		}
		id := uint32(2*i + 1)
		if f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}) != nil {
			break // the edge has closed the connection
		}
		if i == atOnce-1 { // the edge fetches all of these
			settled(t, "the origin has the requests", func() bool { return received.Load() == atOnce })
			for id := range uint32(atOnce) {
				f.WriteRSTStream(2*id+1, http2.ErrCodeCancel)
			}
		}
		if i >= atOnce {
			f.WriteRSTStream(id, http2.ErrCodeCancel)
		}
	}
	settled(t, "the connection is closed for it", func() bool { return s.listeners.StreamStats().Calmed == 1 })
	if n := received.Load(); n != atOnce {
		t.Errorf("the origin got %d requests, although the client reset %d", n, tries)
	}
	if a := s.by(t, "h2").get(t, "/healthz"); a.StatusCode != http.StatusOK {
		t.Errorf("another client: %d", a.StatusCode)
	}
}

// A large response goes out while it comes in, even to a client with small windows.
func TestStreamedByEveryProtocol(t *testing.T) {
	t.Parallel()
	large := random(5 << 20)
	for way, of := range wayOf {
		body := large
		if way != "h2" && way != "h3" { // one of each kind is enough
			body = large[:2<<20]
		}
		more := make(chan struct{})
		s := newSecured(t, newSite(map[string]http.HandlerFunc{"/file": func(w http.ResponseWriter, r *http.Request) {
			w.Write(body[:fetch.MaxWhole+100])
			w.(http.Flusher).Flush()
			<-more
			w.Write(body[fetch.MaxWhole+100:])
		}}), append(of.changes(), func(c *Config) { c.ProxyAll = true })...).by(t, way)
		if small, ok := s.via.(*http.Transport); ok && of.protocol == exchange.H2 {
			small.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: 16 << 10, MaxReceiveBufferPerConnection: 64 << 10}
		}
		r, _ := http.NewRequest("GET", "http://edge.test/file", nil)
		resp, err := s.RoundTrip(r) // its head is here before the origin has sent all
		must(t, err)
		part := make([]byte, fetch.MaxWhole)
		if _, err := io.ReadFull(resp.Body, part); err != nil || !bytes.Equal(part, body[:fetch.MaxWhole]) {
			t.Errorf("%s: the first part: %v", way, err)
		}
		close(more)
		rest, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !bytes.Equal(rest, body[fetch.MaxWhole:]) {
			t.Errorf("%s: %d bytes after the first part, %v", way, len(rest), err)
		}
	}
}

// Deny lists and tokens work over every protocol.
func TestListsAndTokensOfEveryProtocol(t *testing.T) {
	t.Parallel()
	deny := filepath.Join(t.TempDir(), "deny")
	writeList(t, deny, "203.0.113.9")
	for way, of := range wayOf {
		s := newSecured(t, lifetime{owntest.NewOrigin()},
			append(of.changes(), func(c *Config) { c.DenyFile, c.RequireToken = deny, true })...).by(t, way)
		for range 2 {
			for _, row := range []struct {
				target string
				fields []string
				status int
			}{
				{"/mdi/home.svg", nil, 200},
				{"/mdi/home.svg", []string{"X-Forwarded-For", "203.0.113.9"}, 403},
				{"/mdi/home.svg", []string{"Forwarded", "for=203.0.113.9"}, 403},
				{"/api/v1/search?q=home", nil, 401},
				{"/api/v1/search?q=home", []string{"Authorization", "Bearer " + bad}, 401},
				{"/api/v1/search?q=home", []string{"Authorization", "Bearer " + good}, 200},
			} {
				if a := s.get(t, row.target, row.fields...); a.StatusCode != row.status {
					t.Errorf("%s: %s %v: %d, want %d", way, row.target, row.fields, a.StatusCode, row.status)
				}
			}
		}
	}
}

// A client that resets its stream ends a stream of events at the origin, although that is silent.
// Otherwise a connection of HTTP/2 could have no more requests after so many of them, until --idle
// ends them.
func TestResetEndsEvents(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"h2", "h3", "reference of h2"} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			t.Run(way+" "+method, func(t *testing.T) {
				t.Parallel()
				var open atomic.Int64
				s := newSecured(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					open.Add(1)
					defer open.Add(-1)
					w.Header().Set("Content-Type", "text/event-stream")
					w.Header().Set("Cache-Control", "no-store")
					io.WriteString(w, "data: 1\n\n")
					http.NewResponseController(w).Flush()
					<-r.Context().Done()
				}), append(wayOf[way].changes(), func(c *Config) { c.ProxyAll, c.Idle = true, time.Hour })...)
				e := s.by(t, way)
				for range 3 {
					ctx, cancel := context.WithCancel(t.Context())
					req, err := http.NewRequestWithContext(ctx, method, "https://edge.test/events", nil)
					must(t, err)
					resp, err := e.via.RoundTrip(req)
					must(t, err)
					if _, err := io.ReadFull(resp.Body, make([]byte, 9)); err != nil {
						t.Error(err)
					}
					cancel()
					resp.Body.Close()
				}
				settled(t, "the origin has no stream", func() bool { return open.Load() == 0 })
			})
		}
	}
}
