package edge

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// shut ends a server alone, with connections that belong to no listener of ours.
func shut(s *fasthttp.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	s.ShutdownWithContext(ctx)
}

// clients of one edge, one for each way in that one server serves.
func (s *securedTest) clients(t testing.TB, reference bool) map[string]*securedTest {
	t.Helper()
	all := map[string]*securedTest{}
	for name, w := range wayOf {
		if w.reference == (reference && w.protocol == protocolH2) {
			all[name] = s.by(t, name)
		}
	}
	return all
}

// endsAtOnce is what an edge may take to end when it has nothing to do: clients that are told of it have half a second.
const endsAtOnce = 3 * time.Second

// An edge that ends answers the requests under way, by whatever protocol, and waits for no client that asks nothing.
func TestDrainsEveryProtocol(t *testing.T) {
	for name, reference := range map[string]bool{"our own": false, "reference": true} {
		t.Run(name, func(t *testing.T) {
			l := newLibrary()
			s := newSecured(t, l, func(c *Config) { c.HTTP2Reference = reference })
			for range 2 {
				for name, e := range s.clients(t, reference) { // these stay idle
					if a := e.get(t, "/mdi/home.svg"); a.StatusCode != http.StatusOK {
						t.Fatalf("%s: %d", name, a.StatusCode)
					}
				}
			}
			asked, open := make(chan struct{}, 1), make(chan struct{})
			l.set(func() { l.hold = func(string) { asked <- struct{}{}; <-open } })
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
			settled(t, "all wait for the origin", func() bool { return s.waiting.waiting() == len(busy) })
			stopped := make(chan struct{})
			go func() { s.stop(); close(stopped) }()
			settled(t, "no connection is taken", func() bool {
				c, err := (&http.Client{Transport: s.by(t, "h1 over TLS").via}).Get("https://edge.test/healthz")
				if err == nil {
					c.Body.Close()
				}
				return err != nil
			})
			select {
			case <-stopped:
				t.Error("it ended before the requests under way were answered")
			case <-time.After(700 * time.Millisecond): // longer than what idle clients are given
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

// With nothing under way, it ends although every client keeps its connection.
func TestIdleEndsAtOnce(t *testing.T) {
	t.Parallel()
	for name := range wayOf {
		s := newSecured(t, newLibrary(), wayOf[name].changes()...)
		e := s.by(t, name)
		for range 3 { // the last is ready, and may be all that the connection has seen
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

// A connection on which nobody asks anything ends after its time.
func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	for name, of := range wayOf {
		s := newSecured(t, newLibrary(), append(of.changes(), func(c *Config) { c.IdleTimeout = 100 * time.Millisecond })...)
		e := s.by(t, name)
		e.get(t, "/healthz")
		if of.protocol == protocolH3 {
			settled(t, "an idle connection of QUIC ends", func() bool { return s.conns.overQUIC.Load() == 0 })
			continue
		}
		settled(t, name+": an idle connection ends", func() bool { s.conns.mu.Lock(); defer s.conns.mu.Unlock(); return len(s.conns.open) == 0 })
	}
}
