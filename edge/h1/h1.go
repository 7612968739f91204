// Package h1 answers plain requests on an HTTP/1.1 connection before the server that the connection belongs to sees them: a GET
// of a short path, with fields that are what they seem, whose answer lies ready. It reads where the server reads, in the
// server's own buffer, writes head and body at once, and hands everything else on untouched. What it can't be sure of is
// never plain: the server judges it, and answers.
//
// It knows nothing of caches. What is ready, and how it looks, an Answerer says.
package h1

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/plain"
)

const (
	serverCosts = 24 << 10 // bytes that a request takes while the server answers it, besides its connection and body

	maxFields = 100         // of a plain request
	maxMethod = 32          // bytes
	renew     = time.Second // deadlines are moved no more often: the timers cost more than a hit
	maxOut    = 64 << 10    // bytes of a buffer that goes back to the pool
	outAtOnce = 128 << 10   // bytes of answers that are gathered before they are written
)

// A request is one that has been read, and what it says of its body.
type request struct {
	plain.Request
	head     []byte // the lines of its fields
	length   int64  // of its body
	expects  bool   // a 100, before it sends that
	measured bool   // it says so
}

// Line is plain.Fields'.
func (r *request) Line(name string, nth int) []byte {
	for head := r.head; len(head) > 0; {
		var line []byte
		line, head, _ = bytes.Cut(head, endOfHead[:2])
		field, value, _ := bytes.Cut(line, []byte(":"))
		if !plain.Is(field, name) {
			continue
		}
		if nth == 0 {
			return plain.Trim(value)
		}
		nth--
	}
	return nil
}

// An Answerer knows what is ready.
type Answerer interface {
	// Answer appends the whole answer to dst: status line, fields, body. It is false, and dst as it was, where it is the server that must answer.
	Answer(dst []byte, r *plain.Request) (out []byte, ok bool)
}

// Limits of a connection. Those of requests and answers are for each MiB of the whole.
type Limits struct {
	Idle    time.Duration // before a request, and between two
	Request time.Duration // from its first byte to its last
	Answer  time.Duration // until the client has taken it
	MaxBody int64         // bytes of a body that the server takes
	Bodies  *bodies.Room  // of all connections together; nil: no bound
	Client  netip.Prefix  // whose share of it the connection takes; zero: nobody's in particular
	Overdue *atomic.Int64 // counts the clients that have not taken their answers; nil: nothing does
}

// A Conn answers plain requests in its Read, and returns there when a request comes that is not plain.
type Conn struct {
	net.Conn
	answerer Answerer
	limits   Limits
	client   netip.Addr
	request  request
	rest     []byte // read from the socket, behind a request that the server has been given
	body     int64  // bytes of that request that it has not been given yet
	through  bool   // where one request ends and another begins is no longer known: everything is the server's
	unsound  bool   // and it is not by the letter
	bare     bool   // the request that the server has been given is a HEAD
	endless  bool   // nor does its first line end where any must

	reads, writes time.Time // when their deadlines were moved last; zero: they must be
	in            incoming
	out           outgoing
	sent          int64     // bytes of all answers
	due           time.Time // by when the client has to have taken them
	answerDue     atomic.Int64
	owed          debt
	queued        func(net.Conn) int64
	held          bodies.Share // of Limits.Bodies
	failure       error        // of the request; nil: none
	phase         atomic.Int64

	preface  string               // of another protocol that a connection may begin with; empty: none, or it has begun
	takeOver func(already []byte) // serves that protocol, until the connection ends

	mu      sync.Mutex // held while requests are being answered
	closing atomic.Bool
}

// NewConn makes c answer by itself what a has ready.
func NewConn(c net.Conn, a Answerer, l Limits) *Conn {
	w := &Conn{Conn: c, answerer: a, limits: l, queued: queued, held: bodies.Share{Client: l.Client}}
	_, w.request.Secure = c.(*tls.Conn)
	w.request.Fields = &w.request
	bound(c)
	w.wait(time.Now()) // should it fail, so does the first Read
	return w
}

// ByTier says that the other end is an edge behind this one. It is to be called before the first Read.
func (c *Conn) ByTier() { c.request.Tier = true }

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
	if err := c.await(); err != nil {
		return 0, err
	}
	n := c.takeRest(p)
	for {
		if n == 0 {
			var err error
			if n, err = c.first(p); err != nil || n == 0 {
				return n, err
			}
		}
		if c.preface != "" {
			var err error
			if n, err = c.precede(p, n); err != nil {
				return n, err
			}
		}
		answered, next, err := c.answer(p[:n])
		if err != nil {
			return 0, err
		}
		if answered > 0 && n == len(p) {
			runtime.Gosched() // whoever sends without a pause must not keep others waiting
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
			return c.handOver(p[:n], next)
		default:
			c.through, c.unsound, c.bare = true, next.state == unsound, isHead(p[:n])
			c.endless = n == len(p) && longLine(p)
			if c.unsound {
				return c.refuse(p[:n])
			}
			c.in.received = int64(n)
			return c.handOn(p[:n])
		}
	}
}

// TakeOver has f take over a connection that begins with a preface, which it is given with what was read behind it. For the server the
// connection has ended.
func (c *Conn) TakeOver(preface string, f func(already []byte)) { c.preface, c.takeOver = preface, f }

// precede reads on while what has come may be the beginning of the preface. Where it is all of it, the connection is taken over.
func (c *Conn) precede(p []byte, n int) (int, error) {
	for n < len(c.preface) && string(p[:n]) == c.preface[:n] {
		m, err := c.more(p[n:])
		if n += m; err != nil {
			return n, err
		}
	}
	preface := c.preface
	c.preface = ""
	if !strings.HasPrefix(string(p[:n]), preface) {
		return n, nil
	}
	c.takeOver(bytes.Clone(p[:n]))
	return 0, io.EOF
}

// handOver gives the server a request that it must answer, as far as it has come.
func (c *Conn) handOver(p []byte, next verdict) (int, error) {
	n := copy(p, p[next.blank:])
	c.bare = isHead(p[:n])
	whole := int64(next.size-next.blank) + c.request.length
	given := min(whole, int64(n))
	c.rest, c.body = append(c.rest[:0], p[given:n]...), whole-given
	c.in.received, c.in.declared = given, whole
	costs := int64(serverCosts) // and the server makes room for all of a short body at once
	if c.body > 0 && c.request.length <= bodies.Free {
		costs += c.request.length
	}
	if err := c.limits.Bodies.Keep(&c.held, costs); err != nil {
		return c.fail(err)
	}
	if c.body == 0 {
		c.in.began = c.request.Now // no deadline is needed
		return int(given), nil
	}
	if c.begin(c.request.Now); !c.long(c.request.length) {
		return int(given), nil
	}
	if err := c.hold(p, given > int64(next.size-next.blank)); err != nil {
		return c.fail(err)
	}
	return int(given), nil
}

// handOn gives the server something whose end is not known. What could become a long body has its room before the server sees the
// first chunk of it.
func (c *Conn) handOn(p []byte) (int, error) {
	c.begin(c.request.Now)
	if err := c.takeUnknown(); err != nil && bytes.Contains(p, endOfHead) {
		return c.fail(err)
	}
	return len(p), nil
}

// takeUnknown takes room for a request whose length is not known.
func (c *Conn) takeUnknown() error {
	if err := c.limits.Bodies.Keep(&c.held, serverCosts); err != nil {
		return err
	}
	return c.limits.Bodies.Body(&c.held, c.limits.MaxBody)
}

// readOn gives the server more of a request that it has begun to read.
func (c *Conn) readOn(p []byte) (n int, err error) {
	if !c.through {
		p = p[:min(int64(len(p)), c.body)]
	}
	if c.failure != nil {
		return 0, c.failure
	}
	if n = c.takeRest(p); n == 0 {
		n, err = c.further(p)
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

// Chosen reports whether the request that the server has been given last was left to it to be followed.
func (c *Conn) Chosen() bool { return c.request.Chosen && !c.through }

// LongLine reports whether the target of that request alone is longer than the server's buffer.
func (c *Conn) LongLine() bool { return c.endless }

// longLine reports whether b is of a first line whose method has ended.
func longLine(b []byte) bool {
	method := bytes.IndexByte(b, ' ')
	return 0 < method && method < maxMethod && bytes.IndexByte(b, '\n') < 0
}

// Bare reports whether the request that the server has been given last is a HEAD: no body follows the answer, not even to one that the
// server could not read (RFC 9110, section 9.3.2).
func (c *Conn) Bare() bool { return c.bare }

func isHead(request []byte) bool { return bytes.HasPrefix(request, []byte("HEAD ")) }

// takeRest gives out what was read already.
func (c *Conn) takeRest(p []byte) int {
	n := copy(p, c.rest)
	if cap(c.rest) > bodies.Free {
		if c.rest = c.rest[n:]; len(c.rest) == 0 {
			c.rest = nil // else its memory would stay
		}
		return n
	}
	c.rest = c.rest[:copy(c.rest, c.rest[n:])]
	return n
}

// more reads on in the middle of a head.
func (c *Conn) more(p []byte) (int, error) {
	c.begin(c.request.Now)
	return c.further(p)
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
		if next = parse(b[answered:], r); next.state != answerable {
			break
		}
		more, ok := c.answerer.Answer(out, &r.Request)
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
		c.enter(Idle, now)
		if err := c.Conn.SetWriteDeadline(now.Add(c.limits.Answer + renew)); err != nil {
			return err
		}
	}
	c.due = now.Add(c.limits.Answer)
	c.owe(len(out))
	if _, err := c.Conn.Write(out); err != nil {
		if timedOut(err) {
			c.GiveUp()
		}
		return err
	}
	return c.wait(now)
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
	c.limits.Bodies.Give(&c.held)
	c.closing.Store(true)
	if !c.mu.TryLock() {
		return nil
	}
	defer c.mu.Unlock()
	return c.Conn.Close()
}

// CloseIdle closes the connection, unless answers are being written. It does not wait for the client to take what TLS says last.
func (c *Conn) CloseIdle() bool {
	if !c.mu.TryLock() {
		return false
	}
	defer c.mu.Unlock()
	if _, secure := c.Conn.(*tls.Conn); secure {
		go c.Conn.Close()
	} else {
		c.Conn.Close()
	}
	return true
}

// CloseWrite says that nothing more is sent.
func (c *Conn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}
