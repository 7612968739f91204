package collapse

import (
	"io"
	"os"
	"time"
)

// A reader reads a spool. The lock of the spool guards its fields.
type reader struct {
	spool *Spool
	pos   int64
	waits bool      // it is in Read
	last  time.Time // when its last call ended
	err   error     // why it ended
}

// Reader returns a reader of the body from its beginning. The error is ErrGone if the beginning is
// no longer held, and that of the source if the body has failed. The reader must be closed. If it
// is not read while others wait for it, it is cut with ErrSlow.
func (s *Spool) Reader() (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.placeholder
	switch {
	case s.err != nil:
		return nil, s.err
	case r != nil && r.err == nil:
		s.placeholder, r.last = nil, time.Now()
		return r, nil
	case s.base > 0 || s.direct:
		return nil, ErrGone
	}
	r = &reader{spool: s, last: time.Now()}
	s.readers[r] = struct{}{}
	return r, nil
}

// readable reports whether a reader can still begin.
func (s *Spool) readable() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base == 0 && s.err == nil
}

// Read waits for bytes. It ends with io.EOF if the body is complete, otherwise with the error of
// the source.
func (r *reader) Read(p []byte) (int, error) {
	n, direct, err := r.readHeld(p)
	if direct {
		return r.spool.source.Read(p)
	}
	return n, err
}

// readHeld reads what the spool holds. direct reports that the rest is at the source.
func (r *reader) readHeld(p []byte) (n int, direct bool, err error) {
	s := r.spool
	s.mu.Lock()
	defer s.mu.Unlock()
	r.waits = true
	defer func() { r.waits, r.last = false, time.Now() }()
	for {
		switch {
		case r.err != nil:
			return 0, false, r.err
		case r.pos < s.total() || len(p) == 0:
			n := copy(p, s.held[r.pos-s.base:])
			r.pos += int64(n)
			s.trim()
			return n, false, nil
		case s.direct:
			s.base, s.held = r.pos, []byte{}
			return 0, true, nil
		case s.done && s.err != nil:
			return 0, false, s.err
		case s.done:
			return 0, false, io.EOF
		}
		s.moved.Wait()
	}
}

// Close ends the reader. The last one to close ends the body too, if it is not to be stored.
func (r *reader) Close() error {
	s := r.spool
	s.mu.Lock()
	s.cut(r, os.ErrClosed)
	abandoned := s.windowed() && len(s.readers) == 0
	s.mu.Unlock()
	if abandoned {
		s.close() // ends a read that is in progress
	}
	return nil
}

// cut ends a reader, which no longer holds up the source.
func (s *Spool) cut(r *reader, why error) {
	if r.err == nil {
		r.err = why
		delete(s.readers, r)
		s.trim()
		s.moved.Broadcast()
	}
}

// slowest returns the reader that is behind all others.
func (s *Spool) slowest() (slow *reader) {
	for r := range s.readers {
		if slow == nil || r.pos < slow.pos {
			slow = r
		}
	}
	return slow
}

// trim frees the part that every reader has read, if the body is not to be stored, and lets the
// source continue.
func (s *Spool) trim() {
	slow := s.slowest()
	if slow == nil || !s.windowed() {
		return
	}
	if s.stalled > 0 {
		s.moved.Broadcast()
	}
	n := slow.pos - s.base
	switch rest := s.held[n:]; {
	case n < s.window/2: // moving the rest costs as much as reading it
		return
	case int64(cap(s.held)) > 4*s.window: // the buffer grew while the body could still be stored
		s.held = append(make([]byte, 0, 2*s.window), rest...)
	default:
		s.held = s.held[:copy(s.held, rest)]
	}
	s.base += n
}
