package edge

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/iconedge/iconedge/edge/own/owntest"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/internal/logtest"
)

// shake makes a TLS handshake with an edge and returns the state of the connection.
func (s *securedTest) shake(config *tls.Config) (tls.ConnectionState, error) {
	c, err := tls.Dial("tcp", s.tls, config)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: edge.test\r\nConnection: close\r\n\r\n"); err != nil {
		return c.ConnectionState(), err
	}
	_, err = io.ReadAll(c) // TLS 1.3 tickets come with the response
	return c.ConnectionState(), err
}

// subject returns the subject of the certificate that the edge presents for a name.
func (s *securedTest) subject(t testing.TB, name string) string {
	t.Helper()
	state, err := s.shake(&tls.Config{InsecureSkipVerify: true, ServerName: name})
	must(t, err)
	return state.PeerCertificates[0].Subject.CommonName
}

func pairIn(t testing.TB, dir, file, subject string, names ...string) (cert, key string) {
	t.Helper()
	return certstest.Pair(t, dir, file, subject, names...)
}

// value returns the value of a metric without labels.
func value(t testing.TB, m prometheus.Metric) float64 {
	t.Helper()
	var d dto.Metric
	must(t, m.Write(&d))
	return d.GetGauge().GetValue() + d.GetCounter().GetValue()
}

// Each name has its certificate. The edge uses new files within seconds, or at once after a signal.
// It never uses files that are invalid.
func TestCertificates(t *testing.T) {
	t.Parallel()
	dir, signals, log := t.TempDir(), make(chan os.Signal, 1), &logtest.Log{}
	certA, keyA := pairIn(t, dir, "a", "first", "a.test")
	certB, keyB := pairIn(t, dir, "b", "second", "b.test", "*.b.test")
	s := newSecured(t, owntest.NewOrigin(), func(c *Config) {
		c.TLSCerts, c.TLSKeys, c.Reload = []string{certA, certB}, []string{keyA, keyB}, signals
		c.Log = log.Logger()
	})
	for name, want := range map[string]string{"a.test": "first", "b.test": "second", "B.TEST": "second",
		"x.b.test": "second", "x.y.b.test": "first", "other.test": "first", "": "first"} {
		if got := s.subject(t, name); got != want {
			t.Errorf("for %q the edge presents the certificate of %q, want %q", name, got, want)
		}
	}
	pairIn(t, dir, "b", "third", "b.test")
	settled(t, "the edge presents a changed pair without a signal", func() bool { return s.subject(t, "b.test") == "third" })

	must(t, os.WriteFile(keyB, []byte("no key"), 0o600))
	signals <- syscall.SIGHUP
	settled(t, "the metric reports the pair that can't be used", func() bool { return value(t, s.metrics.CertsRead) == 0 })
	if got := s.subject(t, "b.test"); got != "third" {
		t.Errorf("a broken pair replaced a valid one: %q", got)
	}
	if line := log.String(); !strings.Contains(line, "the previous ones stay in use") || strings.Contains(line, "no key") {
		t.Errorf("the log says %s", line)
	}
	pairIn(t, dir, "b", "fourth", "b.test")
	signals <- syscall.SIGHUP
	settled(t, "the edge presents the corrected pair",
		func() bool { return s.subject(t, "b.test") == "fourth" && value(t, s.metrics.CertsRead) == 1 })
}

// The edge speaks TLS 1.2 and 1.3, no older versions, and lets clients resume sessions.
func TestVersionsOfTLS(t *testing.T) {
	s := newSecured(t, owntest.NewOrigin())
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13} {
		config := trusting.Clone()
		config.MinVersion, config.MaxVersion, config.ClientSessionCache = version, version, tls.NewLRUClientSessionCache(4)
		first, err := s.shake(config)
		if old := version < tls.VersionTLS12; old != (err != nil) {
			t.Errorf("%s: %v", tls.VersionName(version), err)
			continue
		} else if old {
			continue
		}
		again, err := s.shake(config)
		if err != nil || first.DidResume || !again.DidResume || again.Version != version {
			t.Errorf("%s: resumed %v, then %v (%v)", tls.VersionName(version), first.DidResume, again.DidResume, err)
		}
	}
	weak := trusting.Clone()
	weak.MaxVersion, weak.CipherSuites = tls.VersionTLS12,
		[]uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_128_GCM_SHA256}
	if _, err := s.shake(weak); err == nil {
		t.Error("a weak cipher was accepted")
	}
	for _, row := range []struct{ offered, chosen string }{{"h2 http/1.1", "h2"}, {"http/1.1 h2", "h2"},
		{"http/1.1", "http/1.1"}, {"", ""}} {
		config := trusting.Clone()
		config.NextProtos = strings.Fields(row.offered)
		c, err := tls.Dial("tcp", s.tls, config)
		must(t, err)
		if got := c.ConnectionState().NegotiatedProtocol; got != row.chosen {
			t.Errorf("of %q %q was chosen, want %q", row.offered, got, row.chosen)
		}
		c.Close()
	}
	config := trusting.Clone()
	config.NextProtos = []string{"spdy/3"}
	if _, err := s.shake(config); err == nil {
		t.Error("a client that speaks no HTTP was not refused")
	}
}

// Clients that do not complete their handshake do not affect others.
func TestNoHandshakeBesideOthers(t *testing.T) {
	s, hello := newSecured(t, owntest.NewOrigin()), helloOf(t)
	silent := []string{"", hello[:1], hello[:len(hello)/2], hello}
	for _, what := range silent {
		c, err := net.Dial("tcp", s.tls)
		must(t, err)
		defer c.Close()
		_, err = io.WriteString(c, what)
		must(t, err)
	}
	for range 20 {
		if a := s.by(t, "h2").get(t, "/mdi/home.svg"); a.StatusCode != http.StatusOK {
			t.Errorf("meanwhile: %d", a.StatusCode)
		}
	}
	if n := value(t, s.metrics.Handshakes[1]); n != 20 {
		t.Errorf("%v good handshakes are counted, want 20", n)
	}
}

// helloOf returns the ClientHello of a client.
func helloOf(t testing.TB) string {
	t.Helper()
	ours, theirs := net.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go tls.Client(theirs, trusting).HandshakeContext(ctx)
	b := make([]byte, 4<<10)
	n, err := ours.Read(b)
	must(t, err)
	return string(b[:n])
}

// A request without TLS is redirected to TLS, keeping its method; health checks are not.
func TestRedirect(t *testing.T) {
	t.Parallel()
	s := newSecured(t, owntest.NewOrigin(), func(c *Config) { c.TLSRedirect, c.Hosts = true, []string{"edge.test"} })
	for _, way := range []string{"h1", "h2c"} {
		e := s.by(t, way)
		for range 2 { // the second might take the hit path
			for _, method := range []string{"GET", "HEAD", "POST"} {
				a := e.do(t, method, "/mdi/home.svg?color=%23f00&x")
				if want := "https://edge.test" + s.tls[strings.LastIndexByte(s.tls, ':'):] +
					"/mdi/home.svg?color=%23f00&x"; a.StatusCode != 308 || a.Header.Get("Location") != want || a.body != "" {
					t.Errorf("%s %s: %d to %q, want %q", way, method, a.StatusCode, a.Header.Get("Location"), want)
				}
			}
			if a := e.get(t, routes.HealthPath); a.StatusCode != http.StatusOK {
				t.Errorf("%s: health: %d", way, a.StatusCode)
			}
			for _, path := range []string{"/mdi/home.svg", "/api/v1/search", "/nothing"} {
				a := e.do(t, "OPTIONS", path, "Origin", "http://page.test", "Access-Control-Request-Method", "GET",
					"Access-Control-Request-Headers", "authorization")
				if a.StatusCode != 204 || a.Header.Get("Access-Control-Allow-Origin") != "*" ||
					a.Header.Get("Access-Control-Max-Age") != "86400" || a.Header.Get("Location") != "" {
					t.Errorf("%s: preflight for %s: %d %v; a browser follows none elsewhere", way, path, a.StatusCode, a.Header)
				}
			}
			// One alone is no preflight.
			for _, field := range []string{"Origin", "Access-Control-Request-Method"} {
				if a := e.do(t, "OPTIONS", "/mdi/home.svg", field, "GET"); a.StatusCode != 308 {
					t.Errorf("%s: OPTIONS with %s alone: %d", way, field, a.StatusCode)
				}
			}
		}
		for name := range map[string]bool{"h1 over TLS": true, "h2": true, "h3": true} {
			s.by(t, name).get(t, "/mdi/home.svg?color=%23f00&x") // from here on it is cached
			if a := s.by(t, name).get(t, "/mdi/home.svg?color=%23f00&x"); a.StatusCode != 200 ||
				!strings.HasPrefix(a.Header.Get("Alt-Svc"), `h3=":`) {
				t.Errorf("%s: %d, Alt-Svc %q", name, a.StatusCode, a.Header.Get("Alt-Svc"))
			}
		}
	}
	r, _ := http.NewRequest("GET", "http://evil.test/mdi/home.svg", nil)
	resp, err := s.by(t, "h1").RoundTrip(r)
	must(t, err)
	if resp.StatusCode != http.StatusMisdirectedRequest || resp.Header.Get("Location") != "" {
		t.Errorf("a host that the edge does not serve: %d to %q", resp.StatusCode, resp.Header.Get("Location"))
	}
}
