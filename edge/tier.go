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
	"github.com/iconedge/iconedge/files"
	"github.com/iconedge/iconedge/icon"
	"github.com/iconedge/iconedge/problem"
	"github.com/iconedge/iconedge/tier"
)

// Tiers is what an operator can set about the tiers next to an edge: how it proves itself to its origins, and how edges behind it prove
// themselves to it. All are files.
type Tiers struct {
	TierSecretFile string // of the secret between tiers, sent and taken
	OriginCA       string // PEM, of the authorities that https origins are believed by; empty: the system's
	OriginCert     string // PEM, the certificate that they are shown
	OriginKey      string // and its key
	TLSClientCA    string // PEM, of the authorities that edges behind this one are believed by
}

func (c *Tiers) flags(fs *flag.FlagSet) {
	fs.StringVar(&c.TierSecretFile, "tier-secret-file", "", "`file` of the secret between tiers: sent to origins, and who sends it is an edge behind this one, not limited and told of releases; a second line is another that is taken as well; read again when it changes (default none)")
	fs.StringVar(&c.OriginCA, "origin-ca", "", "`file` of the authorities (PEM) by which https origins are believed; read again when it changes (default the system's)")
	fs.StringVar(&c.OriginCert, "origin-cert", "", "`file` of the certificate (PEM) that https origins are shown; read again when it changes (default none)")
	fs.StringVar(&c.OriginKey, "origin-key", "", "`file` of its key (PEM)")
	fs.StringVar(&c.TLSClientCA, "tls-client-ca", "", "`file` of authorities (PEM): who shows a certificate of theirs is an edge behind this one, as by the secret; others need none; read again when it changes (default none)")
}

// validate reports what is wrong, files that can't be used among it.
func (c *Tiers) validate(now time.Time, secured bool, origins Origins) error {
	_, err := c.open(now)
	errs := []error{err}
	if c.TLSClientCA != "" && !secured {
		errs = append(errs, errors.New("--tls-client-ca wants --tls-listen"))
	}
	if (c.OriginCert == "") != (c.OriginKey == "") {
		errs = append(errs, errors.New("--origin-cert and --origin-key come as a pair"))
	}
	https := func(u *url.URL) bool { return u.Scheme == "https" }
	if c.OriginCA+c.OriginCert+c.OriginKey != "" && !slices.ContainsFunc(slices.Concat(origins...), https) {
		errs = append(errs, errors.New("--origin-ca, --origin-cert and --origin-key are for an https --origin"))
	}
	return errors.Join(errs...)
}

// tiers are what this edge and its neighbours prove themselves by. What the operator does not want is nil.
type tiers struct {
	files.Set
	secrets  *tier.Secrets
	ca       *certs.Authorities // of origins
	shown    *certs.Store       // to origins
	behind   *certs.Authorities // of the edges behind this one
	requests atomic.Int64       // of edges behind this one
	looped   sync.Once          // has been told
}

// open reads the files that are named. The error names every one that can't be used.
func (c *Tiers) open(now time.Time) (*tiers, error) {
	t := &tiers{}
	t.Add("--tier-secret-file", c.TierSecretFile, func(path string) (k *files.Kept, err error) {
		t.secrets, err = tier.Open(path)
		return t.secrets.Kept, err
	})
	authorities := func(of **certs.Authorities) func(string) (*files.Kept, error) {
		return func(path string) (k *files.Kept, err error) {
			*of, err = certs.OpenAuthorities(path, now)
			return (*of).Kept, err
		}
	}
	t.Add("--origin-ca", c.OriginCA, authorities(&t.ca))
	t.Add("--tls-client-ca", c.TLSClientCA, authorities(&t.behind))
	if c.OriginKey != "" {
		t.Add("--origin-cert", c.OriginCert, func(path string) (k *files.Kept, err error) {
			t.shown, err = certs.Open([]certs.Pair{{Cert: path, Key: c.OriginKey}}, x509.ExtKeyUsageClientAuth, now)
			return t.shown.Kept, err
		})
	}
	return t, t.Err()
}

// exclusive reports whether releases are told to the edges behind this one alone: where they can prove that they are.
func (t *tiers) exclusive() bool { return t.secrets != nil || t.behind != nil }

// toOrigins is the TLS that is spoken with https origins. Who is shown a certificate, or sent the secret, is a tier, and speaks TLS 1.3.
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

// ask has config ask clients for a certificate, where edges may show one. Who has none goes on as before.
func (t *tiers) ask(config *tls.Config) {
	if t.behind != nil {
		t.behind.Ask(config, tls.VerifyClientCertIfGiven)
	}
}

// amongTiers reports whether what is asked of the origin may be proven with the secret: the origin has told a release, as ours do and edges in front of them, or
// supposed says that it will. Of a stranger's, which --proxy-all allows, a page that shows what it was asked with would tell the secret to anybody.
func (h *handler) amongTiers(supposed bool) bool { return supposed || h.release.Load() != nil }

// proven reports whether a request is of an edge behind this one: by the certificate of its connection, or by the secret.
func (t *tiers) proven(r *request) bool {
	if !t.exclusive() || !r.Tier && !t.secrets.Prove(texts(r.ctx.Request.Header.PeekAll(tier.Field))...) {
		return false
	}
	t.requests.Add(1)
	return true
}

// tiersOnly is the answer to who is no edge behind this one, where only those may ask; nil: it may.
func (h *handler) tiersOnly(r *request) error {
	asksForTiers := r.route == routeRelease || r.route == routeNames
	if !asksForTiers || !h.tiers.exclusive() || r.Tier {
		return nil
	}
	return tier.Refused()
}

// looped answers a request that has been here before, and tells the operator, once: every request would say it again.
func (h *handler) looped() *problem.Problem {
	h.tiers.looped.Do(func() {
		h.log.Warn("a request has come back to this edge: some --origin leads back to it; such requests are answered 508")
	})
	return problem.New(http.StatusLoopDetected, "this request has been here before: some server's origin leads back to it")
}

// tellTier tells an edge behind this one what an origin would: by it that edge colours by itself, and knows which of its answers a new
// release may have changed.
func (h *handler) tellTier(r *request, f found) {
	if r.forwarded || !r.Tier {
		return
	}
	for name, value := range map[string]string{icon.FieldMonochrome: f.entry.Monochrome, icon.FieldRelease: r.releaseOf(f)} {
		if value != "" {
			r.ctx.Response.Header.Set(name, value)
		}
	}
}

// releaseOf is the release that an answer is right for: the one that this edge knew before it looked the answer up, as what a newer one had
// changed was gone by then. What was kept for moments only, since it named another (keep), is told to be of that.
func (r *request) releaseOf(f found) string {
	e := f.entry
	if r.known == "" || e.Release == "" || momentary(e) {
		return e.Release
	}
	return r.known
}
