package compress

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iconedge/iconedge/edge/cache/entry"
	"github.com/iconedge/iconedge/edge/coding"
)

const (
	// MaxWhole is the number of bytes of a body that is coded at once, before its first byte is
	// sent. A longer one is coded while it is sent.
	MaxWhole = 256 << 10
	// queue is the number of parts for each worker that may wait to be coded. Beyond it responses
	// begin without a coding.
	queue = 8
	// maxHeavy is the number of streams in br and zstd at a time. Each holds less than a megabyte.
	maxHeavy = 64
	// pause is how long a body may pause until all of it so far is sent. An origin that sends byte
	// by byte makes as many flushes a second as that permits.
	pause = 2 * time.Millisecond
	// part is the number of bytes of a body that are coded at once, firstPart that of a body of
	// which little arrives at a time.
	part, firstPart = 16 << 10, 2 << 10
)

// A Sender codes responses while they are sent. Half of the processors work on that at most: a
// response that begins when others wait for them goes out as it is. It is safe for concurrent use.
type Sender struct {
	log     *slog.Logger
	workers chan struct{} // has one for each part that is being coded
	waiting atomic.Int64  // parts that wait for a worker
	heavy   atomic.Int64  // streams that hold much memory

	sent    [entry.Codings]atomic.Uint64
	busy    atomic.Uint64
	in, out atomic.Uint64
}

// NewSender returns a Sender for this process.
func NewSender(log *slog.Logger) *Sender {
	return &Sender{log: log, workers: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
}

// A Plan is the decision to send a response in a coding. Exactly one of its methods is called.
type Plan struct {
	s      *Sender
	coding entry.Coding
	heavy  bool // it counts among the streams that hold much memory
}

// Coding returns the coding of the response.
func (p *Plan) Coding() entry.Coding { return p.coding }

// A Form is how the body of a response comes.
type Form uint8

// The forms of bodies.
const (
	Whole    Form = iota // it is there
	Arriving             // it is coded while it arrives, or is too long to be coded at once
	Lasting              // it may take hours, as that of events does
)

// Plan decides in which coding a response is sent to a client with this Accept-Encoding. nil means
// that it goes out as it is: the client accepts no coding, or the edge is busy.
func (s *Sender) Plan(accept string, f Form) *Plan {
	c := choose(accept, f == Lasting)
	if c == entry.Identity {
		return nil
	}
	if s.waiting.Load() >= int64(queue*cap(s.workers)) {
		s.busy.Add(1)
		return nil
	}
	p := &Plan{s: s, coding: c}
	if f == Arriving && !coding.IsLight(c) {
		if p.heavy = s.heavy.Add(1) <= maxHeavy; !p.heavy {
			s.heavy.Add(-1)
			if p.coding = choose(accept, true); p.coding == entry.Identity {
				s.busy.Add(1)
				return nil
			}
		}
	}
	return p
}

// Sends reports whether a client with this Accept-Encoding may get a coding while a response is
// sent.
func Sends(accept string) bool { return choose(accept, false) != entry.Identity }

// choose returns the coding that an Accept-Encoding selects of those that responses may have while
// they are sent.
func choose(accept string, light bool) entry.Coding {
	var names [entry.Codings]string
	all := coding.Sent(light)
	for i, c := range all {
		names[i] = c.String()
	}
	return entry.Select(accept, names[:len(all)]...)
}

// Drop ends a plan that is not carried out.
func (p *Plan) Drop() {
	if p.heavy {
		p.s.heavy.Add(-1)
	}
}

// Whole returns a body in the coding. ok is false if that would not be shorter.
func (p *Plan) Whole(body []byte) (coded []byte, ok bool) {
	defer p.Drop()
	out := bytes.NewBuffer(make([]byte, 0, len(body)/3+64))
	stream := coding.NewStream(p.coding, out)
	err := p.s.work(func() error {
		if _, err := stream.Write(body); err != nil {
			return err
		}
		return stream.Close()
	})
	if err != nil {
		return nil, false // of a panic, after which the encoder is not used any more
	}
	stream.Free()
	if out.Len() >= len(body) {
		return nil, false
	}
	p.count(len(body), out.Len())
	p.s.sent[p.coding].Add(1)
	return out.Bytes(), true
}

func (p *Plan) count(in, out int) {
	p.s.in.Add(uint64(in))
	p.s.out.Add(uint64(out))
}

// work calls f, with at most as many others at a time as there are workers. A panic of an encoder
// becomes an error.
func (s *Sender) work(f func() error) (err error) {
	s.waiting.Add(1)
	s.workers <- struct{}{}
	s.waiting.Add(-1)
	defer func() {
		<-s.workers
		if p := recover(); p != nil {
			s.log.Error("panic while compressing", "panic", fmt.Sprint(p))
			err = errEncoder
		}
	}()
	return f()
}

var errEncoder = errors.New("an encoder has failed")

// Stream returns a body in the coding. The body is read on a goroutine of its own, so that all of
// it so far can be sent whenever it pauses. An error of the body becomes one of the coded body,
// which then has no end. Close may be called on any goroutine, also during Read, and closes the
// body.
func (p *Plan) Stream(body io.ReadCloser) io.ReadCloser {
	s := &sentBody{Plan: p, body: body, parts: make(chan arrived), used: make(chan struct{}, 1), gone: make(chan struct{})}
	s.stream = coding.NewStream(p.coding, &s.out)
	p.s.sent[p.coding].Add(1)
	go s.receive()
	return s
}

// An arrived is a part of a body, or its end.
type arrived struct {
	bytes []byte
	err   error // io.EOF at the end; nil: more follows
}

// A sentBody is a body in a coding.
type sentBody struct {
	*Plan
	body  io.ReadCloser
	parts chan arrived  // from the goroutine that reads body
	used  chan struct{} // has one when the last part is coded
	gone  chan struct{} // closed by Close
	once  sync.Once
	err   error     // why the coded body ends after out
	since time.Time // when the first part came that is not flushed; zero: all are

	mu     sync.Mutex // held while stream and out are used, so that Close may free them
	stream coding.Stream
	out    bytes.Buffer // coded bytes that are not read yet
	closed bool
}

// receive reads the body, and passes its parts on. The next read begins when a part is coded.
func (s *sentBody) receive() {
	buf := make([]byte, firstPart)
	for {
		n, err := s.body.Read(buf)
		select {
		case s.parts <- arrived{buf[:n], err}:
		case <-s.gone:
			return
		}
		if err != nil {
			return
		}
		select {
		case <-s.used:
		case <-s.gone:
			return
		}
		switch { // a body that comes in small parts, such as one of events, may take hours
		case n == len(buf) && n < part:
			buf = make([]byte, part)
		case n <= firstPart/2 && len(buf) == part:
			buf = make([]byte, firstPart)
		}
	}
}

// Read returns coded bytes, and waits for them.
func (s *sentBody) Read(p []byte) (int, error) {
	for {
		if n, err := s.held(p); n > 0 || err != nil || len(p) == 0 {
			return n, err
		}
		a, ok, err := s.next()
		if err != nil {
			return 0, err
		}
		if err := s.code(a, !ok); err != nil {
			return 0, err
		}
	}
}

// held reads bytes that are coded already.
func (s *sentBody) held(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return 0, os.ErrClosed
	case s.out.Len() > 0:
		return s.out.Read(p)
	}
	if s.out.Cap() > 2*part {
		s.out = bytes.Buffer{}
	}
	return 0, s.err
}

// next waits for the next part of the body. ok is false if the body pauses while bytes of it are
// not flushed.
func (s *sentBody) next() (a arrived, ok bool, err error) {
	if s.since.IsZero() {
		select {
		case a = <-s.parts:
			return a, true, nil
		case <-s.gone:
			return a, false, os.ErrClosed
		}
	}
	select {
	case a = <-s.parts:
		return a, true, nil
	default:
	}
	// A client that is slower than the origin makes no pauses of the body.
	timer := time.NewTimer(max(time.Until(s.since.Add(pause)), pause/4))
	defer timer.Stop()
	select {
	case a = <-s.parts:
		return a, true, nil
	case <-timer.C:
		return a, false, nil
	case <-s.gone:
		return a, false, os.ErrClosed
	}
}

// code codes a part of the body, or, if flush is set, sends all of it so far.
func (s *sentBody) code(a arrived, flush bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return os.ErrClosed
	}
	before := s.out.Len()
	err := s.s.work(func() error {
		switch {
		case flush:
			return s.stream.Flush()
		case a.err == io.EOF:
			if _, err := s.stream.Write(a.bytes); err != nil {
				return err
			}
			return s.stream.Close()
		}
		if _, err := s.stream.Write(a.bytes); err != nil || a.err == nil {
			return err
		}
		return s.stream.Flush() // the client gets all that has arrived before the error
	})
	s.count(len(a.bytes), s.out.Len()-before)
	switch {
	case err != nil:
		s.stream = nil // it is not used any more
		return err
	case flush:
		s.since = time.Time{}
		return nil
	case a.err != nil:
		s.err = a.err
		return nil
	}
	if s.since.IsZero() && len(a.bytes) > 0 {
		s.since = time.Now()
	}
	s.used <- struct{}{}
	return nil
}

// Close ends the coded body, and closes the body.
func (s *sentBody) Close() (err error) {
	s.once.Do(func() {
		close(s.gone)
		err = s.body.Close()
		s.Drop()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed = true; s.stream != nil {
			s.stream.Free()
			s.stream = nil
		}
	})
	return err
}

// SenderStats are counts for metrics.
type SenderStats struct {
	Sent    map[string]uint64 // responses that were sent in a coding, by name
	Busy    uint64            // responses sent as they are, because too many others waited
	In, Out uint64            // bytes of the bodies of Sent, before and after
}

// Stats returns the current counts.
func (s *Sender) Stats() SenderStats {
	of := SenderStats{Sent: map[string]uint64{}, Busy: s.busy.Load(), In: s.in.Load(), Out: s.out.Load()}
	for _, c := range coding.Sent(false) {
		of.Sent[c.String()] = s.sent[c].Load()
	}
	return of
}
