package listen

import (
	"context"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net"
	"runtime"
	"strings"
	"time"

	"github.com/iconedge/iconedge/edge/netloop"
	"github.com/iconedge/iconedge/edge/repeated"
	"github.com/iconedge/iconedge/internal/certs"
	"github.com/iconedge/iconedge/internal/files"
	"github.com/iconedge/iconedge/internal/hostport"
)

const handshakeTimeout = 10 * time.Second

// Addresses configures where the edge listens without TLS. It uses Listener and AdminListener, if
// they are set, and does not listen on the addresses.
type Addresses struct {
	Listen      string // public address, HOST:PORT
	AdminListen string // address of health, readiness, metrics and purges
	ReusePort   bool   // each event loop has a socket of its own at the public addresses

	Listener, AdminListener net.Listener
}

// Flags registers the flags of the addresses.
func (a *Addresses) Flags(fs *flag.FlagSet) {
	fs.StringVar(&a.Listen, "listen", ":8080", "public `address`, HOST:PORT")
	fs.StringVar(&a.AdminListen, "admin-listen", "127.0.0.1:8082", "`address` of /healthz, /readyz, /metrics and /purge; keep it private")
	fs.BoolVar(&a.ReusePort, "reuse-port", false, "on Linux, open a socket for each event loop at --listen and --tls-listen "+
		"(SO_REUSEPORT), so that the system distributes connections, by a hash of their addresses and thus less evenly; "+
		"and other processes of this user may listen there too")
}

// Validate checks the form of the addresses. Sockets that were opened already are one for all
// loops.
func (a *Addresses) Validate(loop Loop, given bool) error {
	var errs []error
	switch {
	case !a.ReusePort:
	case runtime.GOOS != "linux" || loop == LoopOff:
		errs = append(errs, errors.New("--reuse-port requires Linux and --loop on, because each event loop gets a socket of its own"))
	case given:
		errs = append(errs, errors.New("--reuse-port can't be used with sockets that systemd passes in: the edge must open them itself"))
	}
	for _, f := range []struct{ flag, address string }{{"--listen", a.Listen}, {"--admin-listen", a.AdminListen}} {
		if f.address != "" {
			errs = append(errs, hostport.Check(f.flag, f.address))
		}
	}
	return errors.Join(errs...)
}

// Open opens the public socket, unless it is given.
func (a *Addresses) Open(ctx context.Context) (net.Listener, error) {
	if a.Listener != nil {
		return a.Listener, nil
	}
	l, err := a.listen(ctx, a.Listen)
	if err != nil {
		return nil, hostport.Explain("--listen", a.Listen, err)
	}
	return l, nil
}

// listen listens on an address, by a socket for each event loop if they do not share one.
func (a *Addresses) listen(ctx context.Context, address string) (net.Listener, error) {
	if !a.ReusePort {
		return new(net.ListenConfig).Listen(ctx, "tcp", address)
	}
	all, err := netloop.OpenEach(ctx, address, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	return &several{all[0], all}, nil
}

// Secure configures TLS. Without TLSListen the edge serves no TLS.
type Secure struct {
	TLSListen     string   // address for HTTP/1.1 and HTTP/2 on TCP, and for HTTP/3 on UDP
	TLSCerts      []string // PEM files of certificates
	TLSKeys       []string // PEM files of their keys, in the same order
	TLSRedirect   bool     // the plain listener redirects clients to https
	ACMEHosts     []string // names whose certificates come from an ACME authority; also *.NAME
	ACMEDir       string   // folder that stores these certificates
	ACMEDirectory string   // URL of the authority's directory; empty: Let's Encrypt
	ACMEEmail     string   // contact address for the authority

	// TLSTicketSecretFile has the secret of the session tickets that edges share; empty: each edge
	// makes keys of its own.
	TLSTicketSecretFile string

	HTTP3          HTTP3
	HTTP2Reference bool // serve HTTP/2 with net/http's server instead of the edge's own

	TLSListener net.Listener   // serves TLS instead of a listener on TLSListen
	QUICSocket  net.PacketConn // serves HTTP/3 next to TLSListener; closed if HTTP3 is off
}

func (c *Secure) Flags(fs *flag.FlagSet) {
	fs.StringVar(&c.TLSListen, "tls-listen", "", "`address` for TLS, HOST:PORT: HTTP/1.1 and HTTP/2 on TCP, HTTP/3 on UDP (default none)")
	c.HTTP3.flag(fs)
	fs.Var(repeated.Flag(&c.TLSCerts, repeated.AsWritten), "tls-cert", "`file` of a certificate (PEM: the certificate "+
		"first, then its intermediates); may be repeated; read again when it changes")
	fs.Var(repeated.Flag(&c.TLSKeys, repeated.AsWritten), "tls-key", "`file` of its key (PEM); as many as --tls-cert, in the same order")
	fs.BoolVar(&c.TLSRedirect, "tls-redirect", false, "redirect requests on the plain listener to https, except "+
		"health checks and CORS preflight requests")
	fs.Var(repeated.Flag(&c.ACMEHosts, repeated.InLowerCase), "acme-host", "host `NAME` for which the edge gets a "+
		"certificate from an authority (ACME, TLS-ALPN challenge); below *.NAME each host gets one at its first "+
		"handshake, about 50 a week; may be repeated")
	fs.StringVar(&c.ACMEDir, "acme-dir", "", "`folder` that stores these certificates")
	fs.StringVar(&c.ACMEDirectory, "acme-directory", "", "`URL` of the authority's directory (default Let's Encrypt's)")
	fs.StringVar(&c.ACMEEmail, "acme-email", "", "contact email `address` for the authority")
	fs.StringVar(&c.TLSTicketSecretFile, "tls-ticket-secret-file", "", "`file` of a secret (32 bytes at least) from "+
		"which the edge derives the keys of session tickets, new ones each day, so that edges with the same secret "+
		"resume each other's sessions; a second line is a further secret whose tickets the edge accepts; read again "+
		"when it changes (default none: each edge has random keys)")
	fs.BoolVar(&c.HTTP2Reference, "http2-reference", false, "serve HTTP/2 with the server of Go's library, for "+
		"comparison: it costs more, and has no protection against floods")
}

// Enabled reports whether the edge serves TLS.
func (c *Secure) Enabled() bool { return c.TLSListen != "" || c.TLSListener != nil }

// Validate returns every error of the configuration. It reads the certificates and the secret of
// the session tickets, to report those that can't be used.
func (c *Secure) Validate(now time.Time) error {
	if !c.Enabled() {
		if len(c.TLSCerts)+len(c.TLSKeys)+len(c.ACMEHosts) > 0 || c.TLSRedirect || c.TLSTicketSecretFile != "" {
			return errors.New("--tls-cert, --tls-key, --tls-redirect, --tls-ticket-secret-file and --acme-host require --tls-listen")
		}
		if c.HTTP3 == HTTP3On {
			return errors.New("--http3 on requires --tls-listen: HTTP/3 has no form without TLS")
		}
		return nil
	}
	var errs []error
	if c.TLSListen != "" {
		errs = append(errs, hostport.Check("--tls-listen", c.TLSListen))
	}
	switch {
	case len(c.TLSCerts) != len(c.TLSKeys):
		errs = append(errs, fmt.Errorf("there are %d --tls-cert and %d --tls-key: each certificate needs its key",
			len(c.TLSCerts), len(c.TLSKeys)))
	case len(c.ACMEHosts)+len(c.TLSCerts) == 0:
		errs = append(errs, errors.New("--tls-listen requires --tls-cert and --tls-key, or --acme-host"))
	case len(c.ACMEHosts) > 0 && c.ACMEDir == "":
		errs = append(errs, errors.New("--acme-host requires --acme-dir: authorities limit the certificates per week"))
	case len(c.TLSCerts) > 0:
		_, err := certs.Open(c.pairs(), x509.ExtKeyUsageServerAuth, now)
		errs = append(errs, err)
	}
	_, err := c.openTickets(time.Now)
	return errors.Join(append(errs, err)...)
}

// secretFiles watches the file of the secret that session tickets need.
type secretFiles struct {
	files.Set
	tickets *certs.Tickets // nil: crypto/tls makes the keys
}

// openTickets reads the secret of the session tickets, if there is one.
func (c *Secure) openTickets(now func() time.Time) (*secretFiles, error) {
	f := new(secretFiles)
	f.Add("--tls-ticket-secret-file", c.TLSTicketSecretFile, func(path string) (k *files.Watched, err error) {
		f.tickets, err = certs.OpenTickets(path, now)
		return f.tickets.Watched, err
	})
	return f, f.Err()
}

func (c *Secure) pairs() (all []certs.Pair) {
	for i := range c.TLSCerts {
		all = append(all, certs.Pair{Cert: c.TLSCerts[i], Key: c.TLSKeys[i]})
	}
	return all
}

// Sockets are the open sockets of an edge's public listeners.
type Sockets struct {
	Public net.Listener
	TLS    net.Listener   // nil: no TLS
	QUIC   net.PacketConn // at the same port as TLS; nil: no HTTP/3
	Offer  *Offer         // of HTTP/3; a Server makes it depend on the room that is left
}

// Open opens the public socket, unless it is given, and the sockets of c.
func (c *Secure) Open(ctx context.Context, a *Addresses) (s *Sockets, err error) {
	s = &Sockets{TLS: c.TLSListener}
	if s.Public, err = a.Open(ctx); err != nil {
		return nil, err
	}
	s.Public = CloseOnce(s.Public)
	if err := c.open(ctx, a, s); err != nil {
		s.Public.Close()
		return nil, hostport.Explain("--tls-listen", c.TLSListen, err)
	}
	if s.TLS != nil {
		s.TLS = CloseOnce(s.TLS)
	}
	s.Offer = newOffer(s.QUIC, c.HTTP3)
	return s, nil
}

// open opens the sockets for TLS and for QUIC, unless they are given. It closes a socket for QUIC
// that is given for nothing.
func (c *Secure) open(ctx context.Context, a *Addresses, s *Sockets) (err error) {
	off := c.HTTP3 == HTTP3Off
	switch {
	case s.TLS != nil || !c.Enabled():
		s.QUIC = c.QUICSocket
	case off:
		s.TLS, err = a.listen(ctx, c.TLSListen)
	default:
		s.TLS, s.QUIC, err = a.listenBoth(ctx, c.TLSListen)
	}
	if off && c.QUICSocket != nil {
		s.QUIC = nil
		c.QUICSocket.Close()
	}
	return err
}

// Close closes the sockets.
func (s *Sockets) Close() error {
	err := s.Public.Close()
	if s.TLS != nil {
		err = errors.Join(err, s.TLS.Close())
	}
	if s.QUIC != nil {
		err = errors.Join(err, s.QUIC.Close())
	}
	return err
}

// Ports returns the ports of the public listeners, of which a Unix socket has none, and the default
// ports of HTTP, by which proxies before the edge are reached.
func (s *Sockets) Ports() map[string]bool {
	ports := map[string]bool{"80": true, "443": true}
	for _, ln := range []net.Listener{s.Public, s.TLS} {
		if ln == nil {
			continue
		}
		if _, port, err := net.SplitHostPort(ln.Addr().String()); err == nil {
			ports[port] = true
		}
	}
	return ports
}

// Redirect returns the format of the https URL to which requests without TLS are redirected, with
// %s for the host; empty: no redirect.
func (c *Secure) Redirect(s *Sockets) string {
	if !c.TLSRedirect {
		return ""
	}
	return "https://%s" + portOf(s.TLS.Addr())
}

// listenTries is how many ports listenBoth tries before it gives up, if the system chooses the
// port.
const listenTries = 20

// listenBoth listens on TCP and on UDP at one address. If its port is 0, the system's choice for
// TCP may be taken on UDP; listenBoth then tries another.
func (a *Addresses) listenBoth(ctx context.Context, address string) (net.Listener, net.PacketConn, error) {
	for try := 1; ; try++ {
		ln, err := a.listen(ctx, address)
		if err != nil {
			return nil, nil, err
		}
		host, _, _ := net.SplitHostPort(address)
		_, port, _ := net.SplitHostPort(ln.Addr().String())
		socket, err := new(net.ListenConfig).ListenPacket(ctx, "udp", net.JoinHostPort(host, port))
		if err == nil {
			return ln, socket, nil
		}
		ln.Close()
		if !strings.HasSuffix(address, ":0") || try == listenTries {
			return nil, nil, err
		}
	}
}
