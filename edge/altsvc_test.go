package edge

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/edge/listen"
	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/vhosts"
)

// An announcing is an edge whose responses over TLS may announce HTTP/3.
type announcing struct {
	*securedTest
	rounds int // in which told has asked
}

// A neighbour is a client with an address of its own, which speaks every protocol over TLS. It has
// one QUIC connection from the start.
type neighbour struct {
	of      *announcing
	address string
	by      map[string]*edgeTest // by protocol
	open    []*quic.Conn
}

func (s *announcing) neighbour(t testing.TB, address string) *neighbour {
	t.Helper()
	n := &neighbour{of: s, address: address, by: map[string]*edgeTest{}}
	for name, speak := range map[string]func(*http.Protocols, bool){"h1": (*http.Protocols).SetHTTP1, "h2": (*http.Protocols).SetHTTP2} {
		via := s.over(s.tls, speak).(*http.Transport)
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
		via.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, s.tls)
		}
		t.Cleanup(via.CloseIdleConnections)
		n.speaks(name, via)
	}
	if s.sockets.QUIC != nil {
		n.connect(t)
		n.speaks("h3", (&http3.Transport{DisableCompression: true}).NewClientConn(n.open[0]))
	}
	return n
}

func (n *neighbour) speaks(protocol string, via http.RoundTripper) {
	e := *n.of.edgeTest
	e.via = via
	n.by[protocol] = &e
}

// connect opens another QUIC connection.
func (n *neighbour) connect(t testing.TB) {
	t.Helper()
	before := n.of.listeners.Stats().OverQUIC
	c, err := n.of.dialQUIC(t, n.address)
	must(t, err)
	settled(t, "it is open", func() bool { return n.of.listeners.Stats().OverQUIC == before+1 })
	n.open = append(n.open, c)
}

// leave closes the QUIC connection that it has opened last.
func (n *neighbour) leave(t testing.TB) {
	t.Helper()
	before, last := n.of.listeners.Stats().OverQUIC, len(n.open)-1
	n.open[last].CloseWithError(0, "")
	n.open = n.open[:last]
	settled(t, "it is closed", func() bool { return n.of.listeners.Stats().OverQUIC == before-1 })
}

// told checks which Alt-Svc the neighbour gets, over every protocol, in responses that are stored,
// joined from pieces, fetched, forwarded, and errors.
func (n *neighbour) told(t testing.TB, want ...string) {
	t.Helper()
	for protocol, e := range n.by {
		n.of.rounds++
		round := n.of.rounds
		for _, row := range []struct {
			target, status string
			code           int
		}{
			{"/mdi/home.svg", "iconedge; hit", 200},
			{fmt.Sprintf("/mdi/new-%d.svg", round), "iconedge; fwd=uri-miss", 200},
			{"/mdi.json?icons=" + subset(round), "iconedge; hit", 200},
			{fmt.Sprint("/api/v1/search?q=", round), "iconedge; fwd=uri-miss", 200},
			{"/pages/tagged", "iconedge; hit", 200},
			{fmt.Sprint("/pages/tagged?", round), "iconedge; fwd=uri-miss", 200},
			{"/api/v1/none", "", 404},
		} {
			a := e.get(t, row.target)
			if a.StatusCode != row.code || !strings.HasPrefix(a.Header.Get("Cache-Status"), row.status) {
				t.Fatalf("%s, %s: %d, Cache-Status %q, want %d, %q", protocol, row.target, a.StatusCode,
					a.Header.Get("Cache-Status"), row.code, row.status)
			}
			if got := a.Header["Alt-Svc"]; !slices.Equal(got, want) {
				t.Errorf("%s gets %q over %s in %s, want %q", n.address, got, protocol, row.target, want)
			}
		}
	}
}

// pieceNames are icons of which responses are joined.
var pieceNames = []string{"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"}

// subset returns a list of icons that no lesser round has, because the second response to a list is
// stored whole.
func subset(round int) string {
	var some []string
	for i, name := range pieceNames {
		if round>>i&1 > 0 {
			some = append(some, name)
		}
	}
	return strings.Join(some, ",")
}

// newAnnouncing starts an edge that has answered with all that told asks for.
func newAnnouncing(t *testing.T, change ...func(*Config)) *announcing {
	t.Helper()
	names := append(slices.Clone(pieceNames), "home")
	for round := range 1 << len(pieceNames) {
		names = append(names, fmt.Sprintf("new-%d", round))
	}
	slices.Sort(names)
	icons := owntest.NewDrawer(names...)
	pages := newSite(map[string]http.HandlerFunc{"/pages/tagged": pagesOfApplication()["/tagged"]})
	s := newSecured(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/pages/") {
			pages.ServeHTTP(w, r)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/mdi/new-") {
			r.URL.Path = "/mdi/home.svg"
		}
		icons.ServeHTTP(w, r)
	}), append([]func(*Config){func(c *Config) {
		c.ProxyAll, c.Icons, c.Pages = true, vhosts.On, vhosts.Off
		// Four connections of one client are more than three quarters, and seven of all.
		c.MaxConnections, c.MaxConnectionsPerClient = 8, 4
	}}, change...)...)
	s.freeze()
	s.learnAll(t)
	for _, way := range []string{"h1", "h1 over TLS"} {
		by := s.by(t, way)
		for range 3 { // pieces are prepared at their second use
			for _, target := range []string{"/mdi/home.svg", "/mdi.json?icons=" + strings.Join(pieceNames, ","), "/pages/tagged"} {
				if a := by.get(t, target); a.StatusCode != 200 || way == "h1" && strings.Contains(a.Header.Get("Alt-Svc"), "h3") {
					t.Fatalf("%s %s: %d, Alt-Svc %q", way, target, a.StatusCode, a.Header.Get("Alt-Svc"))
				}
			}
		}
		by.via.(*http.Transport).CloseIdleConnections()
	}
	return &announcing{securedTest: s}
}

// announces returns the Alt-Svc of an edge with room for HTTP/3.
func (s *securedTest) announces(t testing.TB) string {
	t.Helper()
	_, port, err := net.SplitHostPort(s.tls)
	must(t, err)
	return fmt.Sprintf(`h3=":%s"; ma=86400`, port)
}

// A client with nearly as many QUIC connections as it may have must forget HTTP/3, and so must all
// clients while nearly as many as there may be are open. Before, after, and for others it is
// announced. A client of a trusted proxy is known by the address that the proxy names.
func TestAltSvcDependsOnRoom(t *testing.T) {
	t.Parallel()
	s := newAnnouncing(t)
	h3, proxy := s.announces(t), s.by(t, "h1 over TLS")
	named := func(want string) {
		t.Helper()
		if got := proxy.get(t, "/mdi/home.svg", "X-Forwarded-For", "127.0.0.2").Header.Get("Alt-Svc"); got != want {
			t.Errorf("a client of a proxy gets %q, want %q", got, want)
		}
	}
	one, other := s.neighbour(t, "127.0.0.2"), s.neighbour(t, "127.0.0.3")
	one.told(t, h3)
	one.connect(t)
	one.connect(t)
	one.told(t, h3)
	named(h3)
	one.connect(t)
	one.told(t, "clear")
	other.told(t, h3)
	named("clear")
	one.leave(t)
	one.told(t, h3)
	named(h3)

	other.connect(t)
	other.connect(t)
	other.told(t, h3)
	third := s.neighbour(t, "127.0.0.4")
	for _, n := range []*neighbour{one, other, third} {
		n.told(t, "clear")
	}
	other.leave(t)
	for _, n := range []*neighbour{one, other, third} {
		n.told(t, h3)
	}
}

// With --http3 on every response over TLS announces HTTP/3, however many connections are open.
func TestAltSvcOn(t *testing.T) {
	t.Parallel()
	s := newAnnouncing(t, func(c *Config) { c.HTTP3 = listen.HTTP3On })
	h3 := s.announces(t)
	one, other := s.neighbour(t, "127.0.0.2"), s.neighbour(t, "127.0.0.3")
	one.told(t, h3)
	for range 3 {
		one.connect(t)
		other.connect(t)
	}
	one.told(t, h3)
	other.told(t, h3)
}

// With --http3 off nothing listens on UDP, and the edge announces nothing. What an application
// announces stays, as it does without TLS.
func TestHTTP3Off(t *testing.T) {
	t.Parallel()
	s := newAnnouncing(t, func(c *Config) { c.HTTP3 = listen.HTTP3Off })
	if s.sockets.QUIC != nil {
		t.Errorf("it listens on UDP at %v", s.sockets.QUIC.LocalAddr())
	}
	n := s.neighbour(t, "127.0.0.2")
	for protocol, e := range n.by {
		for target, want := range map[string]string{"/mdi/home.svg": "", "/api/v1/search?q=" + protocol: "", "/pages/tagged": `h2=":1"`} {
			if a := e.get(t, target); a.StatusCode != 200 || a.Header.Get("Alt-Svc") != want {
				t.Errorf("%s, %s: %d, Alt-Svc %q, want %q", protocol, target, a.StatusCode, a.Header.Get("Alt-Svc"), want)
			}
		}
	}
}

// A socket for QUIC that an edge is given is closed if it serves no HTTP/3.
func TestHTTP3OffWithSocket(t *testing.T) {
	for _, mode := range []listen.HTTP3{listen.HTTP3Off, listen.HTTP3Auto} {
		given, err := net.ListenPacket("udp", "127.0.0.1:0")
		must(t, err)
		s := newSecured(t, owntest.NewOrigin(), func(c *Config) { c.TLSListener, c.QUICSocket, c.HTTP3 = listenTest(t), given, mode })
		_, err = given.WriteTo([]byte{0}, given.LocalAddr())
		off := mode == listen.HTTP3Off
		if (err != nil) != off || (s.sockets.QUIC == nil) != off || (s.sockets.Offer.AltSvc(netip.Addr{}) == "") != off {
			t.Errorf("%s: write: %v, QUIC %v, Alt-Svc %q", mode, err, s.sockets.QUIC, s.sockets.Offer.AltSvc(netip.Addr{}))
		}
	}
}
