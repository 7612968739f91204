// Package h2 is the HTTP/2 loop of a server whose answers mostly lie ready (RFC 9113). One goroutine reads a connection, decodes
// header blocks without allocating, and asks an Answerer for what is plain (package plain): the answer, its header block encoded ahead, is
// appended to others, and all go out in one write when there is nothing left to read. What is not ready goes to a Handler on a
// goroutine of its own; it writes to the connection through the same buffer.
//
// Whatever a client does, what it costs is bounded: streams, running handlers, header blocks, bodies that are held, answers that
// wait for a window, control frames for what they bring, and the time for each request and answer as a whole (flood.go, sweep.go).
//
// It knows nothing of caches, and imports x/net's HPACK for its Huffman code and static table, and its names of frames and errors.
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
	"github.com/iconedge/iconedge/edge/plain"
)

// Preface is what a client begins a connection with (RFC 9113, section 3.4).
const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// MaxStreams is how many streams a client may have open at a time.
const MaxStreams = 128

// Gap are the bytes that an Answerer leaves between header block and body, for a frame's head.
const Gap = frameHead

// An Answerer knows what is ready.
type Answerer interface {
	// AnswerH2 appends to dst a header block made with AppendStatus, AppendField and m, and, where there is a body, Gap bytes and the body. block
	// is the length of the header block. It is not ok, and dst as it was, where a Handler must answer.
	AnswerH2(dst []byte, r *plain.Request, m *Memory) (out []byte, block int, ok bool)
}

// A Request is one for a Handler, whole.
type Request struct {
	Method, Authority, Path string
	Fields                  []Field // as they came, the pseudo fields left out
	Body                    []byte
	Secure                  bool // it came by TLS
	Tier                    bool // from an edge behind this one, by the certificate of its connection
	Chosen                  bool // an Answerer has left it to be followed
	Client                  netip.Addr
	Began                   time.Time // when its last byte was here
	Refuse                  int       // status that it must be answered with: 408, 413, 431 or 503; 0: none
}

// Size is how many bytes the header fields of a request are, as SETTINGS_MAX_HEADER_LIST_SIZE counts them.
func (r *Request) Size() (n int) {
	for i := range r.Fields {
		n += r.Fields[i].size()
	}
	return n
}

// A Handler answers what is not plain.
type Handler interface {
	Handle(w *Writer, r *Request)
}

// Config are the bounds of a Server; the zero value of each is its default.
type Config struct {
	Idle    time.Duration // a connection without streams may be silent; 20 s
	Receive time.Duration // for a request of up to 1 MiB, and each further MiB, from its first byte; 20 s
	Send    time.Duration // for an answer of up to 1 MiB, and each further MiB; 30 s
	MaxBody int           // bytes of a request's body; 64 KiB
	MaxList int           // bytes of a request's header list, as SETTINGS_MAX_HEADER_LIST_SIZE counts them; 16 KiB
	Bodies  *bodies.Room  // of all connections together; nil: no bound
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
		Bodies: c.Bodies,
	}
}

// A Server serves connections that speak HTTP/2.
type Server struct {
	answerer Answerer
	handler  Handler
	config   Config

	mu       sync.Mutex
	conns    map[*Conn]struct{}
	draining bool
	counts   counts
}

// counts are by what became of connections and streams.
type counts struct{ refused, calmed, broken, stalled atomic.Uint64 }

// Stats are plain counts, for metrics.
type Stats struct {
	Connections int    // open now
	Refused     uint64 // streams: too many at once
	Calmed      uint64 // connections that were closed for asking too much (ENHANCE_YOUR_CALM)
	Broken      uint64 // connections that were closed for breaking the protocol
	Stalled     uint64 // requests and answers that took too long
}

// New makes a Server.
func New(a Answerer, h Handler, c Config) *Server {
	return &Server{answerer: a, handler: h, config: c.filled(), conns: map[*Conn]struct{}{}}
}

// Stats counts what happened so far.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	n := len(s.conns)
	s.mu.Unlock()
	return Stats{n, s.counts.refused.Load(), s.counts.calmed.Load(), s.counts.broken.Load(), s.counts.stalled.Load()}
}

// NewConn makes a connection known that speaks HTTP/2. rw is the connection itself, or TLS upon it; link is the same below TLS. client
// is whom it asks for. It must be served.
func (s *Server) NewConn(rw net.Conn, link *Link, client netip.Addr) *Conn {
	return newConn(s, rw, link, client)
}

// Serve serves a connection until it ends, and closes it. One that comes when the server is shut down is answered what it asks for at once: its
// client could not know. It is asked to leave behind that: a client that hears so before it has asked asks nothing here.
func (c *Conn) Serve() error {
	s := c.srv
	s.mu.Lock()
	c.leaving = s.draining
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	return c.serve()
}

// Idle reports whether no stream is open, and when the connection was last used: when a request began or ended, or DATA came.
func (c *Conn) Idle() (idle bool, since time.Time) {
	v := c.state.Load()
	return v&1 == 0, time.UnixMilli(v >> 1)
}

// Waits reports whether the connection waits for nobody but its client, and since when: each of its streams is a request that is not
// whole yet, or a response that the client does not take; or a write to the client is under way.
func (c *Conn) Waits() (since time.Time, ok bool) {
	if !c.mu.TryLock() {
		began := c.sending.Load()
		return time.UnixMilli(began), began > 0
	}
	defer c.mu.Unlock()
	for _, s := range c.streams {
		if s.request == nil && s.body == nil && !s.stuck(c.window) {
			return time.Time{}, false
		}
		if since.IsZero() || s.began.Before(since) {
			since = s.began
		}
	}
	return since, len(c.streams) > 0
}

// CloseIdle closes the connection if no stream is open and nothing is being answered on it, and reports whether it did. It does not
// wait for the client to take what TLS says last.
func (c *Conn) CloseIdle() bool {
	if !c.mu.TryLock() {
		return false
	}
	defer c.mu.Unlock()
	if len(c.streams) > 0 {
		return false
	}
	if c.link == c.rw {
		c.rw.Close()
	} else {
		go c.rw.Close()
	}
	return true
}

// Close ends the connection, whatever it is doing.
func (c *Conn) Close() error { return c.rw.Close() }

// Shutdown tells every client to take its further requests elsewhere (RFC 9113, section 6.8), and waits until those under way are
// answered, or ctx ends: then what is left is closed.
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
		c.rw.Close()
	}
}
