// Package h3 answers requests of HTTP/3 (RFC 9114) whose responses are ready, on the raw request
// streams of quic-go. It looks at the head of a request without consuming it, decodes its fields as
// views, without allocating, and passes an eligible request (package eligible) to an Answerer. The
// response, head and body, is one write.
//
// Whatever is not a plain request with a ready response stays on its stream as it arrived, for
// quic-go's http3: bodies, malformed and unusual heads, other methods. So http3 alone decides which
// error a client gets.
//
// The package knows nothing of caches. From quic-go's QPACK package it imports the static table.
package h3

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/iconedge/iconedge/edge/eligible"
)

// An Answerer returns ready responses.
type Answerer interface {
	// AnswerH3 appends to dst a HEADERS frame made with BeginHead, AppendField and EndHead, and, if
	// there is a body, a DATA frame with it. If it is not ok, dst is unchanged and http3 must
	// answer.
	AnswerH3(dst []byte, r *eligible.Request) (out []byte, ok bool)
}

// An Account counts what the client of a connection uses.
type Account interface {
	// Used records that a request was answered without waiting for the client.
	Used(now time.Time)
	// Take calls write, which waits until the client takes a response of size bytes. It fails
	// without calling write if the client holds too much.
	Take(size int, write func() error) error
}

// A Conn answers the requests of a QUIC connection. It is safe for concurrent use.
type Conn struct {
	Answerer Answerer
	Account  Account
	Client   func() netip.Addr // of the connection, now
	Tier     bool              // the client is another edge of our own, according to its certificate
	Send     time.Duration     // for the response, until the client has taken it
	MaxList  int               // SETTINGS_MAX_FIELD_SECTION_SIZE, in bytes
}

const (
	// maxHead is the length in bytes of the longest head that the Answerer gets.
	maxHead = 8 << 10
	// maxQueued is how many bytes quic-go takes without waiting: as many as a packet has.
	maxQueued = 1452
)

// A scratch is the memory for one request.
type scratch struct {
	decoder
	request eligible.Request
	head    [maxHead]byte
	out     []byte
	size    atomic.Int64 // bytes of the stream, once its end has arrived; else negative
	ended   func(size int64)
}

var scratches = sync.Pool{New: func() any {
	s := &scratch{}
	s.ended = func(size int64) { s.size.Store(size) }
	return s
}}

const maxScratch = 64 << 10 // bytes of a response that go back to the pool

// Answer answers the request on a stream if its response is ready. Otherwise it returns false and
// has consumed nothing. It waits until the head of the request has arrived, and until the client
// has taken the response.
func (c *Conn) Answer(stream *quic.Stream) bool {
	s := scratches.Get().(*scratch)
	size, ok := s.readHead(stream)
	ok = ok && s.parse(s.head[:size], c.MaxList)
	if ok {
		s.size.Store(-1)
		stream.SetReceiveFinalSizeCallback(s.ended)
		switch s.size.Load() {
		case int64(size):
		case -1: // a body may follow
			stream.SetReceiveFinalSizeCallback(nil)
			return false // quic-go may be calling ended, so s must not be used again
		default:
			ok = false
		}
	}
	if ok {
		q := &s.request
		q.Secure, q.Tier, q.Client, q.Now, q.Fields = true, c.Tier, c.Client(), time.Now(), &s.decoder
		s.out, ok = c.Answerer.AnswerH3(s.out[:0], q)
	}
	if ok {
		c.send(stream, s)
	}
	s.free()
	return ok
}

// free gives a scratch back to the pool.
func (s *scratch) free() {
	if s.request.Reset(); cap(s.out) > maxScratch {
		s.out = nil
	}
	scratches.Put(s)
}

// readHead reads the HEADERS frame with which a stream begins, without consuming it, and returns
// its length. It is not ok if the stream begins with anything else.
func (s *scratch) readHead(stream *quic.Stream) (size int, ok bool) {
	if _, err := stream.Peek(s.head[:leastHead]); err != nil {
		return 0, false
	}
	start, length, ok := cutHead(s.head[:leastHead])
	if size = start + length; !ok || size > maxHead {
		return 0, false
	}
	_, err := stream.Peek(s.head[:size])
	return size, err == nil
}

// send consumes the request and sends the response.
func (c *Conn) send(stream *quic.Stream, s *scratch) {
	if f := s.Line("priority", 0); f != nil {
		stream.SetPriority(priority(f))
	}
	for { // the whole request has arrived
		if _, err := stream.Read(s.head[:]); err != nil {
			break
		}
	}
	var err error
	if len(s.out) <= maxQueued {
		_, err = stream.Write(s.out)
		c.Account.Used(s.request.Now)
	} else {
		err = c.Account.Take(len(s.out), func() error {
			stream.SetWriteDeadline(s.request.Now.Add(c.Send))
			_, err := stream.Write(s.out)
			return err
		})
	}
	if err == nil {
		stream.Close()
		return
	}
	code := http3.ErrCodeInternalError
	if errors.Is(err, ErrExcessive) {
		code = http3.ErrCodeExcessiveLoad
	}
	stream.CancelWrite(quic.StreamErrorCode(code)) // the client sees that the response is incomplete
}

// ErrExcessive is the error of an Account whose client holds too much.
var ErrExcessive = errors.New("the client holds too many responses that it has not taken")
