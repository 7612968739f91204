package access

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/internal/certs"
	"github.com/iconedge/iconedge/internal/files"
	"github.com/iconedge/iconedge/internal/tier"
)

// Tiers configures how an edge authenticates to its origins, and how the edges behind it
// authenticate to it. All fields are names of files.
type Tiers struct {
	TierSecretFile string // secret that the edge sends to origins and accepts from edges behind it
	OriginCA       string // PEM: authorities of https origins; empty: the system's
	OriginCert     string // PEM: client certificate for https origins
	OriginKey      string // PEM: its key
	TLSClientCA    string // PEM: authorities of the client certificates of edges behind this one
}

func (c *Tiers) Flags(fs *flag.FlagSet) {
	fs.StringVar(&c.TierSecretFile, "tier-secret-file", "", "`file` of the secret between tiers: the edge sends it to "+
		"origins, and a client that sends it is an edge behind this one, which has no limits and may ask for "+
		"releases; a second line is a further secret that the edge accepts; read again when it changes (default none)")
	fs.StringVar(&c.OriginCA, "origin-ca", "", "`file` of the authorities (PEM) that https origins are verified "+
		"against; read again when it changes (default the system's)")
	fs.StringVar(&c.OriginCert, "origin-cert", "", "`file` of the client certificate (PEM) for https origins; read "+
		"again when it changes (default none)")
	fs.StringVar(&c.OriginKey, "origin-key", "", "`file` of its key (PEM)")
	fs.StringVar(&c.TLSClientCA, "tls-client-ca", "", "`file` of authorities (PEM): a client with a certificate of "+
		"theirs is an edge behind this one, as with the secret; other clients need no certificate; read again when it "+
		"changes (default none)")
}

// Validate returns every error of the configuration. It opens the files, to report those that can't
// be used.
func (c *Tiers) Validate(now time.Time, secured bool, origins []*url.URL) error {
	_, err := c.Open(now)
	errs := []error{err}
	if c.TLSClientCA != "" && !secured {
		errs = append(errs, errors.New("--tls-client-ca requires --tls-listen"))
	}
	if (c.OriginCert == "") != (c.OriginKey == "") {
		errs = append(errs, errors.New("--origin-cert and --origin-key require each other"))
	}
	https := func(u *url.URL) bool { return u.Scheme == "https" || u.Scheme == "h2" }
	if c.OriginCA+c.OriginCert+c.OriginKey != "" && !slices.ContainsFunc(origins, https) {
		errs = append(errs, errors.New("--origin-ca, --origin-cert and --origin-key require an https --origin"))
	}
	return errors.Join(errs...)
}

// Credentials are the credentials between this edge and its neighbours. Those that the operator has
// not configured are nil.
type Credentials struct {
	files.Set
	Secrets  *tier.Secrets
	ca       *certs.Authorities // verifies origins
	shown    *certs.Store       // client certificate for origins
	behind   *certs.Authorities // verifies edges behind this one
	Requests atomic.Int64       // from edges behind this one
}

// Open reads the configured files. The error names every file that can't be used.
func (c *Tiers) Open(now time.Time) (*Credentials, error) {
	t := &Credentials{}
	t.Add("--tier-secret-file", c.TierSecretFile, func(path string) (k *files.Watched, err error) {
		t.Secrets, err = tier.Open(path)
		return t.Secrets.Watched, err
	})
	authorities := func(of **certs.Authorities) func(string) (*files.Watched, error) {
		return func(path string) (k *files.Watched, err error) {
			*of, err = certs.OpenAuthorities(path, now)
			return (*of).Watched, err
		}
	}
	t.Add("--origin-ca", c.OriginCA, authorities(&t.ca))
	t.Add("--tls-client-ca", c.TLSClientCA, authorities(&t.behind))
	if c.OriginKey != "" {
		t.Add("--origin-cert", c.OriginCert, func(path string) (k *files.Watched, err error) {
			t.shown, err = certs.Open([]certs.Pair{{Cert: path, Key: c.OriginKey}}, x509.ExtKeyUsageClientAuth, now)
			return t.shown.Watched, err
		})
	}
	return t, t.Err()
}

// exclusive reports whether only the edges behind this one may ask for releases. This is so if the
// operator has configured a way for them to authenticate.
func (t *Credentials) exclusive() bool { return t.Secrets != nil || t.behind != nil }

// ToOrigins returns the TLS configuration for https origins. An origin that gets a client
// certificate or the secret is a tier of the operator's, so TLS 1.3 is required of it.
func (t *Credentials) ToOrigins() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: t.ca.Pool()}
	if t.shown != nil {
		c.GetClientCertificate = t.shown.ClientCertificate
	}
	if t.shown != nil || t.Secrets != nil {
		c.MinVersion = tls.VersionTLS13
	}
	return c
}

// Ask makes config request client certificates, if edges may authenticate with one. Clients without
// a certificate are still served.
func (t *Credentials) Ask(config *tls.Config) {
	if t.behind != nil {
		t.behind.Ask(config, tls.VerifyClientCertIfGiven)
	}
}

// Prove reports whether a request comes from an edge behind this one, authenticated by the client
// certificate of its connection or by the secret.
func (t *Credentials) Prove(x *exchange.Request) bool {
	if !t.exclusive() || !x.Tier && !t.Secrets.Prove(exchange.Texts(x.Lines(tier.Field))...) {
		return false
	}
	t.Requests.Add(1)
	return true
}

// Refuse returns the refusal for a client that is no edge behind this one, on a route reserved for
// those. It returns nil if the request may go on.
func (t *Credentials) Refuse(x *exchange.Request, route routes.Route) error {
	reserved := route == routes.Release || route == routes.Names
	if !reserved || !t.exclusive() || x.Tier {
		return nil
	}
	return tier.Refused()
}
