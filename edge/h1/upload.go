package h1

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/request"
)

const (
	// uploadCosts is the number of bytes that an upload takes while it is forwarded: the buffer
	// here, and those of the request to the origin.
	uploadCosts = 64 << 10
	rawBuffer   = 16 << 10 // bytes of a chunk's head, or of a trailer field, at most
	maxTrailers = 100      // lines
	maxTrailer  = 16 << 10 // bytes of all trailer fields together
	maxHex      = 15       // digits of the size of a chunk
)

// An Upload is the body of the server's current request, which a handler reads while it arrives.
// The server gets the head alone, without the fields that announce a body. Only one goroutine at a
// time reads an Upload.
type Upload struct {
	c       *Conn
	length  int64  // as announced; -1: in chunks
	left    int64  // bytes of the body, or of the chunk, that have not been read
	state   uint8  // of the chunks
	lines   int    // of trailer fields
	trailer []byte // trailer fields so far, as lines
	raw     []byte // bytes that have been read from the socket only
	ready   []byte // the beginning of a body in chunks, decoded
	waited  time.Duration
	failure error
	whole   atomic.Bool

	mu       sync.Mutex // held while a 100 is written
	expects  bool       // the client waits for a 100
	answered bool       // the response has begun
}

// The states of a body in chunks.
const (
	inData uint8 = iota // in a chunk, or in a body of known length
	beforeSize
	afterData // before the line end of a chunk
	inTrailers
)

// streams reports whether a handler reads the body of the current request while it arrives.
func (c *Conn) streams(head []byte, arrived int64) bool {
	r := &c.request
	switch {
	case !c.limits.Uploads:
		return false
	case r.chunked:
		return true
	case arrived >= r.length:
		return false
	case r.length > bodies.Free:
		return true
	}
	return c.expects(head)
}

// expects reports whether the client of a request waits for a 100. A client of HTTP/1.0 knows none
// (RFC 9110, section 10.1.1).
func (c *Conn) expects(head []byte) bool {
	return c.request.expects && bytes.HasSuffix(head[:bytes.IndexByte(head, '\n')], []byte(" HTTP/1.1\r"))
}

// forwardUpload gives the server the head of a request, which is the first size bytes of p, and
// keeps the rest for its Upload. A malformed chunk among the bytes that came with the head refuses
// the request, so that it reaches no origin.
func (c *Conn) forwardUpload(p []byte, size int) (int, error) {
	u := &Upload{c: c, length: c.request.length, left: c.request.length, expects: c.expects(p) && len(p) == size}
	if c.request.chunked {
		u.length, u.left, u.state = -1, 0, beforeSize
	}
	u.raw = append(make([]byte, 0, rawBuffer), p[size:]...)
	c.buffered = nil
	c.current.begin(p, 0)
	c.current.coded = c.request.chunked
	c.startRequest(c.request.Now)
	if err := u.prefetch(); err != nil {
		return c.fail(err)
	}
	if err := c.reserveHead(); err != nil {
		return c.fail(err)
	}
	if !u.whole.Load() {
		if err := c.limits.Bodies.Reserve(&c.share, uploadCosts); err != nil {
			return c.fail(err)
		}
	}
	c.current.upload = u
	return withoutBody(p[:size]), nil
}

// withoutBody removes the fields from a head that announce a body, and returns its new size.
func withoutBody(head []byte) int {
	size := 0
	for rest := head; len(rest) > 0; {
		n := bytes.IndexByte(rest, '\n') + 1
		name, _, _ := bytes.Cut(rest[:n], []byte(":"))
		if !announces(name) {
			size += copy(head[size:], rest[:n])
		}
		rest = rest[n:]
	}
	return size
}

func announces(name []byte) bool {
	return request.Is(name, "content-length") || request.Is(name, "transfer-encoding") || request.Is(name, "expect")
}

// prefetch decodes the chunks that came with the head.
func (u *Upload) prefetch() error {
	if u.length >= 0 {
		return nil
	}
	p := make([]byte, len(u.raw))
	for !u.whole.Load() {
		n, err := u.decode(p)
		u.ready = append(u.ready, p[:n]...)
		if err != nil {
			return err
		}
		if n == 0 && !u.whole.Load() {
			return nil // more has to be read
		}
	}
	return nil
}

// Upload returns the body of the server's current request; nil: the server has it, or it has none.
func (c *Conn) Upload() *Upload {
	if c.serving == nil {
		return nil
	}
	return c.current.upload
}

// Length returns the length of the body as announced; -1: it comes in chunks.
func (u *Upload) Length() int64 { return u.length }

// Complete returns the body if all of it came with the head.
func (u *Upload) Complete() (body []byte, ok bool) { return u.ready, u.whole.Load() }

// Trailer returns the trailer fields as lines: a name, a colon, a space, a value, CR LF. They are
// complete when the body is.
func (u *Upload) Trailer() []byte { return u.trailer }

// Expects reports whether the client waits for a 100 before it sends the body.
func (u *Upload) Expects() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.expects
}

// Whole reports whether all of the body has arrived.
func (u *Upload) Whole() bool { return u.whole.Load() }

// Answer records that the response to the current request begins, and reports whether it must be
// the last one of the connection: the body is incomplete, or its end uncertain for other servers.
func (c *Conn) Answer() (last bool) {
	u := c.current.upload
	if u == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answered = true
	return c.current.lastUpload()
}

// Read sends the 100 that the client waits for, and reads a part of the body.
func (u *Upload) Read(p []byte) (int, error) {
	if u.failure != nil {
		return 0, u.failure
	}
	if len(u.ready) > 0 {
		n := copy(p, u.ready)
		u.ready = u.ready[n:]
		return n, nil
	}
	if err := u.proceed(); err != nil {
		return 0, u.fail(err)
	}
	for len(p) > 0 {
		if u.whole.Load() {
			return 0, u.fail(io.EOF)
		}
		n, err := u.decode(p)
		if err != nil {
			return n, u.fail(err)
		}
		if n > 0 {
			return n, nil
		}
		if u.whole.Load() {
			continue
		}
		if n, err = u.fill(p); err != nil {
			return n, u.fail(err)
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, nil
}

func (u *Upload) fail(err error) error {
	u.failure = err
	return err
}

// proceed sends the 100, unless the response has begun.
func (u *Upload) proceed() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.expects || u.answered {
		return nil
	}
	u.expects = false
	return u.c.sendContinue()
}

// decode copies a part of the body from the bytes that have been read. It returns 0 if there is
// none before more is read, or if the body is whole.
func (u *Upload) decode(p []byte) (int, error) {
	for {
		switch u.state {
		case inData:
			n := copy(p[:min(int64(len(p)), u.left)], u.raw)
			u.take(n)
			u.took(n)
			return n, nil
		case afterData:
			if len(u.raw) < 2 {
				return 0, nil
			}
			if u.raw[0] != '\r' || u.raw[1] != '\n' {
				return 0, errMalformed
			}
			u.take(2)
			u.state = beforeSize
		default:
			line, ok, err := u.line()
			if err != nil || !ok {
				return 0, err
			}
			if u.state == beforeSize {
				err = u.size(line)
			} else {
				err = u.trailerField(line)
			}
			if err != nil || u.whole.Load() {
				return 0, err
			}
		}
	}
}

// take removes n bytes from those that have been read.
func (u *Upload) take(n int) { u.raw = u.raw[:copy(u.raw, u.raw[n:])] }

// took records that n bytes of the body were read.
func (u *Upload) took(n int) {
	switch u.left -= int64(n); {
	case u.left > 0:
	case u.length >= 0:
		u.arrived()
	default:
		u.state = afterData
	}
}

// arrived records that all of the body was read, which makes room for other bodies.
func (u *Upload) arrived() {
	u.c.limits.Bodies.Arrived(&u.c.share)
	u.whole.Store(true)
}

// line takes the next line. It is not ok if the line is incomplete.
func (u *Upload) line() (line []byte, ok bool, err error) {
	n := bytes.IndexByte(u.raw, '\n')
	if n < 0 {
		if len(u.raw) == cap(u.raw) {
			return nil, false, errMalformed
		}
		return nil, false, nil
	}
	if n == 0 || u.raw[n-1] != '\r' || request.Controls(u.raw[:n-1]) {
		return nil, false, errMalformed
	}
	line = bytes.Clone(u.raw[:n-1])
	u.take(n + 1)
	return line, true, nil
}

// size parses the line before a chunk: hexadecimal digits, and perhaps extensions, which are
// dropped (RFC 9112, section 7.1).
func (u *Upload) size(line []byte) error {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	if digits = bytes.TrimRight(digits, " \t"); len(digits) == 0 || len(digits) > maxHex {
		return errMalformed
	}
	size, err := strconv.ParseUint(string(digits), 16, 64)
	if err != nil {
		return errMalformed
	}
	if u.left, u.state = int64(size), inData; size == 0 {
		u.state = inTrailers
	}
	return nil
}

// trailerField parses a trailer field. An empty line ends the body. A field that frames the message
// or names its host belongs into no trailer (RFC 9110, section 6.5.1).
func (u *Upload) trailerField(line []byte) error {
	if len(line) == 0 {
		u.arrived()
		return nil
	}
	name, value, ok := bytes.Cut(line, []byte(":"))
	name = bytes.TrimRight(name, " \t")
	if u.lines++; !ok || u.lines > maxTrailers || len(u.trailer)+len(line) > maxTrailer || !request.IsToken(name) || forbidden(name) {
		return errMalformed
	}
	u.trailer = slices.Concat(u.trailer, name, []byte(": "), request.Trim(value), []byte("\r\n"))
	return nil
}

// forbiddenTrailers are the fields that belong into no trailer: those that frame the message, route
// it, describe its content or authenticate its sender (RFC 9110, section 6.5.1).
var forbiddenTrailers = []string{"authorization", "connection", "content-encoding", "content-length",
	"content-location", "content-range", "content-type", "cookie", "expect",
	"host", "keep-alive", "location", "max-forwards", "proxy-authenticate", "proxy-authorization", "proxy-connection",
	"range", "set-cookie", "te", "trailer",
	"transfer-encoding", "www-authenticate", "x-forwarded-for"}

func forbidden(name []byte) bool {
	return slices.ContainsFunc(forbiddenTrailers, func(f string) bool { return request.Is(name, f) })
}

// fill reads from the socket: into p if that takes only bytes of the body, else for decode. n is
// the number of bytes in p.
func (u *Upload) fill(p []byte) (n int, err error) {
	if u.state == inData && len(u.raw) == 0 {
		n, err = u.receive(p[:min(int64(len(p)), u.left)])
		u.took(n)
		return n, err
	}
	have := len(u.raw)
	n, err = u.receive(u.raw[have:cap(u.raw)])
	u.raw = u.raw[:have+n]
	return 0, err
}

// receive reads from the socket. Only the time in which the edge waits for the client counts, so a
// slow origin does not use it up. After the response has begun the client may take any time.
func (u *Upload) receive(p []byte) (int, error) {
	c := u.c
	for {
		now, answered := time.Now(), u.begun()
		due := now.Add(c.limits.Request*time.Duration(1+c.in.received/timeoutUnit) - u.waited)
		if answered {
			due = time.Time{}
		}
		if err := c.Conn.SetReadDeadline(due); err != nil {
			return 0, err
		}
		c.phase.enter(Reading, c.in.began)
		n, err := c.Conn.Read(p)
		c.phase.enter(Busy, now)
		u.waited += time.Since(now)
		c.in.received += int64(n)
		switch {
		case n > 0:
			return n, nil
		case err == io.EOF:
			return 0, io.ErrUnexpectedEOF
		case !answered && timedOut(err) && u.begun():
		default:
			return 0, err
		}
	}
}

// begun reports whether the response has begun.
func (u *Upload) begun() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.answered
}
