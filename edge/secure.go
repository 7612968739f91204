package edge

import (
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/certs"
	"github.com/iconedge/iconedge/hostport"
)

const handshakeTimeout = 10 * time.Second

// Secure configures TLS. Without TLSListen the edge serves no TLS.
type Secure struct {
	TLSListen     string   // address for HTTP/1.1 and HTTP/2 on TCP, and for HTTP/3 on UDP
	TLSCerts      []string // PEM files of certificates
	TLSKeys       []string // PEM files of their keys, in the same order
	TLSRedirect   bool     // the plain listener redirects clients to https
	ACMEHosts     []string // names whose certificates come from an ACME authority, not from files
	ACMEDir       string   // folder that stores these certificates
	ACMEDirectory string   // URL of the authority's directory; empty: Let's Encrypt
	ACMEEmail     string   // contact address for the authority

	HTTP2Reference bool // serve HTTP/2 with net/http's server instead of the edge's own

	TLSListener net.Listener   // serves TLS instead of a listener on TLSListen
	QUICSocket  net.PacketConn // serves HTTP/3 next to TLSListener; nil: no HTTP/3
}

func (c *Secure) flags(fs *flag.FlagSet) {
	fs.StringVar(&c.TLSListen, "tls-listen", "", "`address` for TLS, HOST:PORT: HTTP/1.1 and HTTP/2 on TCP, HTTP/3 on UDP (default none)")
	fs.Var(repeat(&c.TLSCerts, asWritten), "tls-cert", "`file` of a certificate (PEM: the certificate first, then its intermediates); may be repeated; read again when it changes")
	fs.Var(repeat(&c.TLSKeys, asWritten), "tls-key", "`file` of its key (PEM); as many as --tls-cert, in the same order")
	fs.BoolVar(&c.TLSRedirect, "tls-redirect", false, "redirect requests on the plain listener to https, except health checks and CORS preflight requests")
	fs.Var(repeat(&c.ACMEHosts, inLowerCase), "acme-host", "host `NAME` for which the edge gets a certificate from an authority (ACME, TLS-ALPN challenge), instead of --tls-cert; may be repeated")
	fs.StringVar(&c.ACMEDir, "acme-dir", "", "`folder` that stores these certificates")
	fs.StringVar(&c.ACMEDirectory, "acme-directory", "", "`URL` of the authority's directory (default Let's Encrypt's)")
	fs.StringVar(&c.ACMEEmail, "acme-email", "", "contact email `address` for the authority")
	fs.BoolVar(&c.HTTP2Reference, "http2-reference", false, "serve HTTP/2 with the server of Go's library, for comparison: it costs more, and has no protection against floods")
}

// secured reports whether the edge serves TLS.
func (c *Secure) secured() bool { return c.TLSListen != "" || c.TLSListener != nil }

// validate returns every error of the configuration. It reads the certificates, to report those
// that can't be used.
func (c *Secure) validate(now time.Time) error {
	if !c.secured() {
		if len(c.TLSCerts)+len(c.TLSKeys)+len(c.ACMEHosts) > 0 || c.TLSRedirect {
			return errors.New("--tls-cert, --tls-key, --tls-redirect and --acme-host require --tls-listen")
		}
		return nil
	}
	var errs []error
	if c.TLSListen != "" && !hostport.Valid(c.TLSListen) {
		errs = append(errs, errors.New("--tls-listen must be HOST:PORT"))
	}
	switch acme := len(c.ACMEHosts) > 0; {
	case len(c.TLSCerts) != len(c.TLSKeys):
		errs = append(errs, fmt.Errorf("there are %d --tls-cert and %d --tls-key: each certificate needs its key", len(c.TLSCerts), len(c.TLSKeys)))
	case acme == (len(c.TLSCerts) > 0):
		errs = append(errs, errors.New("--tls-listen requires either --tls-cert and --tls-key, or --acme-host"))
	case acme && c.ACMEDir == "":
		errs = append(errs, errors.New("--acme-host requires --acme-dir: authorities limit the certificates per week"))
	case !acme:
		_, err := certs.Open(c.pairs(), x509.ExtKeyUsageServerAuth, now)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (c *Secure) pairs() (all []certs.Pair) {
	for i := range c.TLSCerts {
		all = append(all, certs.Pair{Cert: c.TLSCerts[i], Key: c.TLSKeys[i]})
	}
	return all
}

// A secured has the TLS and QUIC listeners of an edge, with their certificates. It is nil without
// TLS.
type secured struct {
	source *secureSource
	tls    *secureListener
	quic   *quicServer // nil: no HTTP/3
	log    *slog.Logger
}

// openSecure reads the certificates and listens on TCP, and on UDP at the same port. It returns nil
// if cfg has no TLS.
func openSecure(ctx context.Context, h *handler, cfg Config) (*secured, error) {
	if !cfg.secured() {
		return nil, nil
	}
	source, err := newSecureSource(cfg.Secure, cfg.Log, h.metrics, time.Now())
	if err != nil {
		return nil, fmt.Errorf("opening TLS: %w", err)
	}
	ln, socket := cfg.TLSListener, cfg.QUICSocket
	if ln == nil {
		if ln, socket, err = listenBoth(ctx, cfg.TLSListen); err != nil {
			return nil, fmt.Errorf("listening for TLS: %w", err)
		}
	}
	s := &secured{source: source, log: cfg.Log}
	config := source.config()
	h.tiers.Ask(config)
	if socket != nil {
		if s.quic, err = newQUIC(h, socket, config.Clone(), cfg); err != nil {
			ln.Close()
			return nil, fmt.Errorf("listening for QUIC: %w", err)
		}
		_, port, _ := net.SplitHostPort(socket.LocalAddr().String())
		h.altSvc = fmt.Sprintf(`h3=":%s"; ma=86400`, port)
	}
	if cfg.TLSRedirect {
		h.redirect = "https://%s" + portOf(ln.Addr())
	}
	s.tls = newSecureListener(ln, h, config)
	return s, nil
}

// listenTries is how many ports listenBoth tries before it gives up, if the system chooses the
// port.
const listenTries = 20

// listenBoth listens on TCP and on UDP at one address. If its port is 0, the system's choice for
// TCP may be taken on UDP; listenBoth then tries another.
func listenBoth(ctx context.Context, address string) (net.Listener, net.PacketConn, error) {
	var lc net.ListenConfig
	for try := 1; ; try++ {
		ln, err := lc.Listen(ctx, "tcp", address)
		if err != nil {
			return nil, nil, err
		}
		host, _, _ := net.SplitHostPort(address)
		_, port, _ := net.SplitHostPort(ln.Addr().String())
		socket, err := lc.ListenPacket(ctx, "udp", net.JoinHostPort(host, port))
		if err == nil {
			return ln, socket, nil
		}
		ln.Close()
		if !strings.HasSuffix(address, ":0") || try == listenTries {
			return nil, nil, err
		}
	}
}

// serve starts to serve. The error that ends a listener goes to broken.
func (s *secured) serve(server *fasthttp.Server, broken chan<- error) {
	if s == nil {
		return
	}
	s.log.Info("listening", "address", s.tls.Addr().String(), "for", "tls")
	go func() { broken <- s.tls.serve(server) }()
	if s.quic != nil {
		go func() { broken <- s.quic.Serve() }()
	}
}

// shutdown stops the TLS listener and drains HTTP/3. The servers of HTTP/1.1 and HTTP/2 drain their
// own connections.
func (s *secured) shutdown(ctx context.Context) error {
	if s == nil {
		return nil
	}
	s.tls.Close()
	if s.quic == nil {
		return nil
	}
	return s.quic.Shutdown(ctx)
}

// Close closes the listeners.
func (s *secured) Close() error {
	if s == nil {
		return nil
	}
	err := s.tls.Close()
	if s.quic != nil {
		err = errors.Join(err, s.quic.Close())
	}
	return err
}

// run reloads the certificate files when they change, or on a signal, until ctx ends.
func (s *secured) run(ctx context.Context, told <-chan os.Signal) {
	if s != nil {
		s.source.run(ctx, told)
	}
}
