package origin

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"net"
	"net/http"
	"time"

	"github.com/iconedge/iconedge/internal/certs"
	"github.com/iconedge/iconedge/internal/files"
	"github.com/iconedge/iconedge/internal/tier"
)

// Tiers holds the settings for the authentication of edges, by a shared secret, by client
// certificates, or by both. All are names of files, which the origin reads again when they change.
type Tiers struct {
	TierSecretFile string // the secret that edges and origin share; empty: edges need none
	TLSCert        string // the certificate of the origin, in PEM; empty: no TLS
	TLSKey         string // its private key, in PEM
	TLSClientCA    string // authorities that sign certificates of edges; empty: edges need none
}

func (c *Tiers) flags(fs *flag.FlagSet) {
	fs.StringVar(&c.TierSecretFile, "tier-secret-file", "", "`file` of the secret that edges must send; a second line "+
		"is another valid secret; read again when it changes (default none)")
	fs.StringVar(&c.TLSCert, "tls-cert", "",
		"`file` of the certificate (PEM) for TLS; read again when it changes (default none: plain HTTP)")
	fs.StringVar(&c.TLSKey, "tls-key", "", "`file` of the private key (PEM) for --tls-cert")
	fs.StringVar(&c.TLSClientCA, "tls-client-ca", "", "`file` of certificate authorities (PEM); an edge must present "+
		"a certificate that one of them signed, also for /healthz; read again when it changes (default none)")
}

// validate returns an error that lists all invalid settings, including unusable files.
func (c *Tiers) validate(now time.Time) error {
	_, err := c.open(now)
	errs := []error{err}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		errs = append(errs, errors.New("--tls-cert and --tls-key come as a pair"))
	}
	if c.TLSClientCA != "" && c.TLSCert == "" {
		errs = append(errs, errors.New("--tls-client-ca requires --tls-cert and --tls-key"))
	}
	return errors.Join(errs...)
}

// tiers authenticates edges and this origin to each other. Fields that the operator has not
// configured are nil.
type tiers struct {
	files.Set
	secrets *tier.Secrets
	cert    *certs.Store       // of the origin
	edgeCAs *certs.Authorities // of the certificates of edges
}

// open reads the configured files. The error names every file that can't be used.
func (c *Tiers) open(now time.Time) (*tiers, error) {
	t := &tiers{}
	t.Add("--tier-secret-file", c.TierSecretFile, func(path string) (k *files.Watched, err error) {
		t.secrets, err = tier.Open(path)
		return t.secrets.Watched, err
	})
	if c.TLSKey != "" {
		t.Add("--tls-cert", c.TLSCert, func(path string) (k *files.Watched, err error) {
			t.cert, err = certs.Open([]certs.Pair{{Cert: path, Key: c.TLSKey}}, x509.ExtKeyUsageServerAuth, now)
			return t.cert.Watched, err
		})
	}
	t.Add("--tls-client-ca", c.TLSClientCA, func(path string) (k *files.Watched, err error) {
		t.edgeCAs, err = certs.OpenAuthorities(path, now)
		return t.edgeCAs.Watched, err
	})
	return t, t.Err()
}

// secure adds TLS to a listener if the operator has configured a certificate. It requires TLS 1.3,
// because all clients of an origin are edges, which have it.
func (t *tiers) secure(ln net.Listener) net.Listener {
	if t.cert == nil {
		return ln
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: t.cert.Certificate, NextProtos: []string{"http/1.1"}}
	if t.edgeCAs != nil {
		t.edgeCAs.Ask(config, tls.RequireAndVerifyClientCert)
	}
	return tls.NewListener(ln, config)
}

// admit wraps next. If the operator has configured a secret, it refuses requests without it, except
// health checks.
func (t *tiers) admit(next http.Handler) http.Handler {
	if t.secrets == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" || t.secrets.Prove(r.Header[tier.Field]...) {
			next.ServeHTTP(w, r)
			return
		}
		tier.Refused().Write(w)
	})
}

// exposed reports whether clients on other machines can use the origin without authentication.
func (t *tiers) exposed(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback() && t.secrets == nil && t.edgeCAs == nil
}
