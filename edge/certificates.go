package edge

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

// A secureSource gives the certificates: of files, or of an authority.
type secureSource struct {
	files *certs.Store // nil: the authority's
	acme  *autocert.Manager
	log   *slog.Logger
	m     *metrics
}

func newSecureSource(c Secure, log *slog.Logger, m *metrics, now time.Time) (*secureSource, error) {
	s := &secureSource{log: log, m: m}
	if len(c.ACMEHosts) == 0 {
		var err error
		if s.files, err = certs.Open(c.pairs(), x509.ExtKeyUsageServerAuth, now); err == nil {
			m.certificates(s.files.Ends(), true)
		}
		return s, err
	}
	s.acme = &autocert.Manager{Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(c.ACMEDir), HostPolicy: autocert.HostWhitelist(c.ACMEHosts...), Email: c.ACMEEmail}
	if c.ACMEDirectory != "" {
		s.acme.Client = &acme.Client{DirectoryURL: c.ACMEDirectory}
	}
	return s, nil
}

// run reads the files again when they change, and at once when told to. What can't be used changes nothing, and is told.
func (s *secureSource) run(ctx context.Context, told <-chan os.Signal) {
	if s.files == nil {
		return
	}
	s.files.Run(ctx, told, func(err error) {
		s.m.certificates(s.files.Ends(), err == nil)
		if err != nil {
			s.log.Error("certificates can't be read; the ones before stay", "err", err)
			return
		}
		s.log.Info("certificates were read", "end", s.files.Ends())
	})
}

// config is TLS as it is spoken over TCP: 1.2 with ciphers that nobody has broken, and 1.3; tickets are the library's, whose keys
// it changes each day.
func (s *secureSource) config() *tls.Config {
	c := &tls.Config{
		MinVersion:                  tls.VersionTLS12,
		NextProtos:                  []string{"h2", "http/1.1"},
		DynamicRecordSizingDisabled: true, // answers are short: small records cost calls and save nothing
		CipherSuites: []uint16{ // of TLS 1.2; those of 1.3 are not to be chosen
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
