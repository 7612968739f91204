package edge

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/iconedge/iconedge/edge/exchange"
	"github.com/iconedge/iconedge/edge/h2"
)

// A reference serves HTTP/2 by net/http's server, which is x/net's: what the loop of our own is compared with. It answers by the same steps, and
// is no match for floods.
type reference struct {
	http  *http.Server
	conns chan net.Conn
	ended sync.Map // by connection, the channel that is closed with it
	done  chan struct{}
	once  sync.Once
}

// newReference is nil if the operator does not want one.
func newReference(h *handler, cfg Config) *reference {
	if !cfg.HTTP2Reference {
		return nil
	}
	var speaks http.Protocols
	speaks.SetHTTP2(true)
	speaks.SetUnencryptedHTTP2(true)
	r := &reference{conns: make(chan net.Conn), done: make(chan struct{})}
	r.http = &http.Server{
		Handler: newStreams(h, cfg, exchange.H2), Protocols: &speaks, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: h2.MaxStreams},
		MaxHeaderBytes: maxHead, IdleTimeout: cfg.IdleTimeout, ConnState: r.state, ErrorLog: slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
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

func (r *reference) state(c net.Conn, s http.ConnState) {
	if s != http.StateClosed {
		return
	}
	if over, ok := r.ended.LoadAndDelete(c); ok {
		close(over.(chan struct{}))
	}
}

// shutdown waits for the requests under way.
func (r *reference) shutdown(ctx context.Context) error {
	if r == nil {
		return nil
	}
	return r.http.Shutdown(ctx)
}

// Accept, Close and Addr make it the listener of its own server.
func (r *reference) Accept() (net.Conn, error) {
	select {
	case c := <-r.conns:
		return c, nil
	case <-r.done:
		return nil, net.ErrClosed
	}
}

// Close has no further connections taken.
func (r *reference) Close() error {
	r.once.Do(func() { close(r.done) })
	return nil
}

// Addr is nowhere: connections are given.
func (r *reference) Addr() net.Addr { return &net.TCPAddr{} }
