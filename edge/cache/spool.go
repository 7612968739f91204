package cache

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
	window   = 256 << 10        // bytes by which the slowest reader may be behind, where the body is not kept
	chunk    = 32 << 10         // bytes that are read at once
	patience = 30 * time.Second // a reader that holds the others up so long without reading is cut
)

var (
	// ErrGone says that the beginning of a body is no longer held: this reader comes too late.
	ErrGone = errors.New("the beginning of the body is no longer held")
	// ErrAbandoned says that nobody reads a body any more that is not to be kept either.
	ErrAbandoned = errors.New("nobody reads the body any more")
	// ErrSlow says that a reader held the others up, and was cut.
	ErrSlow = errors.New("the body was not read for too long")
)

// A Spool is a body that still comes. Several clients read it, each at its own pace, from the beginning. Up to a bound all of
// it is kept, to be stored; a longer one is a window that moves on with the slowest reader, and the source waits for that.
type Spool struct {
	source io.ReadCloser
	length int64 // as declared; -1: unknown
	keep   int64
	shut   sync.Once
	ended  chan struct{} // closed when nothing comes any more, and what came is stored

	mu      sync.Mutex
	moved   sync.Cond // something came, was read, or ended
	held    []byte    // of the body, from base on
	base    int64
	readers map[*reader]struct{}
	coming  *reader // stands for the first reader, until it comes
	stalled int     // those who wait for something to move, the source perhaps among them
	done    bool
	err     error // how it ended; nil: well
}

// NewSpool makes a spool of a body whose first bytes have been read already, and are the spool's from now on. It is length bytes long in all, or of unknown
// length, -1; up to keep bytes of it are kept to be stored, 0 for none. Run or Keep must be called.
func NewSpool(r io.ReadCloser, first []byte, length, keep int64) *Spool {
	s := &Spool{source: r, length: length, keep: keep, held: first, readers: map[*reader]struct{}{}, ended: make(chan struct{})}
	if first == nil {
		s.held = []byte{} // an empty body is one
	}
	s.moved.L = &s.mu
	s.coming = &reader{spool: s, last: time.Now()}
	s.readers[s.coming] = struct{}{}
	return s
}

// Length is the length of the body as it was declared; -1: unknown.
func (s *Spool) Length() int64 { return s.length }

// Run reads the body until its end, and returns all of it if it came whole and was no larger than what may be kept; nil, if it
// was larger. It closes the source. The error is that of the source, or ErrAbandoned.
func (s *Spool) Run() (body []byte, err error) {
	defer close(s.ended)
	return s.run()
}

// Keep is Run for a body that is to be stored by a function, which is called with it if there is one. Fetches that have ended
// with this spool are joined until that is done, so that nobody asks for what is about to be there.
func (s *Spool) Keep(store func(body []byte)) error {
	defer close(s.ended)
	body, err := s.run()
	if body != nil {
		store(body)
	}
	return err
}

func (s *Spool) run() ([]byte, error) {
	defer s.close()
	buf := make([]byte, chunk)
	err := s.add(nil) // what was read already may be too much
	for err == nil {
		if err = s.room(); err != nil {
			break
		}
		var n int
		n, err = s.source.Read(buf)
		if wrong := s.add(buf[:n]); wrong != nil {
			err = wrong
		}
	}
	return s.finish(err)
}

// room waits until the slowest reader is near enough, if the body is not kept. One that reads nothing for too long meanwhile is
// cut; one that is in Read is about to go on.
func (s *Spool) room() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	begun := time.Now()
	for s.windowed() {
		if len(s.readers) == 0 {
			return ErrAbandoned
		}
		slow := s.slowest()
		if s.total()-slow.pos < window {
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

// wait waits until something moves, at most so long.
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

// add appends what came.
func (s *Spool) add(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.length >= 0 && s.total()+int64(len(b)) > s.length {
		return fmt.Errorf("reading a body: more came than the %d bytes that were declared", s.length)
	}
	s.held = append(s.held, b...)
	s.trim()
	s.moved.Broadcast()
	return nil
}

// finish ends the body for its readers, and returns it where all of it is there to be stored. A body that is shorter than it was
// declared does not end well.
func (s *Spool) finish(err error) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.moved.Broadcast()
	switch {
	case s.windowed() && len(s.readers) == 0:
		err = ErrAbandoned // whatever closing the source made of it
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
		s.held = bytes.Clone(s.held) // without the room to grow
	}
	return slices.Clip(s.held), nil
}

func (s *Spool) total() int64 { return s.base + int64(len(s.held)) }

// windowed reports whether the body is more than may be kept.
func (s *Spool) windowed() bool { return max(s.total(), s.length) > s.keep || s.keep == 0 }

func (s *Spool) close() { s.shut.Do(func() { s.source.Close() }) }
