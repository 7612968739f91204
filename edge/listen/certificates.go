package listen

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
	"golang.org/x/time/rate"

	"github.com/iconedge/iconedge/edge/listen/authority"
	"github.com/iconedge/iconedge/internal/certs"
	"github.com/iconedge/iconedge/internal/files"
)

// A secureSource provides the TLS certificates, from files, from an ACME authority, or from both,
// and the session tickets.
type secureSource struct {
	current atomic.Pointer[certificates]
	manager autocert.Manager // of all certificates from the authority, so that each is renewed once
	keeper  authority.Keeper // of the certificates of exact hosts
	secrets *secretFiles
	log     *slog.Logger
	m       Observer
}

// certificates are those in use at one time.
type certificates struct {
	files *certs.Store // nil: all certificates come from the authority
	hosts *acmeHosts   // nil: all certificates come from files
}

func newSecureSource(c Secure, log *slog.Logger, m Observer, now func() time.Time) (s *secureSource, err error) {
	s = &secureSource{log: log, m: m}
	if s.secrets, err = c.openTickets(now); err != nil {
		return nil, err
	}
	s.manager = autocert.Manager{Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(c.ACMEDir), HostPolicy: s.policy, Email: c.ACMEEmail}
	s.manager.Client = &acme.Client{DirectoryURL: cmp.Or(c.ACMEDirectory, autocert.DefaultACMEDirectory),
		HTTPClient: &http.Client{Transport: &authority.Exchanges{Next: http.DefaultTransport, Log: log, Observer: m}}}
	s.keeper = authority.Keeper{Hosts: s.hosts, Get: s.manager.GetCertificate, Lock: c.lockHost, Log: log, Observer: m}
	return s, s.use(c, time.Now())
}

// lockHost locks the certificate of a host in the folder that edges may share. Where the folder has
// no locks, each edge orders for itself.
func (c *Secure) lockHost(host string) (unlock func(), ok bool) {
	os.MkdirAll(c.ACMEDir, 0o700) // the first order would create it; an error shows in Lock
	f, err := files.Lock(filepath.Join(c.ACMEDir, host+".lock"))
	if errors.Is(err, files.ErrLocked) {
		return nil, false
	}
	if err != nil {
		return func() {}, true
	}
	return func() { f.Close() }, true
}

// hosts returns the hosts that have a certificate of their own from the authority.
func (s *secureSource) hosts() []string {
	if hosts := s.current.Load().hosts; hosts != nil {
		return slices.Sorted(maps.Keys(hosts.exact))
	}
	return nil
}

// use replaces the certificates by those of c. If a file can't be used, the previous ones stay.
func (s *secureSource) use(c Secure, now time.Time) error {
	next := &certificates{}
	if len(c.TLSCerts) > 0 {
		var err error
		if next.files, err = certs.Open(c.pairs(), x509.ExtKeyUsageServerAuth, now); err != nil {
			return err
		}
		s.m.Certificates(next.files.Ends(), true)
	}
	if len(c.ACMEHosts) > 0 {
		next.hosts = newACMEHosts(c.ACMEHosts)
		if before := s.current.Load(); before != nil && before.hosts != nil {
			next.hosts.orders = before.hosts.orders
		}
	}
	s.current.Store(next)
	return nil
}

// policy is an autocert.HostPolicy.
func (s *secureSource) policy(ctx context.Context, name string) error {
	if hosts := s.current.Load().hosts; hosts != nil {
		return hosts.policy(ctx, name)
	}
	return errNoACME
}

var errNoACME = errors.New("no host has a certificate by ACME")

// run reads the files again when they change, or at once on a signal. Files that can't be used
// change nothing: run logs an error, and the previous content stays in use.
func (s *secureSource) run(ctx context.Context, signals <-chan os.Signal) {
	told := files.Spread(ctx, signals, 2)
	go s.keeper.Run(ctx)
	go s.secrets.Run(ctx, told[0], s.log)
	s.watch(ctx, told[1])
}

// watch does this for the certificates.
func (s *secureSource) watch(ctx context.Context, told <-chan os.Signal) {
	tick := time.NewTicker(files.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-told:
			if of := s.current.Load().files; of != nil {
				s.report(of, of.Reload(time.Now()))
			}
		case <-tick.C:
			if of := s.current.Load().files; of != nil {
				if did, err := of.Check(time.Now()); did {
					s.report(of, err)
				}
			}
		}
	}
}

func (s *secureSource) report(of *certs.Store, err error) {
	s.m.Certificates(of.Ends(), err == nil)
	if err != nil {
		s.log.Error("unreadable certificates; the previous ones stay in use", "err", err)
		return
	}
	s.log.Info("certificates read", "end", of.Ends())
}

// config returns the TLS configuration for TCP: TLS 1.2 with ciphers that have no known weakness,
// and TLS 1.3. Keys of session tickets change each day, also those that crypto/tls makes if the
// operator has given no secret for them.
func (s *secureSource) config() *tls.Config {
	c := &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1", acme.ALPNProto}, // the last one is for the authority
		// Responses are short: small records would cost calls and save nothing.
		DynamicRecordSizingDisabled: true,
		CipherSuites: []uint16{ // for TLS 1.2; crypto/tls chooses those of TLS 1.3 itself
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
	}
	c.GetCertificate = s.certificate
	s.secrets.tickets.Use(c)
	return c
}

// certificate selects the certificate for a client: that of a host that ACME names exactly, then
// one of the files for the server name, then that of a host below a wildcard of ACME, then the
// first of the files.
func (s *secureSource) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	c, name := s.current.Load(), strings.ToLower(hello.ServerName)
	switch {
	case c.hosts == nil:
		return c.files.Certificate(hello)
	case c.files == nil, c.hosts.exact[name], slices.Contains(hello.SupportedProtos, acme.ALPNProto):
		return s.manager.GetCertificate(hello)
	case c.hosts.below(name) && !c.files.Names(name):
		return s.manager.GetCertificate(hello)
	}
	return c.files.Certificate(hello)
}

// acmeHosts are the hosts whose certificates come from an ACME authority. An authority that checks
// a TLS connection (RFC 8737) grants no certificate for a wildcard, so each name below
// *.example.org gets a certificate of its own at its first handshake.
type acmeHosts struct {
	exact map[string]bool
	zones []string // .example.org
	// orders limits the certificates for names below wildcards, because clients choose these names,
	// and Let's Encrypt grants 50 certificates a week for a registered domain.
	orders *rate.Limiter
}

func newACMEHosts(names []string) *acmeHosts {
	h := &acmeHosts{exact: map[string]bool{}, orders: rate.NewLimiter(rate.Every(4*time.Hour), 8)}
	for _, name := range names {
		if zone, wild := strings.CutPrefix(name, "*."); wild {
			h.zones = append(h.zones, "."+zone)
		} else {
			h.exact[name] = true
		}
	}
	return h
}

// below reports whether a name is below a wildcard, at any depth.
func (h *acmeHosts) below(name string) bool {
	for _, zone := range h.zones {
		if rest, ok := strings.CutSuffix(name, zone); ok && rest != "" && !strings.HasPrefix(rest, ".") {
			return true
		}
	}
	return false
}

// policy decides about a new certificate. autocert does not call it for names that have one.
func (h *acmeHosts) policy(_ context.Context, name string) error {
	switch {
	case h.exact[name]:
		return nil
	case !h.below(name):
		return fmt.Errorf("host %q is not one of the hosts of ACME", name)
	case !h.orders.Allow():
		return fmt.Errorf("host %q: too many new names below wildcards; the next certificate is possible in some hours", name)
	}
	return nil
}
