package collapse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

const (
	// The slowest reader may be spoolWindow bytes behind if the body is not stored.
	spoolWindow = 256 << 10
	// oneWindow is that of a long body for one client, of which there may be thousands at a time.
	oneWindow = 64 << 10
	chunk     = 32 << 10         // bytes of one read
	patience  = 30 * time.Second // time after which a reader that holds up the others is cut
)

var (
	// ErrGone means that the beginning of a body is no longer held, so a new reader is too late.
	ErrGone = errors.New("the beginning of the body is no longer held")
	// ErrAbandoned means that a body that is not to be stored has no readers left.
	ErrAbandoned = errors.New("the body has no readers left")
	// ErrSlow means that a reader was cut because it held up the others.
	ErrSlow = errors.New("the body was not read for too long")
)

// A Spool is a body that is still arriving. Several clients read it from its beginning, each at its
// own pace. A body up to a limit is held entirely, to be stored. Of a longer one only a window is
// held, which moves with the slowest reader; the source waits for that reader.
type Spool struct {
	source    io.ReadCloser
	length    int64 // as declared; -1: unknown
	keep      int64
	window    int64 // bytes that are held if the body is not stored
	closeOnce sync.Once
	ended     chan struct{} // closed when the body has ended and is stored

	forOne bool // at most one reader reads more than the beginning

	mu          sync.Mutex
	moved       sync.Cond // bytes arrived or were read, or the body ended
	held        []byte    // of the body, from base on
	base        int64
	readers     map[*reader]struct{}
	placeholder *reader // placeholder for the first reader
	stalled     int     // callers that wait for s.moved, perhaps the source among them
	done        bool
	direct      bool  // the only reader reads the rest from the source
	err         error // why it ended; nil: it is complete
}

// NewSpool returns a spool of a body whose first bytes have been read already; the spool takes
// ownership of them. The body has length bytes in all; -1 means unknown. A body of up to keep bytes
// is held to be stored, 0 means that it is not. Run or RunAndStore must be called.
func NewSpool(r io.ReadCloser, first []byte, length, keep int64) *Spool {
	s := &Spool{source: r, length: length, keep: keep, window: spoolWindow, held: first,
		readers: map[*reader]struct{}{}, ended: make(chan struct{})}
	if first == nil {
		s.held = []byte{} // nil would mean that there is no body
	}
	s.moved.L = &s.mu
	s.placeholder = &reader{spool: s, last: time.Now()}
	s.readers[s.placeholder] = struct{}{}
	return s
}

// ForOne says that no second client will read the body, which is not to be stored. The first reader
// then reads the source itself, so that a slow client costs no more memory than one read, and an
// operator can have thousands of streams of events. It must be called before Run.
func (s *Spool) ForOne() {
	if s.forOne = true; s.length < 0 || s.length >= spoolWindow {
		s.window = oneWindow
	}
}

// Length returns the declared length of the body; -1: unknown.
func (s *Spool) Length() int64 { return s.length }

// Run reads the body to its end and closes the source. It returns the body if it is complete and
// within the limit, and nil if it is longer, or if its reader reads the rest. The error is that of
// the source, or ErrAbandoned.
func (s *Spool) Run() (body []byte, err error) {
	defer close(s.ended)
	return s.run()
}

// RunAndStore is Run, and calls store with the body if there is one. Callers can join a fetch with
// this spool until store returns, so that no other request is sent in the meantime.
func (s *Spool) RunAndStore(store func(body []byte)) error {
	defer close(s.ended)
	body, err := s.run()
	if body != nil {
		store(body)
	}
	return err
}

func (s *Spool) run() (body []byte, err error) {
	defer func() {
		if !s.direct {
			s.close()
		}
	}()
	buf := make([]byte, s.readSize())
	err = s.add(nil) // the bytes that were read before may exceed the length
	for err == nil {
		if err = s.room(); err != nil {
			break
		}
		var n int
		n, err = s.source.Read(buf)
		if wrong := s.add(buf[:n]); wrong != nil {
			err = wrong
		}
		if err == nil && s.handOver() {
			return nil, nil
		}
	}
	return s.finish(err)
}

// handOver leaves the rest of a body for one client to its reader, once there is one.
func (s *Spool) handOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forOne && s.placeholder == nil && len(s.readers) == 1 {
		s.direct = true
		s.moved.Broadcast()
	}
	return s.direct
}

// readSize returns the size of one read: a short body of known length needs no more.
func (s *Spool) readSize() int64 {
	if s.length < 0 || s.length >= chunk {
		return chunk
	}
	return s.length + 1
}

// room waits until the slowest reader is near enough, if the body is not to be stored. It cuts a
// reader that reads nothing for too long; one that is in Read is about to continue.
func (s *Spool) room() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	begun := time.Now()
	for s.windowed() {
		if len(s.readers) == 0 {
			return ErrAbandoned
		}
		slow := s.slowest()
		if s.total()-slow.pos < s.window {
			return nil
		}
		if slow.last.After(begun) {
			begun = slow.last
		}
		if left := time.Until(begun.Add(patience)); left > 0 || slow.waits {
			s.wait(max(left, time.Second))
		} else {
			s.cut(slow, ErrSlow)
		}
	}
	return nil
}

// wait waits for s.moved, at most for a duration.
func (s *Spool) wait(atMost time.Duration) {
	timer := time.AfterFunc(atMost, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.moved.Broadcast()
	})
	defer timer.Stop()
	s.stalled++
	s.moved.Wait()
	s.stalled--
}

// add appends bytes that arrived.
func (s *Spool) add(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.length >= 0 && s.total()+int64(len(b)) > s.length {
		return fmt.Errorf("reading a body: it exceeds its declared length of %d bytes", s.length)
	}
	s.held = append(s.held, b...)
	s.trim()
	s.moved.Broadcast()
	return nil
}

// finish ends the body for its readers, and returns it if it is complete and to be stored. A body
// shorter than its declared length is an error.
func (s *Spool) finish(err error) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.moved.Broadcast()
	switch {
	case s.windowed() && len(s.readers) == 0:
		err = ErrAbandoned // rather than the error that closing the source caused
	case err == io.EOF && s.length > s.total():
		err = io.ErrUnexpectedEOF
	case err == io.EOF:
		err = nil
	}
	s.done, s.err = true, err
	if err != nil || s.windowed() {
		return nil, err
	}
	if cap(s.held)-len(s.held) > len(s.held)/8 {
		s.held = bytes.Clone(s.held) // without spare capacity
	}
	return slices.Clip(s.held), nil
}

func (s *Spool) total() int64 { return s.base + int64(len(s.held)) }

// windowed reports whether the body is not held entirely.
func (s *Spool) windowed() bool { return max(s.total(), s.length) > s.keep || s.keep == 0 }

func (s *Spool) close() { s.closeOnce.Do(func() { s.source.Close() }) }
