package edge

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/ratelimit"
)

// silent opens a QUIC connection that sends no requests and ignores what the edge sends.
func (s *securedTest) silent(t testing.TB) *quic.Conn {
	t.Helper()
	c, err := s.dialQUIC(t, "127.0.0.1")
	must(t, err)
	return c
}

// dialQUIC opens a QUIC connection from a loopback address and keeps it alive.
func (s *securedTest) dialQUIC(t testing.TB, from string) (*quic.Conn, error) {
	t.Helper()
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(from)})
	must(t, err)
	t.Cleanup(func() { socket.Close() })
	to, err := net.ResolveUDPAddr("udp", s.tls)
	must(t, err)
	patient := patientQUIC.Clone()
	patient.KeepAlivePeriod = 20 * time.Millisecond
	c, err := quic.Dial(t.Context(), socket, to, http3.ConfigureTLSConfig(trusting.Clone()), patient)
	if err == nil {
		t.Cleanup(func() { c.CloseWithError(0, "") })
	}
	return c, err
}

// refusedQUIC reports whether the edge refuses a connection. The client may learn of it only after
// the handshake.
func (s *securedTest) refusedQUIC(t testing.TB, from string) bool {
	t.Helper()
	before := s.listeners.Stats().Refused["client"] + s.listeners.Stats().Refused["total"]
	c, err := s.dialQUIC(t, from)
	if err != nil {
		return true
	}
	refused := func() bool {
		return s.listeners.Stats().Refused["client"]+s.listeners.Stats().Refused["total"] > before
	}
	tr := &http3.Transport{}
	req, err := http.NewRequestWithContext(t.Context(), "GET", "https://edge.test/healthz", nil)
	must(t, err)
	resp, err := tr.NewClientConn(c).RoundTrip(req)
	if err != nil {
		settled(t, "the refusal is counted", refused)
		return true
	}
	resp.Body.Close()
	return false
}

// One client may have only a limited number of QUIC connections, half of all by default. Other
// clients have their own limits. A closed connection makes room, also within the limit of all.
func TestConnectionsOfQUIC(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"client":         func(c *Config) { c.MaxConnectionsPerClient = 3 },
		"half of all":    func(c *Config) { c.MaxConnections = 6 },
		"total":          func(c *Config) { c.MaxConnections, c.MaxConnectionsPerClient = 3, 3 },
		"trusted, total": func(c *Config) { c.MaxConnections, c.MaxConnectionsPerClient = 3, 1 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSecured(t, newOurOrigin(), change)
			s.freeze()
			from := "127.0.0.2"
			if name == "trusted, total" {
				from = "127.0.0.1"
			}
			var mine []*quic.Conn
			for i := range 3 {
				c, err := s.dialQUIC(t, from)
				must(t, err)
				mine = append(mine, c)
				settled(t, "it is open", func() bool { return s.listeners.Stats().OverQUIC == int64(i+1) })
			}
			if !s.refusedQUIC(t, from) {
				t.Error("a fourth connection is not refused")
			}
			if total := strings.Contains(name, "total"); total != s.refusedQUIC(t, "127.0.0.3") {
				t.Errorf("another client is refused: %v, want %v", !total, total)
			}
			mine[0].CloseWithError(0, "")
			settled(t, "a new connection is accepted again", func() bool { return !s.refusedQUIC(t, from) })
		})
	}
}

// When no more QUIC connections are allowed, the client that has most of them loses one that is
// idle.
func TestRoomOverQUIC(t *testing.T) {
	s := newSecured(t, newOurOrigin(), func(c *Config) { c.MaxConnections, c.MaxConnectionsPerClient = 4, 3 })
	one, err := s.dialQUIC(t, "127.0.0.3") // idle longest
	must(t, err)
	settled(t, "it is open", func() bool { return s.listeners.Stats().OverQUIC == 1 })
	for i := range 3 {
		_, err := s.dialQUIC(t, "127.0.0.2")
		must(t, err)
		settled(t, "they are open", func() bool { return s.listeners.Stats().OverQUIC == int64(i+2) })
	}
	s.later(time.Second)
	if s.refusedQUIC(t, "127.0.0.4") {
		t.Error("idle connections keep another client out")
	}
	if one.Context().Err() != nil || s.listeners.Stats().Reclaimed != 1 {
		t.Errorf("not the client that holds most lost one: %v, %d", one.Context().Err(), s.listeners.Stats().Reclaimed)
	}
}

// A QUIC connection without requests is closed after the idle timeout, even if PINGs keep it alive
// or other bytes arrive.
func TestIdleOverQUIC(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(*quic.Conn) error{
		"PING": func(*quic.Conn) error { return nil },
		"half a head": func(c *quic.Conn) error {
			stream, err := c.OpenStream()
			if err == nil {
				_, err = stream.Write([]byte{0x01, 0x40})
			}
			return err
		},
		"a stream without a request": func(c *quic.Conn) error {
			stream, err := c.OpenUniStream()
			if err == nil {
				_, err = stream.Write([]byte{0x21, 0x21})
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSecured(t, newOurOrigin(), func(c *Config) { c.IdleTimeout = 300 * time.Millisecond })
			c, err := s.dialQUIC(t, "127.0.0.2")
			must(t, err)
			must(t, use(c))
			settled(t, "it is closed", func() bool { return c.Context().Err() != nil && s.listeners.Stats().OverQUIC == 0 })
		})
	}
}

// A client that ignores the shutdown does not keep the edge from ending.
func TestEndsWithoutSilentClients(t *testing.T) {
	t.Parallel()
	s := newSecured(t, newOurOrigin())
	s.silent(t)
	settled(t, "it is open", func() bool { return s.listeners.Stats().OverQUIC == 1 })
	began := time.Now()
	s.stop()
	if took := time.Since(began); took > endsAtOnce {
		t.Errorf("the edge took %v to end", took)
	}
}

// Over QUIC too, each address is a client of its own, and its connections count only against its
// own share.
func TestClientsOfQUIC(t *testing.T) {
	t.Parallel()
	s := newSecured(t, newOurOrigin(), func(c *Config) { c.MaxConnectionsPerClient = 2 })
	from := func(address string) {
		t.Helper()
		socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(address)})
		must(t, err)
		tr := &quic.Transport{Conn: socket}
		t.Cleanup(func() { tr.Close(); socket.Close() })
		to, err := net.ResolveUDPAddr("udp", s.tls)
		must(t, err)
		_, err = tr.Dial(t.Context(), to, http3.ConfigureTLSConfig(trusting.Clone()), patientQUIC.Clone())
		must(t, err)
	}
	for i, address := range []string{"127.0.0.2", "127.0.0.2", "127.0.0.3", "127.0.0.4"} {
		from(address)
		settled(t, "it is open", func() bool { return s.listeners.Stats().OverQUIC == int64(i+1) })
	}
	held := func(address string) int64 { return s.memory.Held(ratelimit.ClientKey(netip.MustParseAddr(address))) }
	if each := int64(listen.QUICConnBytes + listen.QUICStreamBytes*h2.MaxStreams); held("127.0.0.2") != 2*each || held("127.0.0.3") != each {
		t.Errorf("%d and %d bytes are held, want %d and %d", held("127.0.0.2"), held("127.0.0.3"), 2*each, each)
	}
}
