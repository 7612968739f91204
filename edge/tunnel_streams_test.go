package edge

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"golang.org/x/net/http2"
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
	c, err := quic.DialAddr(t.Context(), s.tls, config, nil)
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
					if resp.StatusCode != 200 || resp.Header.Get("X-Accept") != "yes" || resp.Header.Get("Sec-Websocket-Accept") != "" || resp.Header.Get("Upgrade") != "" {
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
			if h := *u.header.Load(); h.Get("Upgrade") != "websocket" || h.Get("Connection") != "Upgrade" || len(h.Get("Sec-Websocket-Key")) != 24 {
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
