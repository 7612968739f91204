// Package h1 answers plain requests on an HTTP/1.1 connection before the server that the connection belongs to sees them: a GET
// of a short path, with fields that are what they seem, whose answer lies ready. It reads where the server reads, in the
// server's own buffer, writes head and body at once, and hands everything else on untouched. What it can't be sure of is
// never plain: the server judges it, and answers.
//
// It knows nothing of caches. What is ready, and how it looks, an Answerer says.
package h1

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxTarget = 512              // bytes of a plain request's target
	renew     = 4 * time.Second  // deadlines are moved no more often: the timers cost more than a hit
	maxOut    = 64 << 10         // bytes of a buffer that goes back to the pool
	outAtOnce = 128 << 10        // bytes of answers that are gathered before they are written
	headIn    = 20 * time.Second // for the whole of a head, from its first byte
)

// A Request is a plain one. Its slices are parts of the buffer that it was read into, and hold until Answer returns.
type Request struct {
	Target         []byte // path and query; visible ASCII that begins with a slash
	Host           []byte // not yet judged
	AcceptEncoding []byte // nil: none
	IfNoneMatch    []byte // nil: none
	Forwarded      bool   // some proxy says for whom it asks
	Client         netip.Addr
	Now            time.Time

	length   int64 // of its body
	measured bool  // it says so
}

// An Answerer knows what is ready.
type Answerer interface {
	// Answer appends the whole answer to dst: status line, fields, body. It is false, and dst as it was, where it is the server that must answer.
	Answer(dst []byte, r *Request) (out []byte, ok bool)
}

// Timeouts of a connection, as its server has them.
type Timeouts struct {
	Idle  time.Duration // between two requests
	Write time.Duration // for an answer
}

// A Conn answers plain requests in its Read, and returns there when a request comes that is not plain.
type Conn struct {
	net.Conn
	answerer Answerer
	timeouts Timeouts
	client   netip.Addr
	request  Request
	rest     []byte // read from the socket, behind a request that the server has been given
	body     int64  // bytes of that request that it has not been given yet
	through  bool   // where one request ends and another begins is no longer known: everything is the server's
	unsound  bool   // and it is not by the letter
	bare     bool   // the request that the server has been given is a HEAD
	reads    time.Time
	writes   time.Time

	mu      sync.Mutex // held while requests are being answered
	closing atomic.Bool
}

// NewConn makes c answer by itself what a has ready.
func NewConn(c net.Conn, a Answerer, t Timeouts) *Conn {
	return &Conn{Conn: c, answerer: a, timeouts: t}
}

// addressOf is the address of the other end of c; that of one that is not TCP is unspecified.
func addressOf(c net.Conn) netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.IPv4Unspecified()
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

// Read is called by the server where it expects a request. Plain ones are answered until one comes that is not; that is what
// the server gets, with its body, and alone, so that its next Read expects a request again.
func (c *Conn) Read(p []byte) (int, error) {
	if c.through || c.body > 0 {
		return c.readOn(p)
	}
	n := c.takeRest(p)
	for {
		if n == 0 {
			var err error
			if n, err = c.Conn.Read(p); err != nil || n == 0 {
				return n, err
			}
		}
		answered, next, err := c.answer(p[:n])
		if err != nil {
			return 0, err
		}
		n = copy(p, p[answered:n])
		switch {
		case n == 0:
		case next.state == partial && n < len(p):
			m, err := c.more(p[n:])
			if n += m; err != nil {
				c.through = true // the server says what is to be said of half a request
				return n, nil
			}
		case next.state == other:
			n = copy(p, p[next.blank:n])
			c.bare = isHead(p[:n])
			whole := int64(next.size-next.blank) + c.request.length
			given := int(min(whole, int64(n)))
			c.rest, c.body = append(c.rest[:0], p[given:n]...), whole-int64(given)
			return given, nil
		default:
			c.through, c.unsound, c.bare = true, next.state == unsound, isHead(p[:n])
			return n, nil
		}
	}
}

// readOn gives the server more of a request that it has begun to read.
func (c *Conn) readOn(p []byte) (n int, err error) {
	if !c.through {
		p = p[:min(int64(len(p)), c.body)]
	}
	if n = c.takeRest(p); n == 0 {
		n, err = c.Conn.Read(p)
	}
	c.body -= int64(n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // the server would take io.EOF for the end of all requests, and drop answers that wait
	}
	return n, err
}

// Sound reports whether the lines of the request that the server has been given last are by the letter, as far as is known here: they
// end in CR LF, the first one too, and have no control bytes.
func (c *Conn) Sound() bool { return !c.unsound }

// Bare reports whether the request that the server has been given last is a HEAD: no body follows the answer, not even to one that the
// server could not read (RFC 9110, section 9.3.2).
func (c *Conn) Bare() bool { return c.bare }

func isHead(request []byte) bool { return bytes.HasPrefix(request, []byte("HEAD ")) }

// takeRest gives out what was read already.
func (c *Conn) takeRest(p []byte) int {
	n := copy(p, c.rest)
	c.rest = c.rest[:copy(c.rest, c.rest[n:])]
	return n
}

// more reads on in the middle of a head.
func (c *Conn) more(p []byte) (int, error) {
	c.reads = time.Time{} // after it the connection may wait again for as long as any
	if err := c.Conn.SetReadDeadline(time.Now().Add(headIn)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// answer answers the plain requests that b begins with, and says how many bytes they had and what comes after them.
func (c *Conn) answer(b []byte) (answered int, next verdict, err error) {
	c.mu.Lock()
	defer c.unlock()
	now := time.Now()
	pooled := buffers.Get().(*[]byte)
	out := (*pooled)[:0]
	if !c.client.IsValid() { // not before something was read: a proxy may have said for whom it is
		c.client = addressOf(c.Conn)
	}
	r := &c.request
	r.Client, r.Now = c.client, now
	for answered < len(b) && len(out) < outAtOnce {
		if next = parse(b[answered:], r); next.state != plain {
			break
		}
		more, ok := c.answerer.Answer(out, r)
		if !ok {
			next.state = other
			break
		}
		out, answered = more, answered+next.size
	}
	if len(out) > 0 {
		err = c.send(out, now)
	}
	if cap(out) <= maxOut {
		*pooled = out
		buffers.Put(pooled)
	}
	return answered, next, err
}

// send writes answers, and gives the connection its time for more.
func (c *Conn) send(out []byte, now time.Time) error {
	if now.Sub(c.writes) > renew {
		c.writes = now
		if err := c.Conn.SetWriteDeadline(now.Add(c.timeouts.Write + renew)); err != nil {
			return err
		}
	}
	if _, err := c.Conn.Write(out); err != nil {
		return err
	}
	if now.Sub(c.reads) > renew {
		c.reads = now
		return c.Conn.SetReadDeadline(now.Add(c.timeouts.Idle + renew))
	}
	return nil
}

// unlock ends answering. A connection that was to be closed meanwhile is closed now, after its answer.
func (c *Conn) unlock() {
	c.mu.Unlock()
	if c.closing.Load() {
		c.Conn.Close()
	}
}

// Close closes the connection; where answers are being written, after them: they are few and have a deadline.
func (c *Conn) Close() error {
	c.closing.Store(true)
	if !c.mu.TryLock() {
		return nil
	}
	defer c.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite says that nothing more is sent.
func (c *Conn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}
