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

// Secure is what an operator can set about TLS. Without TLSListen there is none.
type Secure struct {
	TLSListen     string   // address for TLS over TCP (HTTP/1.1 and 2), and for QUIC over UDP (HTTP/3)
	TLSCerts      []string // PEM files of certificates, and in the same order
	TLSKeys       []string // of their keys
	TLSRedirect   bool     // the plain listener sends clients to the address of TLS
	ACMEHosts     []string // names for which certificates are got, instead of files
	ACMEDir       string   // folder that keeps them
	ACMEDirectory string   // URL of the authority; empty: Let's Encrypt
	ACMEEmail     string   // that the authority may write to

	HTTP2Reference bool // HTTP/2 by net/http's server instead of our own

	TLSListener net.Listener   // used instead of listening on TLSListen, with
	QUICSocket  net.PacketConn // nil: no HTTP/3
}

func (c *Secure) flags(fs *flag.FlagSet) {
	fs.StringVar(&c.TLSListen, "tls-listen", "", "`address` for TLS, HOST:PORT: HTTP/1.1 and HTTP/2, and on UDP HTTP/3 (default none)")
	fs.Var(repeat(&c.TLSCerts, asWritten), "tls-cert", "`file` of a certificate (PEM, what it is signed by behind it); may be repeated; read again when it changes")
	fs.Var(repeat(&c.TLSKeys, asWritten), "tls-key", "`file` of its key (PEM); as many as --tls-cert, in the same order")
	fs.BoolVar(&c.TLSRedirect, "tls-redirect", false, "send who comes to the plain listener to TLS, health checks apart")
	fs.Var(repeat(&c.ACMEHosts, inLowerCase), "acme-host", "`NAME` for which a certificate is got from an authority (ACME, by TLS-ALPN), instead of --tls-cert; may be repeated")
	fs.StringVar(&c.ACMEDir, "acme-dir", "", "`folder` that keeps these certificates")
	fs.StringVar(&c.ACMEDirectory, "acme-directory", "", "`URL` of the authority's directory (default Let's Encrypt's)")
	fs.StringVar(&c.ACMEEmail, "acme-email", "", "`address` that the authority may write to")
	fs.BoolVar(&c.HTTP2Reference, "http2-reference", false, "serve HTTP/2 by the server of Go's library, to compare with: it costs more, and stands no floods")
}

// secured reports whether there is to be TLS.
func (c *Secure) secured() bool { return c.TLSListen != "" || c.TLSListener != nil }

// validate reports what is wrong, certificates that can't be used among it.
func (c *Secure) validate(now time.Time) error {
	if !c.secured() {
		if len(c.TLSCerts)+len(c.TLSKeys)+len(c.ACMEHosts) > 0 || c.TLSRedirect {
			return errors.New("--tls-cert, --tls-key, --tls-redirect and --acme-host want --tls-listen")
		}
		return nil
	}
	var errs []error
	if c.TLSListen != "" && !hostport.Valid(c.TLSListen) {
		errs = append(errs, errors.New("--tls-listen must be HOST:PORT"))
	}
	switch acme := len(c.ACMEHosts) > 0; {
	case len(c.TLSCerts) != len(c.TLSKeys):
		errs = append(errs, fmt.Errorf("there are %d --tls-cert and %d --tls-key: they come in pairs", len(c.TLSCerts), len(c.TLSKeys)))
	case acme == (len(c.TLSCerts) > 0):
		errs = append(errs, errors.New("--tls-listen wants --tls-cert and --tls-key, or --acme-host"))
	case acme && c.ACMEDir == "":
		errs = append(errs, errors.New("--acme-host wants --acme-dir: authorities give only so many certificates a week"))
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

// A secured is all that TLS adds to an edge. A nil one adds nothing.
type secured struct {
	source *secureSource
	tls    *secureListener
	quic   *quicServer // nil: no HTTP/3
	log    *slog.Logger
}

// openSecure reads the certificates and listens, if cfg says so: on TCP, and on UDP at the same port.
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
	h.tiers.ask(config)
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

// listenTries is how often a free port is looked for that is free on UDP as well.
const listenTries = 20

// listenBoth listens on TCP and on UDP at one address.
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

// serve begins to serve; what ends it goes to broken.
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

// shutdown ends HTTP/3; the connections of TCP belong to their servers.
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

// run keeps the certificates new.
func (s *secured) run(ctx context.Context, told <-chan os.Signal) {
	if s != nil {
		s.source.run(ctx, told)
	}
}
