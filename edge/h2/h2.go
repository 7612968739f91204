package h2

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/request"
)

// Preface is the beginning of a client's connection (RFC 9113, section 3.4).
const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// MaxStreams is how many streams a client may have open at a time.
const MaxStreams = 128

// Gap is the number of bytes that an Answerer leaves between header block and body, for a frame
// header.
const Gap = frameHead

// An Answerer returns ready responses.
type Answerer interface {
	// AnswerH2 appends to dst a header block made with AppendStatus, AppendField and m, and, if
	// there is a body, Gap bytes and the body. block is the length of the header block. If it is
	// not ok, dst is unchanged and a Handler must answer.
	AnswerH2(dst []byte, r *request.Request, m *ClientTable) (out []byte, block int, ok bool)
}

// A Request is a complete request for a Handler.
type Request struct {
	Method, Authority, Path string
	Fields                  []Field // as received, without pseudo fields
	Body                    []byte
	Upload                  *Upload // the body, if it still arrives; nil: Body is all of it
	Trailer                 []Field // the fields after Body; nil: none, or Upload has them
	Secure                  bool    // received over TLS
	Tier                    bool    // from another edge of our own, according to its certificate
	Client                  netip.Addr
	Began                   time.Time // when its last byte had arrived
	Refuse                  int       // status of the response: 408, 413, 431 or 503; 0: any
	// :protocol of an extended CONNECT, whose Writer has a Tunnel; empty: none.
	Protocol string
}

// Size returns the size of the header fields as SETTINGS_MAX_HEADER_LIST_SIZE counts it.
func (r *Request) Size() (n int) {
	for i := range r.Fields {
		n += r.Fields[i].size()
	}
	return n
}

// A Handler answers requests that no Answerer has answered.
type Handler interface {
	Handle(w *Writer, r *Request)
}

// Config holds the limits of a Server. Zero fields take the defaults named.
type Config struct {
	Idle    time.Duration  // silence of a connection without streams; 20 s
	Receive time.Duration  // for each MiB of a request, from its first byte; 20 s
	Send    time.Duration  // for each MiB of a response; 30 s
	MaxBody int            // bytes of a request's body; 64 KiB
	Uploads bool           // the Handler reads long bodies while they arrive
	MaxList int            // SETTINGS_MAX_HEADER_LIST_SIZE, in bytes
	Bodies  *bodies.Budget // of all connections together; nil: no bound
	Tunnels bool           // SETTINGS_ENABLE_CONNECT_PROTOCOL: accept extended CONNECT
}

const (
	defaultIdle    = 20 * time.Second
	defaultReceive = 20 * time.Second
	defaultSend    = 30 * time.Second
	defaultMaxBody = 64 << 10
	defaultMaxList = 16 << 10
)

func (c Config) filled() Config {
	return Config{
		Idle: cmp.Or(c.Idle, defaultIdle), Receive: cmp.Or(c.Receive, defaultReceive), Send: cmp.Or(c.Send, defaultSend),
		MaxBody: cmp.Or(c.MaxBody, defaultMaxBody), MaxList: cmp.Or(c.MaxList, defaultMaxList),
		Bodies: c.Bodies, Uploads: c.Uploads, Tunnels: c.Tunnels,
	}
}

// A Server serves HTTP/2 connections.
type Server struct {
	answerer Answerer
	handler  Handler
	config   Config

	mu       sync.Mutex
	conns    map[*Conn]struct{}
	draining bool
	counts   counts
}

// counts holds counts of connections and streams by their end.
type counts struct{ refused, calmed, broken, stalled atomic.Uint64 }

// Stats holds counts for metrics.
type Stats struct {
	Connections int    // open now
	Refused     uint64 // streams refused because there were too many at once
	Calmed      uint64 // connections closed for flooding (ENHANCE_YOUR_CALM)
	Broken      uint64 // connections closed for a protocol error
	Stalled     uint64 // requests and responses that took too long
}

// New returns a Server.
func New(a Answerer, h Handler, c Config) *Server {
	return &Server{answerer: a, handler: h, config: c.filled(), conns: map[*Conn]struct{}{}}
}

// Stats returns the counts since New, and the number of connections.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	n := len(s.conns)
	s.mu.Unlock()
	return Stats{n, s.counts.refused.Load(), s.counts.calmed.Load(), s.counts.broken.Load(), s.counts.stalled.Load()}
}

// NewConn returns a Conn for an HTTP/2 connection, which the caller must serve. rw is the
// connection itself, or TLS over it; link is the connection below TLS. client is the address of the
// client.
func (s *Server) NewConn(rw net.Conn, link *Link, client netip.Addr) *Conn {
	return newConn(s, rw, link, client)
}

// Serve serves a connection until it ends, and closes it. If the server is draining, a new
// connection still gets responses to its first requests, because its client could not know, and
// GOAWAY after those: a client that gets GOAWAY before its first request would send none.
func (c *Conn) Serve() error {
	c.srv.enter(c)
	defer c.srv.leave(c)
	return c.serve()
}

func (s *Server) enter(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.phase.draining = s.draining
	s.conns[c] = struct{}{}
}

func (s *Server) leave(c *Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// Idle reports whether no stream is open, and when the connection was last used, that is when a
// request began or ended, or DATA came.
func (c *Conn) Idle() (idle bool, since time.Time) {
	return c.use.load()
}

// WaitsForClient reports whether the connection waits for its client alone, and since when: each of
// its streams has an incomplete request, or a response that the client does not take; or a write to
// the client is under way.
func (c *Conn) WaitsForClient() (since time.Time, ok bool) {
	if began := c.out.writing.Load(); began > 0 {
		return time.UnixMilli(began), true
	}
	if !c.mu.TryLock() {
		return time.Time{}, false
	}
	defer c.mu.Unlock()
	for _, s := range c.streams.open {
		if s.request == nil && s.body == nil && !s.stuck(c.sender.window) && !s.waitsForBody() {
			return time.Time{}, false
		}
		if since.IsZero() || s.began.Before(since) {
			since = s.began
		}
	}
	return since, len(c.streams.open) > 0
}

// CloseIdle closes the connection if no stream is open and no frame is being handled, and reports
// whether it did. It does not wait until the client has taken the close_notify of TLS.
func (c *Conn) CloseIdle() bool {
	if !c.mu.TryLock() {
		return false
	}
	defer c.mu.Unlock()
	if len(c.streams.open) > 0 || c.backedUp() {
		return false
	}
	if c.loop != nil {
		c.finish()
	} else if c.link == c.rw {
		c.rw.Close()
	} else {
		go c.rw.Close()
	}
	return true
}

// Close closes the connection at once.
func (c *Conn) Close() error {
	err := c.rw.Close()
	c.Closed()
	return err
}

// Shutdown asks every client to send further requests elsewhere (RFC 9113, section 6.8), and waits
// until all responses under way are complete. If ctx ends before, it closes the remaining
// connections.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.draining = true
	for c := range s.conns {
		go c.drain()
	}
	s.mu.Unlock()
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	for s.Stats().Connections > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.cut()
			return ctx.Err()
		}
	}
	return nil
}

const drainPoll = 20 * time.Millisecond

// cut closes all connections.
func (s *Server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}
