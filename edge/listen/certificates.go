package listen

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"github.com/iconedge/iconedge/certs"
)

// A secureSource provides the TLS certificates, from files or from an ACME authority.
type secureSource struct {
	files *certs.Store // nil: the certificates come from acme
	acme  *autocert.Manager
	log   *slog.Logger
	m     Observer
}

func newSecureSource(c Secure, log *slog.Logger, m Observer, now time.Time) (*secureSource, error) {
	s := &secureSource{log: log, m: m}
	if len(c.ACMEHosts) == 0 {
		var err error
		if s.files, err = certs.Open(c.pairs(), x509.ExtKeyUsageServerAuth, now); err == nil {
			m.Certificates(s.files.Ends(), true)
		}
		return s, err
	}
	s.acme = &autocert.Manager{Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(c.ACMEDir), HostPolicy: autocert.HostWhitelist(c.ACMEHosts...), Email: c.ACMEEmail}
	if c.ACMEDirectory != "" {
		s.acme.Client = &acme.Client{DirectoryURL: c.ACMEDirectory}
	}
	return s, nil
}

// run reads the files again when they change, or at once on a signal. Files that can't be used
// change nothing: run logs an error, and the previous certificates stay in use.
func (s *secureSource) run(ctx context.Context, told <-chan os.Signal) {
	if s.files == nil {
		return
	}
	s.files.Run(ctx, told, func(err error) {
		s.m.Certificates(s.files.Ends(), err == nil)
		if err != nil {
			s.log.Error("unreadable certificates; the previous ones stay in use", "err", err)
			return
		}
		s.log.Info("certificates read", "end", s.files.Ends())
	})
}

// config returns the TLS configuration for TCP: TLS 1.2 with ciphers that have no known weakness,
// and TLS 1.3. The session tickets are those of crypto/tls, which changes their keys each day.
func (s *secureSource) config() *tls.Config {
	c := &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		// Responses are short: small records would cost calls and save nothing.
		DynamicRecordSizingDisabled: true,
		CipherSuites: []uint16{ // for TLS 1.2; crypto/tls chooses those of TLS 1.3 itself
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
	}
	if s.files != nil {
		c.GetCertificate = s.files.Certificate
		return c
	}
	c.GetCertificate = s.acme.GetCertificate
	c.NextProtos = append(c.NextProtos, acme.ALPNProto)
	return c
}
