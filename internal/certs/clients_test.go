package certs

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/iconedge/iconedge/internal/certs/certstest"
)

// shake connects a client to a server and reads one byte, so that session tickets arrive. It
// reports whether the server has a trusted client certificate, whether the session was resumed, and
// the client's error.
func shake(t *testing.T, server, client *tls.Config) (shown, resumed bool, err error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	done := make(chan tls.ConnectionState, 1)
	go func() {
		raw, err := ln.Accept()
		if err != nil {
			return
		}
		c := tls.Server(raw, server)
		defer c.Close()
		c.Handshake()
		c.Write([]byte{1})
		done <- c.ConnectionState()
	}()
	c, err := tls.Dial("tcp", ln.Addr().String(), client)
	if err == nil {
		defer c.Close()
		// In TLS 1.3, the client learns here that its certificate is refused.
		_, err = io.ReadFull(c, make([]byte, 1))
	}
	state := <-done
	return Shown(&state), state.DidResume, err
}

// TestAsk checks that the server trusts only certificates of the current authorities, also on
// resumed connections and after the authorities have changed.
func TestAsk(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := certstest.NewAuthority(t, dir, "ours"), certstest.NewAuthority(t, dir, "theirs")
	a, err := OpenAuthorities(ours.File, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair := func(signer *certstest.Authority, file string) tls.Certificate {
		c, err := tls.LoadX509KeyPair(signer.Pair(t, dir, file, "127.0.0.1"))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	good, bad := pair(ours, "good"), pair(theirs, "bad")
	for _, auth := range []tls.ClientAuthType{tls.VerifyClientCertIfGiven, tls.RequireAndVerifyClientCert} {
		server := &tls.Config{Certificates: []tls.Certificate{good}}
		a.Ask(server, auth)
		client := func(c *tls.Certificate) *tls.Config {
			return &tls.Config{RootCAs: a.Pool(), ClientSessionCache: tls.NewLRUClientSessionCache(1),
				GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
					if c == nil {
						c = &tls.Certificate{}
					}
					return c, nil
				}}
		}
		if shown, _, err := shake(t, server, client(nil)); shown || (err == nil) != (auth == tls.VerifyClientCertIfGiven) {
			t.Errorf("%v, no certificate: shown %v, %v", auth, shown, err)
		}
		if shown, _, err := shake(t, server, client(&bad)); shown || err == nil {
			t.Errorf("%v, a certificate of another authority: shown %v, %v", auth, shown, err)
		}
		old := client(&good)
		old.MaxVersion = tls.VersionTLS12
		if _, _, err := shake(t, server, old); err == nil {
			t.Errorf("%v: a client certificate over TLS 1.2 was accepted", auth)
		}
		again := client(&good)
		for i, want := range []bool{false, true} {
			if shown, resumed, err := shake(t, server, again); !shown || resumed != want || err != nil {
				t.Errorf("%v, good certificate, %d: shown %v, resumed %v, %v", auth, i, shown, resumed, err)
			}
		}
		text, _ := os.ReadFile(ours.File)
		other, _ := os.ReadFile(theirs.File)
		os.WriteFile(ours.File, other, 0o600)
		if err := a.Reload(time.Now()); err != nil {
			t.Fatal(err)
		}
		if shown, _, err := shake(t, server, again); shown || err == nil {
			t.Errorf("%v: resumed with an authority that was removed: shown %v, %v", auth, shown, err)
		}
		os.WriteFile(ours.File, text, 0o600)
		if err := a.Reload(time.Now()); err != nil {
			t.Fatal(err)
		}
	}
}
