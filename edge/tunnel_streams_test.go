package edge

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"golang.org/x/net/http2"

	"github.com/iconedge/iconedge/edge/exchange"
)

// A connector opens the tunnel of an extended CONNECT. It returns the response, whose body is the
// direction from the edge, and the other direction, whose Close ends it.
type connector func(t *testing.T, target, protocol string) (*http.Response, io.WriteCloser)

// overH2 returns a connector on one connection of HTTP/2.
func (s *securedTest) overH2(t *testing.T, secure bool) connector {
	t.Helper()
	var c net.Conn
	var err error
	if secure {
		config := s.trusting()
		config.NextProtos = []string{"h2"}
		c, err = tls.Dial("tcp", s.tls, config)
	} else {
		c, err = net.Dial("tcp", s.plain)
	}
	must(t, err)
	t.Cleanup(func() { c.Close() })
	//lint:ignore SA1019 the client of net/http can't send :protocol
	client, err := (&http2.Transport{AllowHTTP: true}).NewClientConn(c)
	must(t, err)
	return func(t *testing.T, target, protocol string) (*http.Response, io.WriteCloser) {
		t.Helper()
		r, w := io.Pipe()
		q, err := http.NewRequestWithContext(t.Context(), http.MethodConnect, "https://edge.test"+target, r)
		must(t, err)
		q.Header[":protocol"] = []string{protocol}
		resp, err := client.RoundTrip(q)
		must(t, err)
		return resp, w
	}
}

// overH3 returns a connector on one connection of HTTP/3.
func (s *securedTest) overH3(t *testing.T) connector {
	t.Helper()
	config := s.trusting()
	config.NextProtos = []string{"h3"}
	c, err := quic.DialAddr(t.Context(), s.tls, config, patientQUIC.Clone())
	must(t, err)
	t.Cleanup(func() { c.CloseWithError(0, "") })
	client := (&http3.Transport{}).NewClientConn(c)
	<-client.ReceivedSettings()
	if !client.Settings().EnableExtendedConnect {
		t.Error("the edge does not announce extended CONNECT")
	}
	return func(t *testing.T, target, protocol string) (*http.Response, io.WriteCloser) {
		t.Helper()
		stream, err := client.OpenRequestStream(context.Background())
		must(t, err)
		q, err := http.NewRequest(http.MethodConnect, "https://edge.test"+target, nil)
		must(t, err)
		q.Proto = protocol
		must(t, stream.SendRequestHeader(q))
		resp, err := stream.ReadResponse()
		must(t, err)
		return resp, stream
	}
}

// An extended CONNECT over HTTP/2 and HTTP/3 becomes an upgrade of HTTP/1.1 at the origin, with
// both directions and the end of each. Tunnels on one connection do not mix, and a long message
// passes whole in both directions.
func TestExtendedConnect(t *testing.T) {
	t.Parallel()
	u := &upgrader{}
	s := newSecured(t, u, func(c *Config) { c.ProxyAll = true })
	for name, connect := range map[string]connector{"h2": s.overH2(t, true), "h2c": s.overH2(t, false), "h3": s.overH3(t)} {
		t.Run(name, func(t *testing.T) {
			var all sync.WaitGroup
			for i := range 4 {
				all.Go(func() {
					resp, w := connect(t, "/socket", "websocket")
					if resp.StatusCode != 200 || resp.Header.Get("X-Accept") != "yes" ||
						resp.Header.Get("Sec-Websocket-Accept") != "" || resp.Header.Get("Upgrade") != "" {
						t.Errorf("%d %v", resp.StatusCode, resp.Header)
						return
					}
					sent := bytes.Repeat([]byte{byte('a' + i)}, 500_000)
					go func() { w.Write(sent); w.Close() }()
					got, err := io.ReadAll(resp.Body)
					if err != nil || string(got) != "hello "+string(sent) {
						t.Errorf("tunnel %d: %d bytes, %v", i, len(got), err)
					}
				})
			}
			all.Wait()
			if h := *u.header.Load(); h.Get("Upgrade") != "websocket" || h.Get("Connection") != "Upgrade" ||
				len(h.Get("Sec-Websocket-Key")) != 24 {
				t.Errorf("the origin got %v", h)
			}
			settled(t, "the tunnels have ended", func() bool { return u.open.Load() == 0 && s.Options.Tunnels.Stats().Open == 0 })
			for target, want := range map[string]int{"/refused": 403, "/other": 502, "/socket?wrong": 502, "/healthz": 405} {
				resp, w := connect(t, target, "websocket")
				w.Close()
				if resp.StatusCode != want {
					t.Errorf("%s: %d, want %d", target, resp.StatusCode, want)
				}
			}
			if resp, w := connect(t, "/socket", "h2c"); resp.StatusCode != 405 {
				t.Errorf("h2c: %d, want 405", resp.StatusCode)
			} else {
				w.Close()
			}
			settled(t, "no place is taken", func() bool { return s.Options.Tunnels.Stats().Open == 0 })
		})
	}
}

// A client that resets its stream ends the tunnel at the origin.
func TestResetEndsTunnel(t *testing.T) {
	t.Parallel()
	u := &upgrader{}
	s := newSecured(t, u, func(c *Config) { c.ProxyAll = true })
	for name, connect := range map[string]connector{"h2": s.overH2(t, true), "h3": s.overH3(t)} {
		resp, w := connect(t, "/socket", "websocket")
		if resp.StatusCode != 200 {
			t.Fatalf("%s: %d", name, resp.StatusCode)
		}
		if stream, ok := w.(*http3.RequestStream); ok {
			stream.CancelWrite(quic.StreamErrorCode(http3.ErrCodeRequestCanceled))
		}
		resp.Body.Close()
		settled(t, name+": the origin's end is closed", func() bool { return u.open.Load() == 0 })
		settled(t, name+": the place is free", func() bool { return s.Options.Tunnels.Stats().Open == 0 })
	}
}

const haproxyOrigin = `global
	maxconn 100
defaults
	timeout connect 2m
	timeout client 2m
	timeout server 2m
	timeout tunnel 2m
	mode http
frontend h2c
	bind fd@3 proto h2
	default_backend app
backend app
	server app %s
`

// haproxyBefore starts a real HAProxy that speaks h2c before an origin of HTTP/1.1, and returns its
// address; empty: there is none on this machine.
func haproxyBefore(t *testing.T, origin string) string {
	t.Helper()
	program := haproxy(t)
	if program == "" {
		return ""
	}
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	must(t, os.WriteFile(file, fmt.Appendf(nil, haproxyOrigin, origin), 0o600))
	ln := listenTest(t)
	defer ln.Close()
	socket, err := ln.(*net.TCPListener).File()
	must(t, err)
	defer socket.Close()
	cmd := exec.Command(program, "-db", "-f", file)
	cmd.ExtraFiles = []*os.File{socket}
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return ln.Addr().String()
}

// Upgrades and extended CONNECT reach an origin that speaks HTTP/2 and announces extended CONNECT:
// another edge, with and without TLS, and HAProxy.
func TestTunnelToHTTP2Origin(t *testing.T) {
	t.Parallel()
	u := &upgrader{}
	inner := newSecured(t, u, func(c *Config) { c.ProxyAll = true })
	app := httptest.NewServer(u)
	t.Cleanup(app.Close)
	for name, origin := range map[string]string{"h2c": "h2c://" + inner.plain, "h2": "h2://" + inner.tls,
		"HAProxy": "h2c://" + haproxyBefore(t, app.Listener.Addr().String())} {
		t.Run(name, func(t *testing.T) {
			if origin == "h2c://" {
				t.Skip("SKIPPED: no HAProxy on this machine")
			}
			s := newSecured(t, http.NotFoundHandler(), func(c *Config) {
				must(t, c.Origins.Set(origin))
				c.ProxyAll, c.OriginCA, c.OriginSNI = true, inner.cfg.TLSCerts[0], "edge.test"
			})
			for way, connect := range map[string]connector{"h1": s.overH1(), "h2": s.overH2(t, true),
				"h2c": s.overH2(t, false), "h3": s.overH3(t)} {
				var all sync.WaitGroup
				for i := range 4 {
					all.Go(func() {
						resp, w := connect(t, "/socket", "websocket")
						want := map[bool]int{true: 101, false: 200}[way == "h1"]
						accept := map[bool]string{true: exchange.WebSocketAccept("abc"), false: ""}[way == "h1"]
						if resp.StatusCode != want || resp.Header.Get("X-Accept") != "yes" ||
							resp.Header.Get("Sec-Websocket-Accept") != accept {
							t.Errorf("by %s: %d %v", way, resp.StatusCode, resp.Header)
							return
						}
						sent := bytes.Repeat([]byte{byte('a' + i)}, 500_000)
						go func() { w.Write(sent); w.Close() }()
						got, err := io.ReadAll(resp.Body)
						if err != nil || string(got) != "hello "+string(sent) {
							t.Errorf("by %s: %d bytes, %v", way, len(got), err)
						}
					})
				}
				all.Wait()
				settled(t, "the tunnels have ended", func() bool { return u.open.Load() == 0 && s.Options.Tunnels.Stats().Open == 0 })
				resp, w := connect(t, "/refused", "websocket")
				if w.Close(); resp.StatusCode != http.StatusForbidden {
					t.Errorf("by %s: %d, want the origin's 403", way, resp.StatusCode)
				}
				resp, w = connect(t, "/socket", "websocket")
				resp.Body.Close()
				if stream, ok := w.(*http3.RequestStream); ok {
					stream.CancelWrite(quic.StreamErrorCode(http3.ErrCodeRequestCanceled))
				}
				w.Close()
				settled(t, "a client that leaves ends its tunnel by "+way,
					func() bool { return u.open.Load() == 0 && s.Options.Tunnels.Stats().Open == 0 })
			}
		})
	}
}

// overH1 returns a connector with a connection of its own for each tunnel.
func (s *securedTest) overH1() connector {
	return func(t *testing.T, target, protocol string) (*http.Response, io.WriteCloser) {
		t.Helper()
		c, err := net.Dial("tcp", s.plain)
		must(t, err)
		t.Cleanup(func() { c.Close() })
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: edge.test\r\nConnection: Upgrade\r\nUpgrade: %s\r\nSec-WebSocket-Key: abc\r\n\r\n",
			target, protocol)
		r := bufio.NewReader(c)
		resp, err := http.ReadResponse(r, nil)
		must(t, err)
		if resp.StatusCode == http.StatusSwitchingProtocols {
			resp.Body = struct {
				io.Reader
				io.Closer
			}{r, c}
		}
		return resp, halfOf{c.(*net.TCPConn)}
	}
}

// A halfOf is the sending direction of a connection.
type halfOf struct{ *net.TCPConn }

func (c halfOf) Close() error { return c.CloseWrite() }

// An origin that speaks HTTP/2 and does not announce extended CONNECT gets no upgrade. The client
// gets a 502 that says why, and other requests succeed.
func TestOriginWithoutExtendedConnect(t *testing.T) {
	t.Parallel()
	url, _ := newHTTP2Origin(t, says("page", "Cache-Control", "no-store"), false)
	s := newSecured(t, http.NotFoundHandler(), func(c *Config) { c.ProxyAll = true; must(t, c.Origins.Set(url)) })
	for way, connect := range map[string]connector{"h1": s.overH1(), "h2": s.overH2(t, true), "h3": s.overH3(t)} {
		for range 10 { // more would open a circuit breaker
			resp, w := connect(t, "/socket", "websocket")
			b, _ := io.ReadAll(resp.Body)
			w.Close()
			if resp.StatusCode != http.StatusBadGateway || !bytes.Contains(b, []byte("RFC 8441")) {
				t.Errorf("by %s: %d %s, want a 502 that names RFC 8441", way, resp.StatusCode, b)
			}
		}
	}
	if a := s.by(t, "h2").get(t, "/page"); a.StatusCode != 200 {
		t.Errorf("another request: %d", a.StatusCode)
	}
	if n := s.Options.Tunnels.Stats().Open; n != 0 {
		t.Errorf("%d places are taken", n)
	}
}

// More tunnels than one connection of HTTP/2 has streams are open at once: the edge opens more
// connections to the origin.
func TestManyTunnelsToHTTP2Origin(t *testing.T) {
	t.Parallel()
	const tunnels = 300 // an edge takes 128 streams on a connection
	u := &upgrader{}
	inner := newSecured(t, u, func(c *Config) { c.ProxyAll, c.Tunnels.MaxTunnels = true, 2*tunnels })
	s := newSecured(t, http.NotFoundHandler(), func(c *Config) {
		must(t, c.Origins.Set("h2c://"+inner.plain))
		c.ProxyAll, c.Tunnels.MaxTunnels = true, 2*tunnels
	})
	connect := s.overH1()
	var open, all sync.WaitGroup
	open.Add(tunnels)
	for i := range tunnels {
		all.Go(func() {
			resp, w := connect(t, "/socket", "websocket")
			open.Done()
			open.Wait()
			if resp.StatusCode != http.StatusSwitchingProtocols {
				t.Errorf("tunnel %d: %d", i, resp.StatusCode)
				return
			}
			fmt.Fprint(w, i)
			w.Close()
			if got, err := io.ReadAll(resp.Body); err != nil || string(got) != fmt.Sprint("hello ", i) {
				t.Errorf("tunnel %d: %q, %v", i, got, err)
			}
		})
	}
	all.Wait()
	settled(t, "the tunnels have ended", func() bool { return u.open.Load() == 0 && s.Options.Tunnels.Stats().Open == 0 })
	if a := s.by(t, "h1").get(t, "/other"); a.StatusCode != http.StatusOK {
		t.Errorf("a request beside them: %d", a.StatusCode)
	}
}
