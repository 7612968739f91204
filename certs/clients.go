package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync/atomic"
)

// A clientConfig is how clients are asked for a certificate, while the authorities stay as they are.
type clientConfig struct {
	of     *x509.CertPool
	config *tls.Config
}

// Ask has config ask clients for a certificate of these authorities, as they are at the time; auth says whether they must have one. Who shows
// one is a tier of ours, and speaks TLS 1.3.
func (a *Authorities) Ask(config *tls.Config, auth tls.ClientAuthType) {
	var last atomic.Pointer[clientConfig]
	base := config.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		of := a.Pool()
		if l := last.Load(); l != nil && l.of == of {
			return l.config, nil
		}
		c := base.Clone()
		c.ClientAuth, c.ClientCAs, c.VerifyConnection = auth, of, modern
		last.Store(&clientConfig{of, c})
		return c, nil
	}
}

// modern refuses a client that shows a certificate by an older TLS than tiers speak. That the authorities of today believe it has been seen to, also
// of one that is resumed.
func modern(s tls.ConnectionState) error {
	if len(s.PeerCertificates) > 0 && s.Version < tls.VersionTLS13 {
		return errors.New("who shows a certificate must speak TLS 1.3")
	}
	return nil
}

// Shown reports whether the client of a connection has shown a certificate that is believed.
func Shown(s *tls.ConnectionState) bool { return s != nil && len(s.VerifiedChains) > 0 }
