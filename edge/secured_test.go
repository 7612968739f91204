package edge

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/internal/certs/certstest"
)

// A securedTest is an edge on real sockets that serves every protocol.
type securedTest struct {
	*edgeTest
	plain, tls string                                                      // addresses; QUIC: tls
	shows      func(*tls.CertificateRequestInfo) (*tls.Certificate, error) // nil: no certificate
	stop       func()                                                      // drains and stops
	leave      *[]func()                                                   // close clients
}

// A wayIn is a way in which a client can connect to an edge.
type wayIn struct {
	protocol  exchange.Protocol
	secure    bool
	speak     func(*http.Protocols, bool) // nil: QUIC
	reference bool                        // the reference server serves it
}

var wayOf = map[string]wayIn{
	"h1":               {protocol: exchange.H1, speak: (*http.Protocols).SetHTTP1},
	"h1 over TLS":      {protocol: exchange.H1, secure: true, speak: (*http.Protocols).SetHTTP1},
	"h2":               {protocol: exchange.H2, secure: true, speak: (*http.Protocols).SetHTTP2},
	"h2c":              {protocol: exchange.H2, speak: (*http.Protocols).SetUnencryptedHTTP2},
	"h3":               {protocol: exchange.H3, secure: true},
	"reference of h2":  {protocol: exchange.H2, secure: true, speak: (*http.Protocols).SetHTTP2, reference: true},
	"reference of h2c": {protocol: exchange.H2, speak: (*http.Protocols).SetUnencryptedHTTP2, reference: true},
}

// changes returns the configuration of an edge that a client can reach in this way.
func (w wayIn) changes() []func(*Config) {
	return []func(*Config){func(c *Config) { c.HTTP2Reference = w.reference }}
}

// newSecured starts an edge with a plain listener, one for TLS and one for QUIC.
func newSecured(t testing.TB, origin http.Handler, change ...func(*Config)) *securedTest {
	t.Helper()
	return serveSecured(t, beforeSecured(t, origin, change...))
}

// beforeSecured returns the same edge before its listeners serve.
func beforeSecured(t testing.TB, origin http.Handler, change ...func(*Config)) *edgeTest {
	t.Helper()
	e := newEdgeTest(t, origin, append([]func(*Config){func(c *Config) {
		cert, key := certstest.Pair(t, t.TempDir(), "edge", "edge", "edge.test", "127.0.0.1")
		c.Listener, c.Listen = nil, "127.0.0.1:0"
		c.TLSListen, c.TLSCerts, c.TLSKeys = "127.0.0.1:0", []string{cert}, []string{key}
		c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix("127.0.0.1/32"))
	}}, change...)...)
	if !e.cfg.ProxyAll { // a foreign origin has no releases
		must(t, e.library.Poll())
	}
	return e
}

// serveSecured starts the listeners of an edge.
func serveSecured(t testing.TB, e *edgeTest) *securedTest {
	t.Helper()
	broken := make(chan error, 4)
	e.listeners.Serve(broken)
	life, end := context.WithCancel(context.Background())
	go e.listeners.Reload(life, e.reload[reloadCertificates])
	stopped := make(chan struct{})
	s := &securedTest{edgeTest: e, plain: e.sockets.Public.Addr().String(), tls: e.sockets.TLS.Addr().String(), leave: new([]func())}
	s.stop = func() {
		select {
		case <-stopped:
			return
		default:
			close(stopped)
		}
		e.Proxy.Drain()
		e.listeners.Drain(e.cfg.Drain)
		end()
		e.listeners.Close()
	}
	t.Cleanup(s.stop)
	return s
}

// by returns a client that connects in the named way, over as few connections as it can.
func (s *securedTest) by(t testing.TB, name string) *securedTest {
	t.Helper()
	e, w := *s.edgeTest, wayOf[name]
	switch e.plainly = !w.secure; {
	case w.speak == nil:
		e.via = s.overQUIC()
	case w.secure:
		e.via = s.over(s.tls, w.speak)
	default:
		e.via = s.over(s.plain, w.speak)
	}
	leave := func() {
		if c, ok := e.via.(io.Closer); ok {
			c.Close()
			return
		}
		e.via.(*http.Transport).CloseIdleConnections()
	}
	t.Cleanup(leave)
	*s.leave = append(*s.leave, leave)
	other := *s
	other.edgeTest = &e
	return &other
}

var trusting = &tls.Config{InsecureSkipVerify: true, ServerName: "edge.test"}

func (s *securedTest) trusting() *tls.Config {
	c := trusting.Clone()
	c.GetClientCertificate = s.shows
	return c
}

// over returns a client over TCP.
func (s *securedTest) over(address string, speak func(*http.Protocols, bool)) http.RoundTripper {
	var speaks http.Protocols
	speak(&speaks, true)
	return &http.Transport{
		DisableCompression: true, Protocols: &speaks, TLSClientConfig: s.trusting(),
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}
}

// patientQUIC has the timeouts of a client that no machine needs.
var patientQUIC = &quic.Config{HandshakeIdleTimeout: longEnough, MaxIdleTimeout: 2 * longEnough}

// overQUIC returns a client of HTTP/3.
func (s *securedTest) overQUIC() http.RoundTripper {
	config := patientQUIC.Clone()
	config.MaxIncomingStreams, config.KeepAlivePeriod = -1, 10*time.Second // as by default
	return &http3.Transport{
		DisableCompression: true, TLSClientConfig: s.trusting(), QUICConfig: config,
		Dial: func(ctx context.Context, _ string, config *tls.Config, q *quic.Config) (*quic.Conn, error) {
			return quic.DialAddrEarly(ctx, s.tls, config, q)
		},
	}
}

// counted returns the number of requests that the edge has counted, by protocol.
func (s *securedTest) counted(t testing.TB) (n [exchange.Protocols]int) {
	t.Helper()
	families, err := s.metrics.Registry.Gather()
	must(t, err)
	for _, f := range families {
		if f.GetName() != "iconedge_edge_requests_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				for p := range exchange.Protocols {
					if l.GetName() == "protocol" && l.GetValue() == p.String() {
						n[p] += int(m.GetCounter().GetValue())
					}
				}
			}
		}
	}
	return n
}

// onlyBy checks that the edge has counted requests under one protocol only.
func (s *securedTest) onlyBy(t testing.TB, p exchange.Protocol) {
	t.Helper()
	for q, n := range s.counted(t) {
		if (n > 0) != (exchange.Protocol(q) == p) {
			t.Errorf("%d requests were counted as %s", n, exchange.Protocol(q))
		}
	}
}

// A closeCount counts how often a socket is closed.
type closeCount struct {
	net.Listener
	closes atomic.Int64
}

func (c *closeCount) Close() error {
	c.closes.Add(1)
	return c.Listener.Close()
}

// An edge closes each of its listeners once, whether it has drained or not. A listener of an
// embedder need not bear a second Close.
func TestListenersAreClosedOnce(t *testing.T) {
	cert, key := certstest.Pair(t, t.TempDir(), "edge", "edge", "edge.test")
	for _, drains := range []bool{false, true} {
		all := map[string]*closeCount{"public": {Listener: listenTest(t)}, "TLS": {Listener: listenTest(t)},
			"admin": {Listener: listenTest(t)}}
		e := newTestServer(t, func(c *Config) {
			c.Listener, c.TLSListener, c.AdminListener = all["public"], all["TLS"], all["admin"]
			c.TLSCerts, c.TLSKeys = []string{cert}, []string{key}
		})
		if drains {
			ended, end := context.WithCancel(t.Context())
			end()
			must(t, e.Server.Run(ended))
		}
		e.Server.Close()
		for name, l := range all {
			if n := l.closes.Load(); n != 1 {
				t.Errorf("after draining (%v) the %s listener is closed %d times, want once", drains, name, n)
			}
		}
	}
}
