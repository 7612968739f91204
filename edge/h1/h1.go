package h1

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/request"
)

const (
	requestOverhead = 24 << 10 // bytes that a request occupies in the server, without its body
	goroutineCosts  = 20 << 10 // bytes of its goroutine, if the connection has none at rest

	maxFields     = 100         // of an eligible request
	maxMethod     = 32          // bytes
	renewInterval = time.Second // between two changes of a deadline, which cost more than a hit
	maxPooled     = 64 << 10    // bytes of a buffer that goes back to the pool
	maxBatch      = 128 << 10   // bytes of responses that are written together
	freeBatch     = 16 << 10    // bytes of them that do not count against the client's share
)

// A parsedHead is a parsed request head.
type parsedHead struct {
	request.Request
	head      []byte // the field lines
	length    int64  // of the body
	expects   bool   // the client waits for a 100 before it sends the body
	hasLength bool   // Content-Length is present
	chunked   bool   // the body comes in chunks
}

// Line implements request.Fields. It looks for a colon only where the name is as long as this one.
func (r *parsedHead) Line(name string, nth int) []byte {
	for head := r.head; len(head) > 0; {
		line := head
		if end := bytes.IndexByte(head, '\n'); end > 0 { // parse has accepted no line without CR
			line, head = head[:end-1], head[end+1:]
		} else {
			head = nil
		}
		if len(line) <= len(name) || line[len(name)] != ':' || !request.SameName(line[:len(name)], name) {
			continue
		}
		if nth == 0 {
			return request.Trim(line[len(name)+1:])
		}
		nth--
	}
	return nil
}

// An Answerer returns ready responses.
type Answerer interface {
	// Answer appends the whole response to dst: status line, fields, body. If r.TakesBody is set,
	// it may leave the body in r.Body instead. If it returns false, dst is unchanged and the
	// server must answer.
	Answer(dst []byte, r *request.Request) (out []byte, ok bool)
}

// A Fetcher is an Answerer that can also make a response ready.
type Fetcher interface {
	Answerer
	// Fetch begins to make the response to a request that Answer has left to the server. ready is
	// called once, on any goroutine, with a function that appends the whole response. If it is nil,
	// the server must answer, by the result. If Fetch returns nil, the server must answer at once.
	Fetch(r *request.Request, client interface{ ClientGone() bool }, ready func(append func(dst []byte) []byte, result any)) request.Pending
}

// Limits holds the limits of a connection. Request and Answer apply to each MiB of a whole request
// or response.
type Limits struct {
	Idle    time.Duration  // before a request, and between two
	Request time.Duration  // from a request's first byte to its last
	Answer  time.Duration  // until the client has taken a response
	MaxBody int64          // bytes of a body that the server accepts
	Uploads bool           // handlers read longer bodies, and those of unknown length (upload.go)
	Bodies  *bodies.Budget // of all connections together; nil: no bound
	Overdue *atomic.Int64  // counts clients that do not take responses in time; may be nil
}

// A Conn answers eligible requests in its Read, and returns the first request that is not eligible.
// On an event loop it answers them in its Turn (turn.go), and is only read from while a goroutine
// serves it.
type Conn struct {
	net.Conn
	socket   Socket // of an event loop; nil: a goroutine serves the connection until it ends
	answerer Answerer
	limits   *Limits
	client   netip.Addr
	share    bodies.Share // of Limits.Bodies, for the current request
	reading  renewal      // of the deadline for the next request
	delivery delivery
	phase    activity
	backlog  *backlog // on an event loop: bytes that wait until the client reads; nil: none
	*serving          // nil: the connection rests on its loop

	mu      sync.Mutex // held while responses are written
	closing atomic.Bool
	secure  bool // over TLS
	tier    bool // the client is another edge of our own
	begun   bool // bytes have arrived
	ending  bool // on an event loop: the client will send nothing more
	unread  bool // on an event loop: bytes may have arrived that no turn has read
	// inARow counts requests for the server since the last that the Answerer answered, up to
	// fewInARow.
	inARow uint8
}

// A serving is the state of a connection that only a goroutine needs.
type serving struct {
	request  parsedHead
	takeover takeover
	buffered surplus
	current  current
	writing  renewal // of the deadline for responses
	in       incoming
	out      outgoing
	fresh    bool // it began with the first bytes of the connection
	rests    bool // the connection can return to its loop
	declined bool // the Answerer has left the first request to the server
	prepared any  // the result of Fetch for the first request
}

// NewConn returns a connection that answers requests with the ready responses of a.
func NewConn(c net.Conn, a Answerer, l *Limits) *Conn {
	w := &Conn{Conn: c, answerer: a, limits: l}
	w.begin()
	w.serve()
	limitUnsent(c, maxUnsent)
	w.expectRequest(time.Now()) // if it fails, the first Read fails too
	return w
}

func (c *Conn) begin() {
	c.delivery.unacked = unacked
	_, c.secure = c.Conn.(*tls.Conn)
}

// serve makes the state for a goroutine.
func (c *Conn) serve() {
	c.serving = &serving{}
	c.request.Fields = &c.request
}

// SetClient records the client whose share of Limits.Bodies pays for the connection, and what ends
// the connection early if others need its memory and Leaves is true. It must be called before the
// first Read.
func (c *Conn) SetClient(client netip.Prefix, ends bodies.Holder) {
	c.share.Client, c.share.Holder = client, ends
}

// Leaves reports whether the connection must end, because others need its memory.
func (c *Conn) Leaves() bool { return c.limits.Bodies.Leaves(&c.share) }

// SetTier records that the client is another edge of our own. It must be called before the first
// Read.
func (c *Conn) SetTier() { c.tier = true }

// describe sets the fields of a request that follow from its connection and the time.
func (c *Conn) describe(r *request.Request, now time.Time) {
	if !c.client.IsValid() {
		// RemoteAddr is final only after the first read, because a PROXY header may come first.
		c.client = addressOf(c.Conn)
	}
	r.Client, r.Now, r.Secure, r.Tier = c.client, now, c.secure, c.tier
}

// addressOf returns the client's address, or the unspecified address if c is not a TCP connection.
func addressOf(c net.Conn) netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.IPv4Unspecified()
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 8<<10); return &b }}

// Read is called by the server when it expects a request. It answers eligible requests until
// another request arrives. The server gets that one alone, with its body, so that its next Read
// expects a request again.
func (c *Conn) Read(p []byte) (int, error) {
	if c.current.incomplete() {
		return c.readCurrent(p)
	}
	if c.current.lastUpload() {
		return 0, io.EOF // the bytes that follow are no request
	}
	if err := c.finishRequest(); err != nil {
		return 0, err
	}
	c.current.upload = nil
	n := c.buffered.take(p)
	for {
		if n == 0 {
			var err error
			if n, err = c.readFirst(p); err != nil || n == 0 {
				return n, err
			}
			c.begun = true
		}
		if c.takeover.preface != "" {
			var err error
			if n, err = c.checkPreface(p, n); err != nil {
				return n, err
			}
		}
		answered, next, err := c.answer(p[:n])
		if err != nil {
			return 0, err
		}
		if answered > 0 && n == len(p) {
			runtime.Gosched() // a client that sends without a pause must not starve others
		}
		n = copy(p, p[answered:n])
		switch {
		case n == 0:
		case next.state == partial && n < len(p):
			if err := c.reserveHead(); err != nil {
				return c.fail(err)
			}
			m, err := c.more(p[n:])
			if n += m; err != nil {
				c.current.opaque = true // the server decides how to answer half a request
				return n, nil
			}
		case next.state == other, next.state == coded && c.limits.Uploads:
			return c.forward(p[:n], next)
		default:
			c.current.beginOpaque(p[:n], len(p), next.state)
			if c.current.malformed {
				return c.refuse(p[:n])
			}
			c.in.received = int64(n)
			return c.forwardOpaque(p[:n])
		}
	}
}

// TakeOver makes f serve a connection that begins with the preface. f gets all bytes read so far,
// including the preface. For the server the connection has ended. TakeOver reports whether f serves
// it already, because the whole preface has arrived: then the server must not get the connection.
func (c *Conn) TakeOver(preface string, f func(already []byte)) (over bool) {
	c.takeover = takeover{preface, f}
	if early := c.buffered; len(early) >= len(preface) {
		if over = c.takeover.decide(early); over {
			c.buffered = nil
		}
	}
	return over
}

// checkPreface reads on while the bytes may be the beginning of the preface. If they are all of it,
// it hands over the connection.
func (c *Conn) checkPreface(p []byte, n int) (int, error) {
	for c.takeover.undecided(p[:n]) {
		if err := c.reserveHead(); err != nil {
			return 0, err
		}
		m, err := c.more(p[n:])
		if n += m; err != nil {
			return n, err
		}
	}
	if c.takeover.decide(p[:n]) {
		return 0, io.EOF
	}
	return n, nil
}

// forward gives the server the bytes of a whole request that have arrived, and keeps the rest for
// later.
func (c *Conn) forward(p []byte, next verdict) (int, error) {
	n := copy(p, p[next.blank:])
	head := next.size - next.blank
	if c.streams(p[:head], int64(n-next.size)) {
		return c.forwardUpload(p[:n-next.blank], head)
	}
	whole := int64(head) + c.request.length
	given := min(whole, int64(n))
	c.current.begin(p[:n], whole-given)
	c.buffered.replace(p[given:n])
	c.in.received, c.in.declared = given, whole
	costs := c.requestCosts() // the server also allocates all of a short body at once
	if c.current.left > 0 && c.request.length <= bodies.Free {
		costs += c.request.length
	}
	reserve := c.limits.Bodies.ReserveShare
	if c.share.Whole = c.current.left == 0; c.share.Whole {
		reserve = c.limits.Bodies.Await
	}
	if err := reserve(&c.share, costs); err != nil {
		return c.fail(err)
	}
	if c.current.left == 0 {
		c.in.began = c.request.Now // the request is complete, so it needs no deadline
		return int(given), nil
	}
	c.startRequest(c.request.Now)
	return int(given), nil
}

// forwardOpaque gives the server bytes of a request whose end is unknown. It reserves memory for a
// long body before the server sees the first chunk.
func (c *Conn) forwardOpaque(p []byte) (int, error) {
	c.startRequest(c.request.Now)
	if err := c.reserveUnknown(); err != nil && bytes.Contains(p, endOfHead) {
		return c.fail(err)
	}
	return len(p), nil
}

// reserveHead reserves memory for a request without its body. An incomplete head takes as much.
func (c *Conn) reserveHead() error {
	c.share.Whole = false
	return c.limits.Bodies.ReserveShare(&c.share, c.requestCosts())
}

// requestCosts returns the bytes that a request occupies without its body.
func (c *Conn) requestCosts() int64 {
	if c.socket == nil {
		return requestOverhead
	}
	return requestOverhead + goroutineCosts
}

// reserveUnknown reserves memory for a request of unknown length.
func (c *Conn) reserveUnknown() error {
	if err := c.reserveHead(); err != nil {
		return err
	}
	return c.limits.Bodies.Body(&c.share, c.limits.MaxBody)
}

// readCurrent gives the server more of a request that it has begun to read.
func (c *Conn) readCurrent(p []byte) (n int, err error) {
	if c.current.failure != nil {
		return 0, c.current.failure
	}
	p = c.current.bounded(p)
	if n = c.buffered.take(p); n == 0 {
		n, err = c.readMore(p)
	}
	c.current.left -= int64(n)
	if err == io.EOF {
		// io.EOF would mean the end of all requests, and the server would drop unsent responses.
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Fetched returns the result of Fetch for the server's current request, once; nil: there is none.
func (c *Conn) Fetched() any {
	if c.serving == nil {
		return nil
	}
	result := c.prepared
	c.prepared = nil
	return result
}

// Strict reports whether the lines of the server's current request are well-formed, as far as the
// Conn has parsed them: each ends in CR LF and has no control characters.
func (c *Conn) Strict() bool { return !c.current.malformed }

// LongTarget reports whether the target alone of that request is longer than the server's buffer.
func (c *Conn) LongTarget() bool { return c.current.longTarget }

// Bodyless reports whether the server's current request is a HEAD. No body follows its response,
// not even if the server could not parse the request (RFC 9110, section 9.3.2).
func (c *Conn) Bodyless() bool { return c.current.bodyless }

// more reads on in the middle of a head.
func (c *Conn) more(p []byte) (int, error) {
	c.startRequest(c.request.Now)
	return c.readMore(p)
}

// answer answers the eligible requests at the beginning of b, and returns their size and the
// verdict on the next request.
func (c *Conn) answer(b []byte) (answered int, next verdict, err error) {
	c.mu.Lock()
	defer c.unlock()
	now := time.Now()
	pooled := buffers.Get().(*[]byte)
	out := (*pooled)[:0]
	r := &c.request
	c.describe(&r.Request, now)
	for answered < len(b) && len(out) < maxBatch {
		if next = parse(b[answered:], r); next.state != forHitPath {
			break
		}
		if c.declined { // in a turn; the answer might be another now
			c.declined, next.state = false, other
			break
		}
		more, ok := c.answerer.Answer(out, &r.Request)
		if !ok {
			next.state = other
			break
		}
		out, answered = more, answered+next.size
	}
	if answered > 0 {
		c.inARow = 0
	}
	if answered < len(b) {
		c.inARow = min(c.inARow+1, fewInARow)
	}
	if len(out) > 0 {
		err = c.send(out, now)
	}
	if cap(out) <= maxPooled {
		*pooled = out
		buffers.Put(pooled)
	}
	return answered, next, err
}

// send writes responses, and sets the deadline for the next request.
func (c *Conn) send(out []byte, now time.Time) error {
	if c.writing.due(now) {
		c.phase.enter(Idle, now)
		if err := c.Conn.SetWriteDeadline(now.Add(c.limits.Answer + renewInterval)); err != nil {
			return err
		}
	}
	if len(out) > freeBatch {
		waiting := bodies.Share{Client: c.share.Client}
		if err := c.limits.Bodies.ReserveResponse(&waiting, int64(len(out))); err != nil {
			return err
		}
		defer c.limits.Bodies.Release(&waiting)
	}
	c.delivery.due = now.Add(c.limits.Answer)
	c.delivery.add(len(out))
	if _, err := c.Conn.Write(out); err != nil {
		if timedOut(err) {
			c.Abort()
		}
		return err
	}
	return c.expectRequest(now)
}

// unlock ends writing. If Close was called meanwhile it closes the connection now.
func (c *Conn) unlock() {
	c.mu.Unlock()
	if c.closing.Load() {
		c.limits.Bodies.Release(&c.share)
		c.Conn.Close()
	}
}

// Close closes the connection. Responses that are being written are finished first: they are few
// and have a deadline.
func (c *Conn) Close() error {
	c.limits.Bodies.Release(&c.share)
	c.closing.Store(true)
	if !c.mu.TryLock() {
		return nil
	}
	defer c.mu.Unlock()
	return c.Conn.Close()
}

// CloseIdle closes the connection unless responses are being written. It does not wait until the
// client has taken the close_notify of TLS.
func (c *Conn) CloseIdle() bool {
	if !c.mu.TryLock() {
		return false
	}
	defer c.mu.Unlock()
	if c.backlog != nil {
		return false
	}
	if c.secure {
		go c.Conn.Close()
	} else {
		c.Conn.Close()
	}
	return true
}

// CloseWrite closes the sending direction.
func (c *Conn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}
