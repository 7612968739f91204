package listen

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
)

// A reference serves HTTP/2 with net/http's server (the one of golang.org/x/net), for comparison
// with the edge's own. Requests take the same pipeline. It has no protection against floods.
type reference struct {
	http  *http.Server
	conns chan net.Conn
	ended sync.Map // from a connection to the channel that is closed when it ends
	done  chan struct{}
	once  sync.Once
}

// newReference returns nil unless the operator has set --http2-reference.
func newReference(s *Server) *reference {
	if !s.options.Secure.HTTP2Reference {
		return nil
	}
	var speaks http.Protocols
	speaks.SetHTTP2(true)
	speaks.SetUnencryptedHTTP2(true)
	r := &reference{conns: make(chan net.Conn), done: make(chan struct{})}
	r.http = &http.Server{
		Handler: newStreams(s, exchange.H2), Protocols: &speaks, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: h2.MaxStreams},
		MaxHeaderBytes: int(s.options.Capacity.MaxHeader), IdleTimeout: s.options.Capacity.IdleTimeout, ConnState: r.state,
		ErrorLog: slog.NewLogLogger(s.options.Log.Handler(), slog.LevelDebug),
	}
	go r.http.Serve(r)
	return r
}

// serve serves a connection until it ends.
func (r *reference) serve(c net.Conn) {
	over := make(chan struct{})
	r.ended.Store(c, over)
	select {
	case r.conns <- c:
		<-over
	case <-r.done:
		c.Close()
	}
}

// state lets serve return once the server has closed its connection.
func (r *reference) state(c net.Conn, s http.ConnState) {
	if s != http.StateClosed {
		return
	}
	if over, ok := r.ended.LoadAndDelete(c); ok {
		close(over.(chan struct{}))
	}
}

// shutdown waits for the requests in flight, or until ctx ends.
func (r *reference) shutdown(ctx context.Context) error {
	if r == nil {
		return nil
	}
	return r.http.Shutdown(ctx)
}

// Accept returns the next connection that serve was called with. With Close and Addr it makes the
// reference the listener of its own server.
func (r *reference) Accept() (net.Conn, error) {
	select {
	case c := <-r.conns:
		return c, nil
	case <-r.done:
		return nil, net.ErrClosed
	}
}

// Close stops serve and Accept from taking further connections.
func (r *reference) Close() error {
	r.once.Do(func() { close(r.done) })
	return nil
}

// Addr returns an empty address, because the connections come from the edge's own listener.
func (r *reference) Addr() net.Addr { return &net.TCPAddr{} }
