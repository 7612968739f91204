package origin

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"net"
	"net/http"
	"time"

	"github.com/iconedge/iconedge/certs"
	"github.com/iconedge/iconedge/files"
	"github.com/iconedge/iconedge/tier"
)

// Tiers is what an operator can set about the edges before an origin: by what they prove that they are its own. All are files, and read
// again when they change. Where both proofs are wanted an edge gives both.
type Tiers struct {
	TierSecretFile string // of the secret between tiers
	TLSCert        string // PEM, of the certificate that is shown; empty: no TLS
	TLSKey         string // and its key
	TLSClientCA    string // PEM, of the authorities by which edges are believed; empty: they need no certificate
}

func (c *Tiers) flags(fs *flag.FlagSet) {
	fs.StringVar(&c.TierSecretFile, "tier-secret-file", "", "`file` of the secret that edges must send; a second line is another that is taken as well; read again when it changes (default none)")
	fs.StringVar(&c.TLSCert, "tls-cert", "", "`file` of a certificate (PEM) with which to speak TLS; read again when it changes (default none: plain HTTP)")
	fs.StringVar(&c.TLSKey, "tls-key", "", "`file` of its key (PEM)")
	fs.StringVar(&c.TLSClientCA, "tls-client-ca", "", "`file` of the authorities (PEM) one of which must have signed the certificate of an edge, also for /healthz; read again when it changes (default none)")
}

// validate reports what is wrong, files that can't be used among it.
func (c *Tiers) validate(now time.Time) error {
	_, err := c.open(now)
	errs := []error{err}
	if (c.TLSCert == "") != (c.TLSKey == "") {
		errs = append(errs, errors.New("--tls-cert and --tls-key come as a pair"))
	}
	if c.TLSClientCA != "" && c.TLSCert == "" {
		errs = append(errs, errors.New("--tls-client-ca wants --tls-cert and --tls-key"))
	}
	return errors.Join(errs...)
}

// tiers are what edges and this origin prove themselves by. What the operator does not want is nil.
type tiers struct {
	files.Set
	secrets *tier.Secrets
	shown   *certs.Store
	edges   *certs.Authorities
}

// open reads the files that are named. The error names every one that can't be used.
func (c *Tiers) open(now time.Time) (*tiers, error) {
	t := &tiers{}
	t.Add("--tier-secret-file", c.TierSecretFile, func(path string) (k *files.Kept, err error) {
		t.secrets, err = tier.Open(path)
		return t.secrets.Kept, err
	})
	if c.TLSKey != "" {
		t.Add("--tls-cert", c.TLSCert, func(path string) (k *files.Kept, err error) {
			t.shown, err = certs.Open([]certs.Pair{{Cert: path, Key: c.TLSKey}}, x509.ExtKeyUsageServerAuth, now)
			return t.shown.Kept, err
		})
	}
	t.Add("--tls-client-ca", c.TLSClientCA, func(path string) (k *files.Kept, err error) {
		t.edges, err = certs.OpenAuthorities(path, now)
		return t.edges.Kept, err
	})
	return t, t.Err()
}

// secure speaks TLS on a listener, where that is wanted. Only edges talk to an origin: 1.3 it is.
func (t *tiers) secure(ln net.Listener) net.Listener {
	if t.shown == nil {
		return ln
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: t.shown.Certificate, NextProtos: []string{"http/1.1"}}
	if t.edges != nil {
		t.edges.Ask(config, tls.RequireAndVerifyClientCert)
	}
	return tls.NewListener(ln, config)
}

// admit lets those through who prove to be edges of this service, where they must, and whoever asks whether the process lives.
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

// exposed reports whether others than this machine can ask, and nothing keeps them from it.
func (t *tiers) exposed(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback() && t.secrets == nil && t.edges == nil
}
