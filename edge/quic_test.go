package edge

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/edge/h2"
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

// Each address is a client of its own over QUIC too, and its connections count against its share alone.
func TestClientsOfQUIC(t *testing.T) {
	s := newSecured(t, newLibrary(), func(c *Config) { c.MaxConnectionsPerClient = 2 })
	from := func(address string) {
		t.Helper()
		socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(address)})
		must(t, err)
		tr := &quic.Transport{Conn: socket}
		t.Cleanup(func() { tr.Close(); socket.Close() })
		to, err := net.ResolveUDPAddr("udp", s.tls)
		must(t, err)
		_, err = tr.Dial(t.Context(), to, http3.ConfigureTLSConfig(trusting.Clone()), nil)
		must(t, err)
	}
	for i, address := range []string{"127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.4"} {
		from(address)
		settled(t, "it is open", func() bool { return s.conns.overQUIC.Load() == int64(i+1) })
	}
	room := s.conns.limits.Bodies
	held := func(address string) int64 { return room.Held(s.conns.owner(netip.MustParseAddr(address))) }
	if each := int64(quicCosts + quicStreamCosts*h2.MaxStreams); held("127.0.0.2") != 2*each || held("127.0.0.3") != each {
		t.Errorf("%d and %d bytes are held, want %d and %d", held("127.0.0.2"), held("127.0.0.3"), 2*each, each)
	}
}

// A client that holds much gets connections with fewer streams, its address is validated, and in the end it is refused.
func TestQUICDoor(t *testing.T) {
	w := newWall(t, false)
	room := w.conns.limits.Bodies
	d := &quicDoor{conns: w.conns, now: time.Now}
	a := &net.UDPAddr{IP: net.ParseIP("192.0.2.7")}
	connections, validated, fewer := 0, -1, -1
	ctx, end := context.WithCancel(t.Context())
	for ; connections < 1000; connections++ {
		if validated < 0 && d.verify(a) {
			validated = connections
		}
		if fewer < 0 && d.streams(a) == fewStreams {
			fewer = connections
		}
		if _, err := d.admit(ctx, &quic.ClientInfo{RemoteAddr: a}); err != nil {
			break
		}
	}
	if validated < 1 || fewer <= validated || connections < 100 || connections > 200 || w.conns.refused[refusedClient].Load() != 1 {
		t.Errorf("validated behind %d, fewer streams behind %d, refused behind %d", validated, fewer, connections)
	}
	if other := (&net.UDPAddr{IP: net.ParseIP("192.0.2.8")}); d.verify(other) || d.streams(other) != h2.MaxStreams {
		t.Error("another client suffers for it")
	}
	end()
	settled(t, "all is given back", func() bool { return room.Held(w.conns.owner(addressOf(a))) == 0 })
}
