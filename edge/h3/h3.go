// Package h3 answers requests of HTTP/3 (RFC 9114) whose responses are ready, on the raw request
// streams of quic-go. It looks at the head of a request without consuming it, decodes its fields as
// views, without allocating, and passes an eligible request (package request) to an Answerer. The
// response, head and body, is one write.
//
// Every other request stays on its stream as it arrived, for quic-go's http3: bodies, malformed and
// unusual heads, other methods. So http3 alone decides which error a client gets for its fields.
// The frames around them and all unidirectional streams are read here, because http3 accepts many
// that the RFCs forbid.
//
// The package knows nothing of caches.
package h3

import (
	"errors"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/edge/request"
)

// An Answerer returns ready responses.
type Answerer interface {
	// AnswerH3 appends to dst a HEADERS frame made with BeginHead, AppendField and EndHead, and, if
	// there is a body, a DATA frame with it. If it is not ok, dst is unchanged and http3 must
	// answer.
	AnswerH3(dst []byte, r *request.Request) (out []byte, ok bool)
}

// An Account counts what the client of a connection uses.
type Account interface {
	// Used records that a request was answered without waiting for the client.
	Used(now time.Time)
	// Take calls write, which waits until the client takes a response of size bytes. If the client
	// holds too much it returns ErrExcessive instead.
	Take(size int, write func() error) error
}

// ErrExcessive is the error of an Account whose client holds too much.
var ErrExcessive = errors.New("the client holds too many responses that it has not taken")

// A Conn answers the requests of a QUIC connection. It is safe for concurrent use.
type Conn struct {
	Answerer Answerer
	Account  Account
	Client   func() netip.Addr // of the connection, now
	// The client is another edge of our own, according to its certificate.
	Tier    bool
	Send    time.Duration // until the client has taken a response
	MaxList int           // SETTINGS_MAX_FIELD_SECTION_SIZE, in bytes
	Close   func(http3.ErrCode)

	opened   [streamDecoder + 1]atomic.Bool // unidirectional streams of the client, by type
	accepted atomic.Int64                   // request streams
	awaited  atomic.Int64                   // bytes of heads of which the rest has not arrived
	mu       sync.Mutex
	requests map[quic.StreamID]*quic.Stream // those that http3 answers
}

// Hold remembers the stream of a request that http3 answers, until release is called.
func (c *Conn) Hold(stream *quic.Stream) (release func()) {
	id := stream.StreamID()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests == nil {
		c.requests = map[quic.StreamID]*quic.Stream{}
	}
	c.requests[id] = stream
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.requests, id)
	}
}

// Request returns the stream of a request that http3 answers; nil: it has ended, or there is none.
func (c *Conn) Request(id quic.StreamID) *quic.Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests[id]
}

// prioritise follows a PRIORITY_UPDATE (RFC 9218, section 7.1). One that comes before its request
// is ignored.
func (c *Conn) prioritise(id quic.StreamID, value []byte) {
	if stream := c.Request(id); stream != nil {
		stream.SetPriority(priority(value))
	}
}

const (
	// maxHead is the length in bytes of the longest request that the Answerer gets.
	maxHead = 8 << 10
	// maxQueued is how many bytes of a response quic-go may hold before the client has room for
	// them: as many as a packet has. http3 leaves as many to it at the end of a response.
	maxQueued = 1452
	// patience is how long Answer waits for bytes of a request whose end has arrived before them.
	patience = time.Millisecond
)

// A scratch is the memory for one request.
type scratch struct {
	decoder
	request request.Request
	head    [maxHead]byte
	out     []byte
	end     *end
}

// An end learns from quic-go where a stream ends.
type end struct {
	size  atomic.Int64 // negative: the end has not arrived
	learn func(size int64)
}

func newEnd() *end {
	e := &end{}
	e.learn = e.size.Store
	return e
}

var scratches = sync.Pool{New: func() any { return &scratch{end: newEnd()} }}

// Answer answers the request on a stream if all of it has arrived and its response is ready, and
// does not wait for the client. Otherwise it returns a function that may wait: for the head of the
// request, or until the client has taken the response. That reports whether the request is
// answered; if not, http3 must answer, and nothing has been consumed. If Answer returns nil, http3
// must answer too.
func (c *Conn) Answer(stream *quic.Stream) (later func() bool, done bool) {
	c.accepted.Add(1)
	s, now := scratches.Get().(*scratch), time.Now()
	size := s.sizeOf(stream)
	if size > 0 {
		stream.SetReadDeadline(now.Add(patience))
		_, err := stream.Peek(s.head[:size])
		stream.SetReadDeadline(time.Time{})
		if err != nil {
			size = 0
		}
	}
	switch {
	case size == 0:
		s.free()
		return func() bool { return c.answerLate(stream) }, false
	case !c.answer(s, size, now):
		s.free()
		return nil, false
	case c.send(stream, s):
		s.free()
		return nil, true
	}
	return func() bool {
		c.wait(stream, s)
		s.free()
		return true
	}, false
}

// answerLate waits for the head of a request, and answers if its response is ready.
func (c *Conn) answerLate(stream *quic.Stream) bool {
	s := scratches.Get().(*scratch)
	defer s.free()
	if !c.awaitHead(stream, s) {
		return false
	}
	size := s.sizeOf(stream)
	if size == 0 {
		return false
	}
	if _, err := stream.Peek(s.head[:size]); err != nil || !c.answer(s, size, time.Now()) {
		return false
	}
	if !c.send(stream, s) {
		c.wait(stream, s)
	}
	return true
}

// free gives a scratch back to the pool.
func (s *scratch) free() {
	s.request.Reset()
	scratches.Put(s)
}

// awaitHead waits for the HEADERS frame with which a stream begins. It reports false if the stream
// begins with anything else.
func (c *Conn) awaitHead(stream *quic.Stream, s *scratch) bool {
	if _, err := stream.Peek(s.head[:leastHead]); err != nil {
		return false
	}
	start, length, ok := cutHead(s.head[:leastHead])
	size := start + length
	return ok && size <= maxHead && c.await(stream, s.head[:size]) == nil
}

// maxAwaited is how many bytes of heads may wait on the streams of a connection until all of each
// has come: half of the receive window with which edge/listen begins a connection. If all heads
// waited so, those that come in turns would leave no room for each other's rest.
const maxAwaited = 24 << 10

var errOverloaded = errors.New("too many heads of the connection are awaited")

// await peeks until b is full. It returns errOverloaded if http3 must read the head as it comes.
func (c *Conn) await(stream *quic.Stream, b []byte) error {
	size := int64(len(b))
	defer c.awaited.Add(-size)
	if c.awaited.Add(size) > maxAwaited {
		return errOverloaded
	}
	_, err := stream.Peek(b)
	return err
}

// sizeOf returns the size of a request whose end has arrived; 0: it has not, or the request is not
// of a size that the Answerer gets.
func (s *scratch) sizeOf(stream *quic.Stream) int {
	s.end.size.Store(-1)
	stream.SetReceiveFinalSizeCallback(s.end.learn)
	n := s.end.size.Load()
	if n < 0 {
		stream.SetReceiveFinalSizeCallback(nil)
		s.end = newEnd() // quic-go may be calling that of before
	}
	if n < leastHead || n > maxHead {
		return 0
	}
	return int(n)
}

// answer makes the response to a request of size bytes, if it is ready.
func (c *Conn) answer(s *scratch, size int, now time.Time) (ok bool) {
	if !s.parse(s.head[:size], c.MaxList) {
		return false
	}
	q := &s.request
	q.Secure, q.Tier, q.Client, q.Now, q.Fields = true, c.Tier, c.Client(), now, &s.decoder
	s.out, ok = c.Answerer.AnswerH3(s.out[:0], q)
	return ok
}

// send consumes the request and sends the response if that needs no waiting for the client.
func (c *Conn) send(stream *quic.Stream, s *scratch) bool {
	if f := s.Line("priority", 0); f != nil {
		stream.SetPriority(priority(f))
	}
	for err := error(nil); err != io.EOF; { // all of it has arrived
		if _, err = stream.Read(s.head[:]); err != nil && err != io.EOF {
			stream.CancelRead(quic.StreamErrorCode(http3.ErrCodeNoError))
			break
		}
	}
	if len(s.out) > maxQueued {
		return false
	}
	switch err := stream.TryWriteAll(s.out); {
	case errors.Is(err, quic.ErrWouldBlock):
		return false
	case err != nil: // the client does not want the response any more
		stream.CancelWrite(quic.StreamErrorCode(http3.ErrCodeRequestCanceled))
	default:
		stream.Close()
	}
	c.Account.Used(s.request.Now)
	return true
}

// wait sends the response while the client takes it.
func (c *Conn) wait(stream *quic.Stream, s *scratch) {
	err := c.Account.Take(len(s.out), func() error {
		stream.SetWriteDeadline(time.Now().Add(c.Send))
		_, err := stream.Write(s.out)
		return err
	})
	switch {
	case errors.Is(err, ErrExcessive):
		stream.CancelWrite(quic.StreamErrorCode(http3.ErrCodeExcessiveLoad))
	case err != nil: // so that the client sees that the response is incomplete
		stream.CancelWrite(quic.StreamErrorCode(http3.ErrCodeInternalError))
	default:
		stream.Close()
	}
}
