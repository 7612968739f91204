package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/iconedge/iconedge/edge/access"
	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h1"
	"github.com/iconedge/iconedge/edge/h2"
	"github.com/iconedge/iconedge/edge/h3"
	"github.com/iconedge/iconedge/edge/listen/authority"
	"github.com/iconedge/iconedge/edge/observe"
)

// A Handler answers the requests of all listeners.
type Handler interface {
	h1.Answerer // the hit path of HTTP/1.1
	h2.Answerer // the hit path of HTTP/2
	h3.Answerer // the hit path of HTTP/3

	// ServeRequest answers a request. ctx has it in the form of fasthttp, and gets the response.
	ServeRequest(ctx *fasthttp.RequestCtx, x *exchange.Request)
	// ServeRefused answers a request that was not read to its end, with the status that the
	// protocol refused it with.
	ServeRefused(ctx *fasthttp.RequestCtx, x *exchange.Request, status int)
	// ServeUnreadable answers a request of HTTP/1.1 that could not be parsed because of err.
	ServeUnreadable(ctx *fasthttp.RequestCtx, x *exchange.Request, err error)
}

// An Observer records what happens on the listeners.
type Observer interface {
	// HandshakeDone counts a TLS handshake over TCP.
	HandshakeDone(err error)
	// Certificates records when the first of the certificates in use expires, and whether they are
	// those of their files.
	Certificates(end time.Time, ok bool)
	authority.Observer
}

// Options configures a Server.
type Options struct {
	Capacity Capacity
	Memory   *bodies.Budget // of the clients; see Capacity.Memory
	Secure   Secure
	MaxBody  int  // bytes of a request's body that is held in memory
	Uploads  bool // the handler reads longer bodies while they arrive; otherwise they are refused
	Tunnels  bool // announce extended CONNECT
	Clients  access.Clients
	// AskCertificate makes a TLS configuration request client certificates, if edges may
	// authenticate with one.
	AskCertificate func(*tls.Config)
	Now            func() time.Time // by its date the keys of session tickets change
	Observer       Observer
	Log            *slog.Logger
	Life           context.Context // ends when the edge has drained
}

// A Server serves the public listeners of an edge: without TLS, with TLS, and QUIC.
type Server struct {
	Handler
	options   Options
	socks     *Sockets
	conns     *conns
	streams   *h2.Server
	reference *reference // serves HTTP/2 instead of streams; nil: streams does
	http1     *fasthttp.Server
	looped    *looped         // serves connections on event loops; nil: goroutines serve all
	source    *secureSource   // certificates; nil: no TLS
	tls       *secureListener // nil: no TLS
	quic      *quicServer     // nil: no HTTP/3
	// accepting is the acceptance of connections for loops, which goes on behind the end of a
	// listener for those in its queue.
	accepting sync.WaitGroup
}

// New returns a server that answers the requests from sockets by h. It reads the certificates.
func New(o Options, sockets *Sockets, h Handler) (*Server, error) {
	s := &Server{Handler: h, options: o, socks: sockets, conns: newConns(o)}
	s.streams = h2.New(h, s, h2.Config{Idle: o.Capacity.IdleTimeout, Receive: o.Capacity.RequestTimeout,
		Send: o.Capacity.AnswerTimeout, MaxBody: o.MaxBody, Uploads: o.Uploads, MaxList: int(o.Capacity.MaxHeader),
		Tunnels: o.Tunnels, Bodies: s.conns.limits.Bodies})
	s.reference = newReference(s)
	s.http1 = newHTTP1(s)
	if err := s.openLoops(); err != nil {
		return nil, err
	}
	if sockets.TLS == nil {
		return s, nil
	}
	var err error
	if s.source, err = newSecureSource(o.Secure, o.Log, o.Observer, o.Now); err != nil {
		return nil, fmt.Errorf("opening TLS: %w", err)
	}
	config := s.source.config()
	o.AskCertificate(config)
	if sockets.QUIC != nil {
		if s.quic, err = newQUIC(s, sockets.QUIC, config.Clone()); err != nil {
			return nil, fmt.Errorf("listening for QUIC: %w", err)
		}
	}
	s.tls = newSecureListener(sockets.TLS, s, config)
	return s, nil
}

// Stats returns the state of the listeners, for metrics.
func (s *Server) Stats() observe.ConnStats { return s.conns.stats() }

// StreamStats returns the counts of the HTTP/2 server.
func (s *Server) StreamStats() h2.Stats { return s.streams.Stats() }

// Serve serves all listeners. The error that ends one of them goes to broken, which needs room for
// three.
func (s *Server) Serve(broken chan<- error) {
	rooms := []*bodies.Budget{s.conns.limits.Bodies}
	if s.quic != nil {
		rooms = append(rooms, s.quic.door.charge.room)
	}
	if !s.options.Capacity.Neighbours {
		go returnMemory(s.options.Life, rooms...)
	}
	if s.looped != nil {
		s.looped.run()
	}
	if s.looped != nil && s.looped.clear != nil {
		s.accepting.Go(func() { broken <- serveEach(s.looped.clear, s.looped.serve) })
	} else {
		go func() { broken <- s.http1.Serve(listener{s.socks.Public, s, nil}) }()
	}
	s.options.Log.Info("listening", "address", s.socks.Public.Addr().String(), "for", "public")
	if s.tls != nil {
		s.options.Log.Info("listening", "address", s.tls.Addr().String(), "for", "tls")
		s.accepting.Go(func() { broken <- s.tls.serve(s.http1) })
	}
	if s.quic != nil {
		go func() { broken <- s.quic.Serve() }()
	}
}

// Reload reads the files of certificates and of the secret of session tickets again when they
// change, or on a signal, until ctx ends.
func (s *Server) Reload(ctx context.Context, signals <-chan os.Signal) {
	if s.source != nil {
		s.source.run(ctx, signals)
	}
}

// Uncertified returns the hosts that still wait for a certificate from their ACME authority.
func (s *Server) Uncertified() []string {
	if s.source == nil {
		return nil
	}
	return s.source.keeper.Missing()
}

// Secured reports whether the server serves TLS.
func (s *Server) Secured() bool { return s.source != nil }

// Certify makes the certificates of c those of all handshakes from now on. It reads the files; if
// one can't be used, nothing changes.
func (s *Server) Certify(c Secure) error {
	c.TLSListener = s.socks.TLS // is open, whatever its address
	c.TLSTicketSecretFile = ""  // is watched by itself, and none of the certificates
	if err := c.Validate(time.Now()); err != nil {
		return err
	}
	return s.source.use(c, time.Now())
}

// Close closes the listeners at once.
func (s *Server) Close() error {
	err := s.socks.Public.Close()
	if s.tls != nil {
		err = errors.Join(err, s.tls.Close())
	}
	if s.quic != nil {
		err = errors.Join(err, s.quic.Close())
	}
	return err
}
