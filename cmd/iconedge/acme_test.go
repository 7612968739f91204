package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/test/harness"
)

const pebbleConf = `{"pebble": {"listenAddress": %q, "managementListenAddress": %q, "certificate": %q, "privateKey": %q, "httpPort": 1, "tlsPort": %s,
	"profiles": {"default": {"validityPeriod": %d}}}}`

// An acmeTest is an authority whose certificates are valid for some seconds. It verifies names at
// the address secured.
type acmeTest struct {
	home, cert, directory, secured string
	pebble                         *os.Process
}

func newACMETest(t *testing.T, valid time.Duration) *acmeTest {
	t.Helper()
	a := &acmeTest{home: t.TempDir(), directory: harness.FreeAddress(t), secured: harness.FreeAddress(t)}
	var key string
	a.cert, key = certstest.Pair(t, a.home, "authority", "authority", "127.0.0.1")
	_, port, _ := net.SplitHostPort(a.secured)
	conf := filepath.Join(a.home, "pebble.json")
	if err := os.WriteFile(conf, fmt.Appendf(nil, pebbleConf, a.directory, harness.FreeAddress(t), a.cert, key, port,
		int(valid.Seconds())), 0o600); err != nil {
		t.Fatal(err)
	}
	a.pebble = startPebble(t, conf)
	return a
}

// edge starts an edge that gets certificates from the authority.
func (a *acmeTest) edge(t *testing.T, flags ...string) *harness.Server {
	t.Helper()
	cmd := harness.Program(t, a.home, append([]string{"edge", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--acme-host", "cdn.edge.test", "--acme-dir", filepath.Join(a.home, "acme"), "--acme-directory",
		"https://" + a.directory + "/dir"}, flags...)...)
	cmd.Env = append(cmd.Env, "SSL_CERT_FILE="+a.cert)
	s := harness.StartCommand(t, cmd)
	s.Address("tls")
	return s
}

// TestACMEFleet: the edges of a fleet with one folder have no certificate at first, and say so;
// then each has one before its first client. A renewed certificate is in use while handshakes go
// on, and edges that start later read it from the folder.
func TestACMEFleet(t *testing.T) {
	t.Parallel()                        // waits for a renewal
	a := newACMETest(t, 30*time.Second) // the renewal begins after two thirds of that time
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }))
	t.Cleanup(origin.Close)
	common := []string{"--proxy-all", "--origin", origin.URL}
	lost := a.edge(t, append(common, "--tls-listen", "127.0.0.1:0", "--acme-dir", t.TempDir(), "--acme-directory",
		"https://127.0.0.1:1/dir")...)
	harness.Eventually(t, "the edge counts the failure",
		func() bool { return harness.Sum(lost.Metrics(t), "iconedge_edge_acme_failures_total ") > 0 })
	lost.Ready()
	if _, body := harness.Get(t, lost.Address("admin"), "/readyz"); body != "ready\nno certificate yet: cdn.edge.test; see the log\n" {
		t.Errorf("/readyz of an edge without a certificate: %q", body)
	}
	if n := harness.Sum(lost.Metrics(t), "iconedge_edge_acme_certificates_missing "); n != 1 {
		t.Errorf("%d certificates are missing, want 1", n)
	}
	harness.Eventually(t, "the log has the wish and the failure", func() bool { // by a pipe
		log := lost.Log.String()
		return strings.Contains(log, `msg="ACME authority unreachable"`) &&
			strings.Contains(log, `msg="ACME certificate wanted" host=cdn.edge.test`)
	})
	lost.Stop()

	edges := []*harness.Server{a.edge(t, append(common, "--tls-listen", a.secured)...),
		a.edge(t, append(common, "--tls-listen", "127.0.0.1:0")...)}
	for i, e := range edges {
		harness.Eventually(t, fmt.Sprintf("edge %d has a certificate", i), func() bool {
			return strings.Contains(e.Log.String(), `msg="ACME certificate in use" host=cdn.edge.test`)
		})
		if _, body := harness.Get(t, e.Address("admin"), "/readyz"); body != "ready\n" {
			t.Errorf("/readyz of edge %d: %q", i, body)
		}
	}
	if log := edges[0].Log.String() + edges[1].Log.String(); !strings.Contains(log,
		`msg="ACME request" method=POST`) || !strings.Contains(log, "host=cdn.edge.test") {
		t.Errorf("the steps are not logged:\n%s", log)
	}
	// autocert renews in each process by itself: of two edges that renew the same certificate in
	// the same second, one fails and tries again after half an hour. Certificates of 30 s have no
	// room for that, so one edge renews here.
	edges[1].Stop()
	first := certificateSerial(t, a.secured, "cdn.edge.test")
	harness.Eventually(t, "the edge has renewed its certificate",
		func() bool { return certificateSerial(t, a.secured, "cdn.edge.test") != first })
	edges[0].Stop()
	a.edge(t, append(common, "--tls-listen", a.secured)...)
	if serial := certificateSerial(t, a.secured, "cdn.edge.test"); serial == first {
		t.Error("an edge that starts later has the first certificate, want a renewed one from the folder")
	}
}

// TestACME: an edge gets a certificate for its name by TLS-ALPN on its own TLS port, from Let's
// Encrypt's authority for tests. After a restart it serves the stored certificate without a new
// order. Names below a wildcard get certificates of their own, beside certificates from files.
func TestACME(t *testing.T) {
	t.Parallel()
	a := newACMETest(t, 90*24*time.Hour)
	home, secured := a.home, a.secured
	edge := func(flags ...string) *harness.Server {
		return a.edge(t, append([]string{"--tls-listen", secured, "--origin", "http://127.0.0.1:1"}, flags...)...)
	}
	first := edge()
	serial := certificateSerial(t, secured, "cdn.edge.test")
	if c, err := tls.Dial("tcp", secured, &tls.Config{ServerName: "other.test", InsecureSkipVerify: true}); err == nil {
		c.Close()
		t.Error("the edge serves a name that is not in --acme-host")
	}
	first.Stop()
	own, ownKey := certstest.Pair(t, home, "own", "own.test", "127.0.0.1")
	second := edge("--acme-host", "*.wild.test", "--tls-cert", own, "--tls-key", ownKey)
	if a, b := certificateSerial(t, secured, "a.wild.test"), certificateSerial(t, secured, "b.c.wild.test"); a == b {
		t.Errorf("two names below a wildcard have the same certificate %s", a)
	}
	for _, name := range []string{"own.test", "other.test", "wild.test"} {
		c, err := tls.Dial("tcp", secured, &tls.Config{ServerName: name, InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		if leaf := c.ConnectionState().PeerCertificates[0]; leaf.Subject.CommonName != "own.test" {
			t.Errorf("%s gets the certificate of %q, want the one of the file", name, leaf.Subject.CommonName)
		}
	}
	second.Stop()
	a.pebble.Kill()
	edge()
	if again := certificateSerial(t, secured, "cdn.edge.test"); again != serial {
		t.Errorf("after a restart without the authority: certificate %s, want %s", again, serial)
	}
}

// certificateSerial completes a TLS handshake with an edge, and returns the serial number of its
// certificate for a name.
func certificateSerial(t *testing.T, address, name string) string {
	t.Helper()
	var c *tls.Conn
	// a handshake waits for the first certificate, but no longer than any handshake may take
	harness.Eventually(t, "the edge serves its certificate", func() bool {
		var err error
		c, err = tls.Dial("tcp", address, &tls.Config{ServerName: name, InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		return err == nil
	})
	defer c.Close()
	leaf := c.ConnectionState().PeerCertificates[0]
	if !regexp.MustCompile(`^Pebble `).MatchString(leaf.Issuer.CommonName) || leaf.VerifyHostname(name) != nil ||
		c.ConnectionState().NegotiatedProtocol != "h2" {
		t.Errorf("a certificate of %q for %v, over %q", leaf.Issuer.CommonName, leaf.DNSNames, c.ConnectionState().NegotiatedProtocol)
	}
	return leaf.SerialNumber.String()
}

// startPebble builds and starts an authority that resolves every name to this machine.
func startPebble(t *testing.T, conf string) *os.Process {
	t.Helper()
	// go tool builds the program once, and -n prints its path.
	path, err := exec.Command("go", "tool", "-modfile=../../tools/go.mod", "-n", "pebble").Output()
	if err != nil {
		t.Fatalf("building pebble: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), strings.TrimSpace(string(path)), "-config", conf, "-dnsserver", serveNames(t))
	cmd.Env = []string{"PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0"}
	output := harness.StartOther(t, cmd)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("pebble:\n%s", output)
		}
	})
	if output.Wait(regexp.MustCompile("ACME directory available")) == nil {
		t.Fatal("the authority exited")
	}
	return cmd.Process
}

// serveNames answers DNS questions for any name with 127.0.0.1.
func serveNames(t *testing.T) string {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	go func() {
		for b := make([]byte, 4<<10); ; {
			n, from, err := socket.ReadFrom(b)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(b[:n]) != nil || len(m.Questions) == 0 {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class,
					TTL: 60}, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}}}
			}
			if answer, err := m.Pack(); err == nil {
				socket.WriteTo(answer, from)
			}
		}
	}()
	return socket.LocalAddr().String()
}
