package edge

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/own/owntest"
)

// clients returns a client for each protocol of one server of the edge.
func (s *securedTest) clients(t testing.TB, reference bool) map[string]*securedTest {
	t.Helper()
	all := map[string]*securedTest{}
	for name, w := range wayOf {
		if w.reference == (reference && w.protocol == exchange.H2) {
			all[name] = s.by(t, name)
		}
	}
	return all
}

// endsAtOnce is how long an edge without requests may take to end, even on a slow machine: clients
// have half a second to react. An edge that wrongly waits for a client takes its whole drain time.
const endsAtOnce = longEnough / 4

// An edge that ends answers the requests in flight, over every protocol, and does not wait for idle
// clients.
func TestDrainsEveryProtocol(t *testing.T) {
	t.Parallel()
	for name, reference := range map[string]bool{"our own": false, "reference": true} {
		t.Run(name, func(t *testing.T) {
			l := owntest.NewOrigin()
			s := newSecured(t, l, func(c *Config) { c.HTTP2Reference = reference })
			for range 2 {
				for name, e := range s.clients(t, reference) { // these connections stay idle
					if a := e.get(t, "/mdi/home.svg"); a.StatusCode != http.StatusOK {
						t.Fatalf("%s: %d", name, a.StatusCode)
					}
				}
			}
			asked, open := make(chan struct{}, 1), make(chan struct{})
			l.Set(func() { l.Hold = func(string) { asked <- struct{}{}; <-open } })
			var all sync.WaitGroup
			busy := s.clients(t, reference)
			for name, e := range busy {
				all.Go(func() {
					if a := e.get(t, "/mdi/account.svg"); a.StatusCode != http.StatusOK || a.body == "" {
						t.Errorf("%s: under way when the edge ends: %d", name, a.StatusCode)
					}
				})
			}
			<-asked
			settled(t, "all wait for the origin", func() bool { return s.Server.origin.Waiting() == len(busy) })
			stopped := make(chan struct{})
			go func() { s.stop(); close(stopped) }()
			settled(t, "no connection is taken", func() bool {
				c, err := (&http.Client{Transport: s.by(t, "h1 over TLS").via}).Get("https://edge.test/healthz")
				if err == nil {
					c.Body.Close()
				}
				return err != nil
			})
			s.passGrace(t)
			select {
			case <-stopped:
				t.Error("it ended before the requests in flight were answered")
			default:
			}
			began := time.Now()
			close(open)
			all.Wait()
			<-stopped
			if took := time.Since(began); took > endsAtOnce {
				t.Errorf("it took %v to end behind the last answer", took)
			}
		})
	}
}

// passGrace waits until an ending edge would have closed all idle connections.
func (e *edgeTest) passGrace(t *testing.T) {
	t.Helper()
	e.later(2 * listen.IdleGrace)
	looks := e.clock.looks.Load()
	settled(t, "it is looked for idle connections", func() bool { return e.clock.looks.Load() > looks+2 })
}

// A client whose handshake is in progress when the edge ends is answered, because it could not
// know.
func TestDrainGreets(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]string{"h1": "http/1.1", "h2": "h2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSecured(t, owntest.NewOrigin())
			raw, err := net.Dial("tcp", s.tls)
			must(t, err)
			defer raw.Close()
			settled(t, "it is accepted", func() bool { return s.listeners.Stats().Open() == 1 })
			stopped := make(chan struct{})
			go func() { s.stop(); close(stopped) }()
			settled(t, "no connection is taken", func() bool {
				c, err := net.Dial("tcp", s.tls)
				if err == nil {
					c.Close()
				}
				return err != nil
			})
			s.passGrace(t)
			select {
			case <-stopped:
				t.Fatal("it ended with a handshake under way")
			default:
			}
			s.later(-time.Hour) // gives the client time to send its request on a slow machine
			conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, ServerName: "edge.test", NextProtos: []string{next}})
			must(t, conn.HandshakeContext(t.Context()))
			via := &http.Transport{ForceAttemptHTTP2: true,
				DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://edge.test/mdi/home.svg", nil)
			must(t, err)
			resp, err := via.RoundTrip(req)
			must(t, err)
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK || next == "http/1.1" && !resp.Close {
				t.Errorf("%d, the last answer: %v", resp.StatusCode, resp.Close)
			}
			<-stopped
		})
	}
}

// The last response on a connection says so, also if the connection has had nothing but hits.
func TestLastHit(t *testing.T) {
	s := newSecured(t, owntest.NewOrigin())
	conn, err := net.Dial("tcp", s.plain)
	must(t, err)
	defer conn.Close()
	from := bufio.NewReader(conn)
	for _, last := range []bool{false, false, true} {
		if last {
			s.Proxy.Drain()
		}
		_, err := io.WriteString(conn, "GET /mdi/home.svg HTTP/1.1\r\nHost: edge.test\r\n\r\n")
		must(t, err)
		resp, err := http.ReadResponse(from, nil)
		must(t, err)
		io.Copy(io.Discard, resp.Body)
		if resp.StatusCode != http.StatusOK || resp.Close != last {
			t.Errorf("%d, the last answer: %v, want %v", resp.StatusCode, resp.Close, last)
		}
	}
}

// Without requests in flight the edge ends, although every client keeps its connection open.
func TestIdleEndsAtOnce(t *testing.T) {
	t.Parallel()
	for name := range wayOf {
		s := newSecured(t, owntest.NewOrigin(), wayOf[name].changes()...)
		e := s.by(t, name)
		for range 3 { // the last takes the hit path, and may be the connection's only request
			e.get(t, "/mdi/home.svg")
		}
		e = s.by(t, name)
		e.get(t, "/mdi/home.svg")
		began := time.Now()
		s.stop()
		if took := time.Since(began); took > endsAtOnce {
			t.Errorf("%s: it took %v to end", name, took)
		}
	}
}

// A connection without requests is closed after the idle time.
func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	for name, of := range wayOf {
		s := newSecured(t, owntest.NewOrigin(), append(of.changes(), func(c *Config) { c.IdleTimeout = 100 * time.Millisecond })...)
		e := s.by(t, name)
		// On a slow machine the connection may have ended.
		settled(t, name+": it is asked", func() bool {
			r, _ := http.NewRequest(http.MethodGet, "https://edge.test/healthz", nil)
			resp, err := e.RoundTrip(r)
			if err == nil {
				resp.Body.Close()
			}
			return err == nil
		})
		if of.protocol == exchange.H3 {
			settled(t, "an idle connection of QUIC ends", func() bool { return s.listeners.Stats().OverQUIC == 0 })
			continue
		}
		settled(t, name+": an idle connection ends", func() bool { return s.listeners.Stats().Open() == 0 })
	}
}
