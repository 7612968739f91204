package h1

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// Deadlines apply to a whole request and to a whole response, not to a single read or write, so
// that a client that drips bytes is cut off like one that stops. A request or response of more than
// a MiB has the same time again for each further MiB.

const (
	timeoutUnit = 1 << 20 // the number of bytes that a timeout is for

	// minPerPeriod is the number of bytes that must have arrived by the end of each period to get
	// the next one. Otherwise a client could announce 8 MiB, drip, and have more time than others.
	minPerPeriod = 64 << 10
)

// allowance returns how long so many bytes may take.
func allowance(each time.Duration, bytes int64) time.Duration {
	return each * time.Duration(max(1, (bytes+timeoutUnit-1)/timeoutUnit))
}

// extension returns how long after its beginning an incomplete request may go on, given the time
// that it has taken so far. It is not ok if that time is over.
func extension(each, taken time.Duration, received, declared int64) (until time.Duration, ok bool) {
	periods := taken / each
	return (periods + 1) * each, taken < allowance(each, max(received, declared)) && received >= int64(periods)*minPerPeriod
}

// incoming is the progress of the request that is being read.
type incoming struct {
	began    time.Time // its first byte; zero: none has arrived
	received int64
	declared int64 // head and body; 0: unknown
}

// extended returns the deadline for the rest of the request. It is not ok if its time is over.
func (r *incoming) extended(each time.Duration, now time.Time) (until time.Time, ok bool) {
	after, ok := extension(each, now.Sub(r.began), r.received, r.declared)
	return r.began.Add(after), ok
}

// outgoing is the progress of the server's response.
type outgoing struct {
	declared atomic.Int64 // an interim response may be written while it is set
	written  int64
	waited   time.Duration // for the client, in writes so far
}

// left returns how long the client may take for n more bytes.
func (r *outgoing) left(each time.Duration, n int) time.Duration {
	return allowance(each, max(r.written+int64(n), r.declared.Load())) - r.waited
}

// add records that a write of n bytes waited for the client.
func (r *outgoing) add(n int, waited time.Duration) {
	r.written, r.waited = r.written+int64(n), r.waited+waited
}

// A renewal says when to move a deadline: only once per renewInterval, because setting a timer
// costs more than a hit. Its value is until when the deadline stays; zero: it must be set.
type renewal time.Time

// due reports whether the deadline has to be moved now.
func (r *renewal) due(now time.Time) bool {
	if !now.After(time.Time(*r)) {
		return false
	}
	*r = renewal(now.Add(renewInterval))
	return true
}

// force makes the next call of due return true, because another deadline was set meanwhile.
func (r *renewal) force() { *r = renewal{} }

// expectRequest releases the memory of the last request, and sets the deadline for the next one,
// which has not begun.
func (c *Conn) expectRequest(now time.Time) error {
	if !c.in.began.IsZero() {
		c.limits.Bodies.Release(&c.share)
	}
	c.in = incoming{}
	if !c.reading.due(now) {
		return nil
	}
	c.phase.enter(Idle, now)
	if c.delivery.sent > 0 && c.overdue(now) {
		c.Abort()
		return errOverdue
	}
	return c.Conn.SetReadDeadline(now.Add(c.limits.Idle + renewInterval))
}

// finishRequest ends a request that the server has answered, and expects the next one.
func (c *Conn) finishRequest() error {
	if c.in.began.IsZero() {
		return nil
	}
	c.out = outgoing{}
	now := time.Now()
	c.phase.enter(Idle, now)
	return c.expectRequest(now)
}

// startRequest sets the deadline of a request from its first byte on. If that fails the connection
// is closed, and the next read returns the error.
func (c *Conn) startRequest(now time.Time) {
	if !c.in.began.IsZero() {
		return
	}
	c.in.began = now
	c.reading.force()
	c.phase.enter(Reading, now)
	c.Conn.SetReadDeadline(now.Add(c.limits.Request))
}

// stay is how long a goroutine waits for the next request on a connection of an event loop whose
// last requests were all for the server. The way back to the loop and from it costs more.
const stay = 100 * time.Millisecond

// fewInARow is the number of requests for the server after which a connection stays.
const fewInARow = 2

// readFirst reads the first bytes of a request. A silent connection has ended, but not while its
// client is still taking the last response. One of an event loop waits for as long as it may stay:
// then it has ended for the server, and returns to its loop.
func (c *Conn) readFirst(p []byte) (int, error) {
	if c.socket != nil && c.begun {
		n, err := c.socket.TryRead(p)
		if err == syscall.EAGAIN && c.inARow >= fewInARow && !c.secure {
			c.reading.force()
			if err = c.Conn.SetReadDeadline(time.Now().Add(stay)); err == nil {
				n, err = c.Conn.Read(p)
			}
			if n == 0 && timedOut(err) {
				err = syscall.EAGAIN
			}
		}
		if err == syscall.EAGAIN {
			c.rests, err = true, io.EOF
		}
		return n, err
	}
	for {
		n, err := c.Conn.Read(p)
		if n > 0 || !timedOut(err) {
			return n, err
		}
		now := time.Now()
		if c.Unread() == 0 {
			return 0, io.EOF
		}
		if c.overdue(now) {
			c.Abort()
			return 0, io.EOF
		}
		c.reading.force()
		if err := c.Conn.SetReadDeadline(now.Add(renewInterval)); err != nil {
			return 0, err
		}
	}
}

// readMore continues to read a request that has begun, until its time is over.
func (c *Conn) readMore(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		c.in.received += int64(n)
		if n > 0 || !timedOut(err) {
			return n, err
		}
		until, ok := c.in.extended(c.limits.Request, time.Now())
		if !ok {
			return 0, err
		}
		if err := c.Conn.SetReadDeadline(until); err != nil {
			return 0, err
		}
	}
}

// ResponseLength announces the length of the body of the server's next response, which gives the
// response its time from the start.
func (c *Conn) ResponseLength(length int64) { c.out.declared.Store(length) }

// Write writes a part of the server's response. While the client does not take it, it counts
// against the memory for unread responses. If that is used up, the client has a short time to take
// it.
func (c *Conn) Write(p []byte) (int, error) {
	each := c.limits.Answer
	if c.limits.Bodies.Unread(&c.share) != nil {
		each = min(each, overloadedAnswer)
	}
	defer c.limits.Bodies.Answered(&c.share)
	return c.write(p, each)
}

// overloadedAnswer is the time for each MiB of a response when unread responses use up their
// memory.
const overloadedAnswer = time.Second

// ReadFrom writes a part of the server's response as Write does. A connection without TLS takes a
// file, as the reader of a LimitedReader, from the system.
func (c *Conn) ReadFrom(r io.Reader) (n int64, err error) {
	rest, _ := r.(*io.LimitedReader)
	to, takes := c.Conn.(io.ReaderFrom)
	if rest == nil || !takes || !isFile(rest.R) {
		return io.CopyBuffer(struct{ io.Writer }{c}, struct{ io.Reader }{r}, make([]byte, copied))
	}
	each := c.limits.Answer
	if c.limits.Bodies.Unread(&c.share) != nil {
		each = min(each, overloadedAnswer)
	}
	defer c.limits.Bodies.Answered(&c.share)
	limitUnsent(c.Conn, maxUnsentFile)
	defer limitUnsent(c.Conn, maxUnsent)
	for rest.N > 0 && err == nil {
		part := &io.LimitedReader{R: rest.R, N: min(rest.N, filePart)}
		var sent int64
		_, err = timed(c, int(part.N), each, func() (int, error) {
			sent, err = to.ReadFrom(part)
			return int(sent), err
		})
		n, rest.N = n+sent, rest.N-sent
		if part.N > 0 {
			break // the file has ended
		}
	}
	return n, err
}

const (
	// filePart is how many bytes of a file are sent with one deadline.
	filePart = 4 << 20
	// copied is the length of the parts in which any other body is copied.
	copied = 64 << 10
)

func isFile(r io.Reader) bool {
	_, is := r.(*os.File)
	return is
}

// write writes p, for each MiB of which the client has a time. Only the time that the client makes
// the edge wait counts, so a slow origin does not use it up.
func (c *Conn) write(p []byte, each time.Duration) (int, error) {
	return timed(c, len(p), each, func() (int, error) { return c.Conn.Write(p) })
}

// timed calls write, which writes so many bytes.
func timed(c *Conn, length int, each time.Duration, write func() (int, error)) (int, error) {
	now := time.Now()
	c.delivery.expectBy(now.Add(c.out.left(each, length)))
	c.writing.force()
	if err := c.Conn.SetWriteDeadline(c.delivery.due); err != nil {
		return 0, err
	}
	c.phase.enter(Writing, now)
	n, err := write()
	c.phase.enter(Busy, now)
	c.out.add(n, time.Since(now))
	c.delivery.add(n)
	if timedOut(err) {
		c.Abort()
	}
	return n, err
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
