package edge

import (
	"net/http"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// silent opens a connection of QUIC on which nothing is asked, and which stays whatever it is told.
func (s *securedTest) silent(t testing.TB) *quic.Conn {
	t.Helper()
	c, err := quic.DialAddr(t.Context(), s.tls, http3.ConfigureTLSConfig(trusting.Clone()), nil)
	must(t, err)
	t.Cleanup(func() { c.CloseWithError(0, "") })
	return c
}

// One client has so many connections of QUIC, there are so many in all, and who goes makes room.
func TestConnectionsOfQUIC(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"client": func(c *Config) { c.MaxConnectionsPerClient = 3 }, "total": func(c *Config) { c.MaxConnections = 3 },
	} {
		s := newSecured(t, newLibrary(), change)
		first := s.silent(t)
		s.silent(t)
		s.silent(t)
		settled(t, "three are open", func() bool { return s.conns.overQUIC.Load() == 3 })
		if fourth, err := quic.DialAddr(t.Context(), s.tls, http3.ConfigureTLSConfig(trusting.Clone()), nil); err == nil { // it may hear of it while it begins
			<-fourth.Context().Done()
		}
		if n := s.conns.refused[refusedClient].Load() + s.conns.refused[refusedTotal].Load(); n != 1 {
			t.Errorf("%s: %d refused connections are counted, want 1", name, n)
		}
		first.CloseWithError(0, "")
		settled(t, "there is room again", func() bool { return s.conns.overQUIC.Load() == 2 })
		if a := s.by(t, "h3").get(t, "/mdi/home.svg"); a.StatusCode != http.StatusOK {
			t.Errorf("%s: with room: %d", name, a.StatusCode)
		}
	}
}

// A client that does not go when it is told to does not keep the edge from ending.
func TestEndsWithoutSilentClients(t *testing.T) {
	s := newSecured(t, newLibrary())
	s.silent(t)
	settled(t, "it is open", func() bool { return s.conns.overQUIC.Load() == 1 })
	began := time.Now()
	s.stop()
	if took := time.Since(began); took > endsAtOnce {
		t.Errorf("it took %v to end", took)
	}
}
