package main

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/internal/certs"
	"github.com/iconedge/iconedge/internal/certs/certstest"
	"github.com/iconedge/iconedge/internal/tier"
	"github.com/iconedge/iconedge/test/harness"
)

// TestTierCalls: an unusable file of the tiers is one line with the flag's name and exit status 2,
// before anything listens.
func TestTierCalls(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	ca := certstest.NewAuthority(t, dir, "ca")
	cert, key := ca.Pair(t, dir, "edge")
	_, other := ca.Pair(t, dir, "other")
	secret, short, junk := harness.TextFile(t, harness.TierSecret), harness.TextFile(t, "too-short"), harness.TextFile(t, "no certificate")
	origin := "origin --store dir:" + home + "/s --mirror " + home + "/m"
	for _, row := range []struct{ args, stderr string }{
		{"edge --tier-secret-file " + short, "--tier-secret-file: " + short + ": a secret must have at least 16 bytes"},
		{"run --tier-secret-file " + short, "--tier-secret-file"},
		{"edge --tier-secret-file " + dir + "/none", "no such file"},
		{"edge --origin https://o.test --origin-ca " + junk, "--origin-ca"},
		{"edge --origin https://o.test --origin-cert " + cert, "require each other"},
		{"edge --origin https://o.test --origin-cert " + cert + " --origin-key " + other, "does not match"},
		{"edge --origin http://o.test --origin-ca " + ca.File, "https --origin"},
		{"edge --tls-client-ca " + ca.File, "--tls-listen"},
		{"edge --tls-listen 127.0.0.1:0 --tls-cert " + cert + " --tls-key " + key + " --tls-client-ca " + key, "PRIVATE KEY"},
		{origin + " --tier-secret-file " + short, "at least 16 bytes"},
		{origin + " --tls-cert " + cert, "come as a pair"},
		{origin + " --tls-cert " + cert + " --tls-key " + other, "does not match"},
		{origin + " --tls-client-ca " + ca.File, "--tls-cert"},
		{origin + " --tls-cert " + cert + " --tls-key " + key + " --tls-client-ca " + secret, "no certificate in it"},
	} {
		stdout, stderr, status := harness.Call(t, home, strings.Fields(row.args)...)
		if status != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, row.stderr) {
			t.Errorf("iconedge %s: status %d; stdout %q; stderr %q, want one line with %q", row.args, status, stdout, stderr, row.stderr)
		}
		if strings.Contains(stderr, "too-short") || strings.Contains(stderr, harness.TierSecret) {
			t.Errorf("iconedge %s prints a secret: %s", row.args, stderr)
		}
	}
}

// TestTiersBySecret: an edge, a shield and an origin authenticate to each other by the secret.
// Other clients get no protected response from the inner tiers, and no log has the secret in it.
func TestTiersBySecret(t *testing.T) {
	home, secret := t.TempDir(), harness.TextFile(t, harness.TierSecret+"\n")
	harness.Must(t, home, "publish", harness.Library(t, "M0 0h8v8z"))
	origin := harness.Start(t, home, "origin", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--tier-secret-file", secret).Ready()
	edge := func(of *harness.Server, with ...string) *harness.Server {
		return harness.Start(t, home, append([]string{"edge", "--listen", "127.0.0.1:0", "--admin-listen",
			"127.0.0.1:0", "--log-level", "debug", "--origin", "http://" + of.Address("public")}, with...)...)
	}
	shield := edge(origin, "--tier-secret-file", secret).Ready()
	outer := edge(shield, "--tier-secret-file", secret).Ready()
	stranger := edge(origin)
	if resp, body := harness.Get(t, outer.Address("public"), "/demo/arrow.svg"); resp.StatusCode != 200 ||
		!strings.Contains(body, "M0 0h8v8z") || len(resp.Header["Cache-Status"]) != 2 {
		t.Errorf("through three tiers: %d, Cache-Status: %q", resp.StatusCode, resp.Header["Cache-Status"])
	}
	for _, row := range []struct {
		from        *harness.Server
		path, given string
		status      int
		wanted      string
	}{
		{origin, "/healthz", "", 200, ""},
		{origin, "/demo/arrow.svg", "", 403, "?1"},
		{origin, "/demo/arrow.svg", "a-secret-of-nobodys-0123", 403, "?1"},
		{origin, "/-/release", "", 403, "?1"},
		{origin, "/demo/arrow.svg", harness.TierSecret, 200, ""},
		{shield, "/demo/arrow.svg", "", 200, ""},
		{shield, "/-/release", "", 403, "?1"},
		{shield, "/-/release", harness.TierSecret, 200, ""},
		{stranger, "/demo/arrow.svg", "", 502, ""},
	} {
		resp, body := harness.Get(t, row.from.Address("public"), row.path, tier.Field, row.given)
		if resp.StatusCode != row.status || resp.Header.Get(tier.FieldWanted) != row.wanted ||
			row.status >= 400 && !strings.Contains(resp.Header.Get("Content-Type"), "problem+json") {
			t.Errorf("%s: %d %s; want %d", row.path, resp.StatusCode, body, row.status)
		}
	}
	harness.Eventually(t, "the unauthenticated edge logs the reason", func() bool {
		return strings.Contains(stranger.Log.String(), "does not take this edge for one of its own")
	})
	if resp, _ := harness.Get(t, stranger.Address("admin"), "/readyz"); resp.StatusCode != 503 {
		t.Errorf("an edge that its origin refuses is ready: %d", resp.StatusCode)
	}
	harness.Must(t, home, "publish", harness.Library(t, "M1 1h8v8z"))
	harness.Eventually(t, "two tiers serve the second release", func() bool {
		_, body := harness.Get(t, outer.Address("public"), "/demo/arrow.svg")
		return strings.Contains(body, "M1 1h8v8z")
	})
	for _, s := range []*harness.Server{origin, shield, outer, stranger} {
		if strings.Contains(s.Log.String(), harness.TierSecret) {
			t.Errorf("a log has the secret in it:\n%s", s.Log)
		}
	}
}

// TestTiersByCertificate: an origin with client certificates answers edges with a certificate of
// its authority, over TLS 1.3, and no other client, not even at /healthz.
func TestTiersByCertificate(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	ca, others := certstest.NewAuthority(t, dir, "ca"), certstest.NewAuthority(t, dir, "others")
	cert, key := ca.Pair(t, dir, "origin", "127.0.0.1")
	harness.Must(t, home, "publish", harness.Library(t, "M0 0h8v8z"))
	origin := harness.Start(t, home, "origin", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--tls-cert", cert, "--tls-key", key, "--tls-client-ca", ca.File).Ready()
	address := "https://" + origin.Address("public")
	for _, row := range []struct {
		name   string
		signed *certstest.Authority
		max    uint16
		ok     bool
	}{
		{"its own", ca, 0, true}, {"its own, by TLS 1.2", ca, tls.VersionTLS12, false},
		{"another's", others, 0, false}, {"none", nil, 0, false},
	} {
		believed, err := certs.OpenAuthorities(ca.File, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		config := &tls.Config{RootCAs: believed.Pool(), MaxVersion: row.max}
		var flags []string
		if row.signed != nil {
			cert, key := row.signed.Pair(t, t.TempDir(), "edge")
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err != nil {
				t.Fatal(err)
			}
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
			flags = []string{"--origin-cert", cert, "--origin-key", key}
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
		for _, path := range []string{"/healthz", "/demo/arrow.svg"} {
			resp, err := client.Get(address + path)
			if err == nil {
				resp.Body.Close()
			}
			if (err == nil) != row.ok || row.ok && resp.StatusCode != 200 {
				t.Errorf("%s, %s: %v, %v", row.name, path, resp, err)
			}
		}
		if row.max != 0 {
			continue
		}
		edge := harness.Start(t, home, append([]string{"edge", "--listen", "127.0.0.1:0", "--admin-listen",
			"127.0.0.1:0", "--origin", address, "--origin-ca", ca.File}, flags...)...)
		if row.ok {
			edge.Ready()
		}
		if resp, _ := harness.Get(t, edge.Address("public"), "/demo/arrow.svg"); (resp.StatusCode == 200) != row.ok {
			t.Errorf("%s, through an edge: %d", row.name, resp.StatusCode)
		}
	}
}

// TestExposedOrigin: an origin that other machines can reach, and that requires no proof, warns;
// one that requires a proof does not.
func TestExposedOrigin(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, row := range []struct {
		listen string
		flags  []string
		warns  bool
	}{
		{"0.0.0.0:0", nil, true},
		{"127.0.0.1:0", nil, false},
		{"0.0.0.0:0", []string{"--tier-secret-file", harness.TextFile(t, harness.TierSecret)}, false},
	} {
		s := harness.Start(t, t.TempDir(), append([]string{"origin", "--listen", row.listen, "--admin-listen",
			"127.0.0.1:0"}, row.flags...)...)
		s.Address("admin") // logged after the warning
		if got := strings.Contains(s.Log.String(), "origin reachable from other machines without authentication"); got != row.warns {
			t.Errorf("%s %v: warning logged: %v", row.listen, row.flags, got)
		}
		s.Stop()
	}
}
