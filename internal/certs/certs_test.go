package certs

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/iconedge/iconedge/internal/certs/certstest"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// write makes a pair whose certificate is for these names and expires at ends.
func write(t *testing.T, dir, file, subject string, ends time.Time, names ...string) Pair {
	t.Helper()
	cert, key := certstest.PairDuring(t, dir, file,
		certstest.Certificate{Subject: subject, Names: names, Begins: now.Add(-time.Hour), Ends: ends})
	return Pair{cert, key}
}

func shown(t *testing.T, s *Store, name string) string {
	t.Helper()
	c, err := s.Certificate(&tls.ClientHelloInfo{ServerName: name})
	if err != nil {
		t.Fatal(err)
	}
	return c.Leaf.Subject.CommonName
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	s, err := Open([]Pair{
		write(t, dir, "a", "first", now.Add(time.Hour), "cdn.example.org"),
		write(t, dir, "b", "wild", now.Add(30*time.Minute), "*.example.net", "example.net"),
		write(t, dir, "c", "second", now.Add(time.Hour), "icons.example.net", "cdn.example.org"),
	}, x509.ExtKeyUsageServerAuth, now)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"cdn.example.org": "first", "CDN.example.org.": "first", "icons.example.net": "second",
		"other.example.net": "wild", "example.net": "wild",
		"a.b.example.net": "first", "": "first", "nobody": "first", ".example.net": "wild",
	} {
		if got := shown(t, s, name); got != want {
			t.Errorf("%q gets %s, want %s", name, got, want)
		}
	}
	if !s.Ends().Equal(now.Add(30 * time.Minute)) {
		t.Errorf("Ends = %v", s.Ends())
	}
}

// TestUnusable checks that the error names every file that can't be used, with the reason.
func TestUnusable(t *testing.T) {
	dir := t.TempDir()
	good := write(t, dir, "good", "good", now.Add(time.Hour), "a.example")
	other := write(t, dir, "other", "other", now.Add(time.Hour), "a.example")
	old := write(t, dir, "old", "old", now.Add(-time.Minute), "a.example")
	junk := filepath.Join(dir, "junk.crt")
	if err := os.WriteFile(junk, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		pair Pair
		want string
	}{
		"absent":                        {Pair{filepath.Join(dir, "none.crt"), good.Key}, "no such file"},
		"no certificate":                {Pair{junk, good.Key}, "failed to find any PEM data"},
		"the key of another pair":       {Pair{good.Cert, other.Key}, "private key does not match"},
		"expired":                       {old, "not valid after 2026-11-21T11:59:00Z"},
		"certificate and key exchanged": {Pair{good.Key, good.Cert}, "failed to find"},
		"the key is a folder":           {Pair{good.Cert, dir}, "is a directory"},
		"a second valid pair":           {write(t, dir, "later", "later", now.Add(time.Hour)), ""},
	} {
		_, err := Open([]Pair{good, tt.pair}, x509.ExtKeyUsageServerAuth, now)
		if tt.want == "" && err != nil || tt.want != "" &&
			(err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.pair.Cert)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if _, err := Open([]Pair{good}, x509.ExtKeyUsageServerAuth, now.Add(-2*time.Hour)); err == nil ||
		!strings.Contains(err.Error(), "not valid before") {
		t.Errorf("before the certificate is valid: %v", err)
	}
}

// TestLook checks that a changed pair comes into use once it is valid, and that the old certificate
// stays in use until then.
func TestLook(t *testing.T) {
	dir := t.TempDir()
	pair := write(t, dir, "a", "old", now.Add(time.Hour), "a.example")
	s, err := Open([]Pair{pair}, x509.ExtKeyUsageServerAuth, now)
	if err != nil {
		t.Fatal(err)
	}
	type outcome struct{ did, fails bool }
	look := func(what string, o outcome, want string) {
		t.Helper()
		got, err := s.Check(now)
		if got != o.did || (err != nil) != o.fails || shown(t, s, "a.example") != want {
			t.Errorf("%s: %v, %v, shown %s", what, got, err, shown(t, s, "a.example"))
		}
	}
	look("unchanged", outcome{}, "old")
	if err := os.WriteFile(pair.Cert, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	look("being written", outcome{}, "old")
	look("broken", outcome{did: true, fails: true}, "old")
	look("still broken, and reported", outcome{}, "old")
	write(t, dir, "a", "new", now.Add(time.Hour), "a.example")
	look("being replaced", outcome{}, "old")
	look("replaced", outcome{did: true}, "new")
}

// TestAuthorities covers valid and invalid files of authorities, and checks that an invalid one
// does not replace a valid one.
func TestAuthorities(t *testing.T) {
	dir := t.TempDir()
	good := write(t, dir, "good", "good", now.Add(time.Hour))
	old := write(t, dir, "old", "old", now.Add(-time.Minute))
	text := func(files ...string) (all string) {
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all += string(b)
		}
		return all
	}
	path := filepath.Join(dir, "ca.crt")
	for _, row := range []struct{ name, text, wrong string }{
		{"one, with words before it", "our authority\n" + text(good.Cert), ""},
		{"two", text(good.Cert, good.Cert), ""},
		{"nothing", "words", "no certificate"},
		{"a key as well", text(good.Cert, good.Key), `"PRIVATE KEY"`},
		{"expired", text(good.Cert, old.Cert), "certificate 2 is not valid after 2026-11-21T11:59:00Z"},
		{"damaged", "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n", "certificate 1 can't be read"},
	} {
		if err := os.WriteFile(path, []byte(row.text), 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := OpenAuthorities(path, now)
		if row.wrong == "" && err != nil || row.wrong != "" &&
			(err == nil || !strings.Contains(err.Error(), row.wrong) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%s: %v, want %q", row.name, err, row.wrong)
		}
		if row.wrong == "" {
			pool := a.Pool()
			os.WriteFile(path, []byte("broken"), 0o600)
			if a.Reload(now) == nil || a.Pool() != pool {
				t.Errorf("%s: an invalid file replaced the authorities", row.name)
			}
		}
	}
	if _, err := OpenAuthorities(filepath.Join(dir, "none"), now); err == nil {
		t.Error("OpenAuthorities of a missing file returned no error")
	}
	if (*Authorities)(nil).Pool() != nil {
		t.Error("a nil *Authorities must have a nil Pool, for the system's authorities")
	}
}

// FuzzAuthorities checks that any file gives either a pool or an error.
func FuzzAuthorities(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"))
	f.Add([]byte("words"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if pool, err := parseAuthorities(text, now); (pool == nil) != (err != nil) {
			t.Errorf("%v, %v", pool, err)
		}
	})
}

// TestServes checks the extended key usage. A certificate without one is valid for any use.
func TestServes(t *testing.T) {
	const server, client = x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	for _, row := range []struct {
		says           []x509.ExtKeyUsage
		other          bool // an extended key usage unknown to crypto/x509
		server, client bool
	}{
		{server: true, client: true}, {says: []x509.ExtKeyUsage{server}, server: true}, {says: []x509.ExtKeyUsage{client}, client: true},
		{says: []x509.ExtKeyUsage{client, server}, server: true, client: true},
		{says: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}, server: true, client: true}, {other: true},
		{says: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning}},
	} {
		c := &x509.Certificate{ExtKeyUsage: row.says}
		if row.other {
			c.UnknownExtKeyUsage = []asn1.ObjectIdentifier{{1, 2, 3}}
		}
		if serves(c, server) != row.server || serves(c, client) != row.client {
			t.Errorf("%v: server %v, client %v", row, serves(c, server), serves(c, client))
		}
	}
}
