package h2

import (
	"io"
	"sync/atomic"
	"syscall"
)

// A LoopSocket is the socket of a connection on an event loop. Its methods return syscall.EAGAIN
// where they would have to wait.
type LoopSocket interface {
	TryRead(p []byte) (int, error)
	TryWrite(p []byte) (int, error)
}

// A linkLoop is the state of a Link that may be on an event loop. Only the reader of the Link uses
// dry and ending.
type linkLoop struct {
	socket LoopSocket
	on     atomic.Bool
	dry    bool // nothing can be read until the next event
	ending bool // the peer may have sent its last byte, which no other event announces
}

// ErrWait is the error of a Read that would have to wait for an event. crypto/tls goes on where it
// was with the next Read, because the error is temporary.
var ErrWait error = waitError{}

type waitError struct{}

func (waitError) Error() string   { return "nothing to read before the next event" }
func (waitError) Timeout() bool   { return true }
func (waitError) Temporary() bool { return true }

// OnLoop records the socket of a connection that an event loop may serve. It must be called before
// the first Read.
func (l *Link) OnLoop(s LoopSocket) { l.loop.socket = s }

// TryOnly makes calls return where they would wait (true), or wait (false). Only the reader of the
// Link may call it. It returns the mode before.
func (l *Link) TryOnly(on bool) (before bool) {
	if before = l.loop.on.Swap(on); before != on {
		l.loop.dry, l.loop.ending = false, false
	}
	return before
}

// Event records an event of the socket. The end of the stream may follow the bytes of an event that
// is ending.
func (l *Link) Event(readable, ending bool) {
	if readable {
		l.loop.dry = false
	}
	l.loop.ending = l.loop.ending || ending
}

// Dry reports whether nothing can be read until the next event, neither from the socket nor from the
// buffer.
func (l *Link) Dry() bool { return l.in == nil && l.loop.dry }

// fillNow reads what has arrived.
func (l *Link) fillNow() error {
	if l.loop.dry {
		return ErrWait
	}
	b := l.take()
	n, err := l.loop.socket.TryRead(b)
	if err == syscall.EAGAIN {
		l.release()
		l.loop.dry, l.loop.ending = true, false
		return ErrWait
	}
	if err != nil && err != io.EOF {
		n = 0
	}
	l.loop.dry = err == nil && n < len(b) && !l.loop.ending
	return l.readDone(n, err)
}

// sendNow sends as much of p as there is room for, and keeps the rest.
func (l *Link) sendNow(p []byte) error {
	n, err := l.loop.socket.TryWrite(p)
	if err == syscall.EAGAIN {
		l.gather(p[n:])
		return nil
	}
	return err
}

// sendPendingNow sends as much as there is room for of the bytes that are kept.
func (l *Link) sendPendingNow() error {
	n, err := l.loop.socket.TryWrite(*l.pending)
	if err == syscall.EAGAIN {
		*l.pending = (*l.pending)[:copy(*l.pending, (*l.pending)[n:])]
		return nil
	}
	l.drop()
	return err
}

// Flush sends the bytes that are kept. It returns syscall.EAGAIN if some are left.
func (l *Link) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending == nil {
		return nil
	}
	err := l.sendPending()
	if err == nil && l.pending != nil {
		err = syscall.EAGAIN
	}
	return err
}

// Unsent reports whether bytes are kept for which there was no room.
func (l *Link) Unsent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pending != nil
}
