package h2

import (
	"io"
	"net/http"
	"os"
	"time"

	"github.com/iconedge/iconedge/edge/bodies"
)

// uploadCosts is the number of bytes that an upload takes besides those of its handler, for the
// request to the origin. What the client sends before the handler reads it counts when it arrives.
const uploadCosts = 32 << 10

// uploadStep is the number of bytes after which the client may send more, so that a handler that
// reads little at a time does not cause many frames.
const uploadStep = ourWindow / 4

// An Upload is the body of a request, which a Handler reads while it arrives. The client may
// send as much as its handler has read, and a window more. Only one goroutine at a time reads it.
type Upload struct {
	Length  int64 // as announced; -1: unknown
	Expects bool  // the client waits for a 100, which the first Read sends

	c    *Conn
	s    *stream
	more chan struct{} // signals that something has arrived; has room for one signal

	// Conn.mu guards these.
	buffer  []byte
	unread  int64 // bytes that the client sent, with padding, and for which its window is closed
	waits   waits // of Read for the client
	expects bool
	expired bool          // the client took too long
	pause   time.Duration // that the client may make; 0: it has a time for the whole body
	trailer []Field
}

// uploads reports whether the Handler reads the body of a request while it arrives.
func (c *Conn) uploads(q parsedHeaders) bool {
	return c.srv.config.Uploads && (q.length < 0 || q.length > bodies.Free || q.expects)
}

// startUpload makes start run the handler of a request whose body follows.
func (c *Conn) startUpload(s *stream, q parsedHeaders) error {
	u := &Upload{Length: q.length, Expects: q.expects, expects: q.expects, c: c, s: s, more: make(chan struct{}, 1)}
	if c.srv.config.Bodies.Reserve(&s.held, uploadCosts) != nil {
		s.request.Refuse = http.StatusServiceUnavailable
		return c.runHandler(s)
	}
	s.upload, s.request.Upload = u, u
	return c.runHandler(s)
}

// waitsForBody reports whether the handler waits for more of the request's body.
func (s *stream) waitsForBody() bool { return s.upload != nil && !s.upload.waits.since.IsZero() }

// add appends a part of the body. size is that of its frame. It returns false if the client holds
// too much memory.
func (u *Upload) add(part []byte, size int64) bool {
	if u.c.srv.config.Bodies.Reserve(&u.s.held, int64(uploadCosts+len(u.buffer)+len(part))) != nil {
		return false
	}
	u.buffer = append(u.buffer, part...)
	u.unread += size
	u.wake()
	return true
}

func (u *Upload) wake() {
	select {
	case u.more <- struct{}{}:
	default:
	}
}

// Whole reports whether all of the body has arrived.
func (u *Upload) Whole() bool {
	u.c.mu.Lock()
	defer u.c.mu.Unlock()
	return u.s.whole && !u.s.short()
}

// Relax lets the client pause for a time between two parts, instead of the time that it has for the
// whole body.
func (u *Upload) Relax(pause time.Duration) {
	u.c.mu.Lock()
	defer u.c.mu.Unlock()
	u.pause = pause
}

// Trailer returns the trailer fields, after Read has returned io.EOF.
func (u *Upload) Trailer() []Field {
	u.c.mu.Lock()
	defer u.c.mu.Unlock()
	return u.trailer
}

// Read sends the 100 that the client waits for, and reads a part of the body. It fails when the
// stream has ended.
func (u *Upload) Read(p []byte) (int, error) {
	u.c.mu.Lock()
	defer u.c.mu.Unlock()
	for {
		select {
		case <-u.s.gone:
			return 0, io.ErrUnexpectedEOF
		default:
		}
		if u.expired {
			return 0, os.ErrDeadlineExceeded
		}
		if n := copy(p, u.buffer); n > 0 {
			u.buffer = u.buffer[:copy(u.buffer, u.buffer[n:])]
			return n, u.returnWindow()
		}
		if u.s.whole {
			u.buffer = nil
			if u.s.short() {
				return 0, u.cutShort()
			}
			u.c.srv.config.Bodies.Arrived(&u.s.held)
			return 0, io.EOF
		}
		if err := u.wait(); err != nil {
			return 0, err
		}
	}
}

// cutShort returns the error of a body that its client has not sent to the end, because the
// response has begun. It waits for the end of the response, at most for shortFor, because the error
// ends the request to the origin.
func (u *Upload) cutShort() error {
	u.c.mu.Unlock()
	defer u.c.mu.Lock()
	timer := time.NewTimer(shortFor)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-u.s.gone:
	}
	return io.ErrUnexpectedEOF
}

const shortFor = time.Second

// returnWindow lets the client send more, when the handler has read enough.
func (u *Upload) returnWindow() error {
	read := u.unread - int64(len(u.buffer))
	if u.s.whole || read < uploadStep && len(u.buffer) > 0 {
		return nil
	}
	u.unread -= read
	u.s.credit += read
	u.c.returnWindow(u.s.id, read)
	return u.c.flush()
}

// wait waits until the client has sent something, without holding the lock.
func (u *Upload) wait() error {
	if u.expects && !u.s.headersSent {
		u.expects = false
		u.c.sendContinue(u.s.id)
		if err := u.c.flush(); err != nil {
			return err
		}
	}
	u.waits.begin(time.Now())
	u.c.mu.Unlock()
	select {
	case <-u.more:
	case <-u.s.gone:
	}
	u.c.mu.Lock()
	u.waits.end(time.Now())
	return nil
}

// late reports whether the client takes too long. Only the time in which the handler waits for it
// counts.
func (u *Upload) late(cfg Config, now time.Time) bool {
	if u.pause > 0 {
		return !u.expired && !u.waits.since.IsZero() && now.Sub(u.waits.since) > u.pause
	}
	return !u.expired && u.waits.sum(now) > cfg.Receive*time.Duration(1+u.s.received/timeoutUnit)
}
