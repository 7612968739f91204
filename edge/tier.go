package edge

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/certs"
	"github.com/iconedge/iconedge/edge/routes"
	"github.com/iconedge/iconedge/files"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
	"github.com/iconedge/iconedge/tier"
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

func (c *Tiers) flags(fs *flag.FlagSet) {
	fs.StringVar(&c.TierSecretFile, "tier-secret-file", "", "`file` of the secret between tiers: the edge sends it to origins, and a client that sends it is an edge behind this one, which has no limits and may ask for releases; a second line is a further secret that the edge accepts; read again when it changes (default none)")
	fs.StringVar(&c.OriginCA, "origin-ca", "", "`file` of the authorities (PEM) that https origins are verified against; read again when it changes (default the system's)")
	fs.StringVar(&c.OriginCert, "origin-cert", "", "`file` of the client certificate (PEM) for https origins; read again when it changes (default none)")
	fs.StringVar(&c.OriginKey, "origin-key", "", "`file` of its key (PEM)")
	fs.StringVar(&c.TLSClientCA, "tls-client-ca", "", "`file` of authorities (PEM): a client with a certificate of theirs is an edge behind this one, as with the secret; other clients need no certificate; read again when it changes (default none)")
}

// validate returns every error of the configuration. It opens the files, to report those that can't
// be used.
func (c *Tiers) validate(now time.Time, secured bool, origins Origins) error {
	_, err := c.open(now)
	errs := []error{err}
	if c.TLSClientCA != "" && !secured {
		errs = append(errs, errors.New("--tls-client-ca requires --tls-listen"))
	}
	if (c.OriginCert == "") != (c.OriginKey == "") {
		errs = append(errs, errors.New("--origin-cert and --origin-key require each other"))
	}
	https := func(u *url.URL) bool { return u.Scheme == "https" }
	if c.OriginCA+c.OriginCert+c.OriginKey != "" && !slices.ContainsFunc(slices.Concat(origins...), https) {
		errs = append(errs, errors.New("--origin-ca, --origin-cert and --origin-key require an https --origin"))
	}
	return errors.Join(errs...)
}

// tiers are the credentials between this edge and its neighbours. Those that the operator has not
// configured are nil.
type tiers struct {
	files.Set
	secrets  *tier.Secrets
	ca       *certs.Authorities // verifies origins
	shown    *certs.Store       // client certificate for origins
	behind   *certs.Authorities // verifies edges behind this one
	requests atomic.Int64       // from edges behind this one
	looped   sync.Once          // logs a loop
}

// open reads the configured files. The error names every file that can't be used.
func (c *Tiers) open(now time.Time) (*tiers, error) {
	t := &tiers{}
	t.Add("--tier-secret-file", c.TierSecretFile, func(path string) (k *files.Watched, err error) {
		t.secrets, err = tier.Open(path)
		return t.secrets.Watched, err
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
func (t *tiers) exclusive() bool { return t.secrets != nil || t.behind != nil }

// toOrigins returns the TLS configuration for https origins. An origin that gets a client
// certificate or the secret is a tier of the operator's, so TLS 1.3 is required of it.
func (t *tiers) toOrigins() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: t.ca.Pool()}
	if t.shown != nil {
		c.GetClientCertificate = t.shown.ClientCertificate
	}
	if t.shown != nil || t.secrets != nil {
		c.MinVersion = tls.VersionTLS13
	}
	return c
}

// ask makes config request client certificates, if edges may authenticate with one. Clients without
// a certificate are still served.
func (t *tiers) ask(config *tls.Config) {
	if t.behind != nil {
		t.behind.Ask(config, tls.VerifyClientCertIfGiven)
	}
}

// amongTiers reports whether requests to the origin may carry the secret. They may if the origin
// has named a release, as our origins and the edges in front of them do, or if supposed says that
// it will. With --proxy-all the origin may be other software, and a page of it that shows the
// fields of its request would reveal the secret to any client.
func (h *handler) amongTiers(supposed bool) bool { return supposed || h.release.Load() != nil }

// proven reports whether a request comes from an edge behind this one, authenticated by the client
// certificate of its connection or by the secret.
func (t *tiers) proven(r *request) bool {
	if !t.exclusive() || !r.Tier && !t.secrets.Prove(texts(r.ctx.Request.Header.PeekAll(tier.Field))...) {
		return false
	}
	t.requests.Add(1)
	return true
}

// tiersOnly returns the refusal for a client that is no edge behind this one, on a route reserved
// for those. It returns nil if the request may go on.
func (h *handler) tiersOnly(r *request) error {
	asksForTiers := r.route == routes.Release || r.route == routes.Names
	if !asksForTiers || !h.tiers.exclusive() || r.Tier {
		return nil
	}
	return tier.Refused()
}

// looped returns the problem for a request that has passed through this edge before. It warns the
// operator only once, because every further request would repeat the warning.
func (h *handler) looped() *problem.Problem {
	h.tiers.looped.Do(func() {
		h.log.Warn("request loop: some --origin leads back to this edge; answering such requests with 508")
	})
	return problem.New(http.StatusLoopDetected, "this request has passed through this server before: the origin of some server leads back to it")
}

// writeTier adds the fields for an edge behind this one, as the origin would. With them that edge
// colours icons itself, and knows which of its entries a new release may have changed.
func (h *handler) writeTier(r *request, f found) {
	if r.forwarded || !r.Tier {
		return
	}
	for name, value := range map[string]string{icon.FieldMonochrome: f.entry.Monochrome, icon.FieldRelease: r.releaseOf(f)} {
		if value != "" {
			r.ctx.Response.Header.Set(name, value)
		}
	}
}

// releaseOf returns the release for which a response is current: the one that this edge knew before
// the lookup, because it had by then dropped the entries that this release changed. A response that
// keep stored only briefly, because it names another release, belongs to the release that it names.
func (r *request) releaseOf(f found) string {
	e := f.entry
	if r.known == "" || e.Release == "" || storedBriefly(e) {
		return e.Release
	}
	return r.known
}
