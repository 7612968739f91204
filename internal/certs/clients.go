package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync/atomic"
)

// A clientConfig is the configuration for one pool of authorities.
type clientConfig struct {
	pool   *x509.CertPool
	config *tls.Config
}

// Ask makes config request client certificates from these authorities, as they are when a client
// connects. auth says whether a certificate is required. A client with a certificate is another
// tier, which must use TLS 1.3.
func (a *Authorities) Ask(config *tls.Config, auth tls.ClientAuthType) {
	var last atomic.Pointer[clientConfig]
	base := config.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		pool := a.Pool()
		if l := last.Load(); l != nil && l.pool == pool {
			return l.config, nil
		}
		c := base.Clone()
		c.ClientAuth, c.ClientCAs, c.VerifyConnection = auth, pool, modern
		last.Store(&clientConfig{pool, c})
		return c, nil
	}
}

// modern refuses a client certificate over a TLS version below 1.3. By then crypto/tls has verified
// it against the current authorities, also on a resumed connection.
func modern(s tls.ConnectionState) error {
	if len(s.PeerCertificates) > 0 && s.Version < tls.VersionTLS13 {
		return errors.New("client certificates require TLS 1.3")
	}
	return nil
}

// Shown reports whether the client of a connection has presented a trusted certificate.
func Shown(s *tls.ConnectionState) bool { return s != nil && len(s.VerifiedChains) > 0 }
