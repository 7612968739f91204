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
		c.ClientAuth, c.ClientCAs, c.VerifyConnection = auth, of, a.verify
		last.Store(&clientConfig{of, c})
		return c, nil
	}
}

// verify looks at a connection whose client has shown a certificate. One that is resumed must be believed by the authorities of today.
func (a *Authorities) verify(s tls.ConnectionState) error {
	if len(s.PeerCertificates) == 0 {
		return nil
	}
	if s.Version < tls.VersionTLS13 {
		return errors.New("who shows a certificate must speak TLS 1.3")
	}
	if !s.DidResume {
		return nil
	}
	o := x509.VerifyOptions{Roots: a.Pool(), Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, c := range s.PeerCertificates[1:] {
		o.Intermediates.AddCert(c)
	}
	_, err := s.PeerCertificates[0].Verify(o)
	return err
}

// Shown reports whether the client of a connection has shown a certificate that is believed.
func Shown(s *tls.ConnectionState) bool { return s != nil && len(s.VerifiedChains) > 0 }
