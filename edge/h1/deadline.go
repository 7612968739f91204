package h1

import (
	"errors"
	"io"
	"net"
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

// outgoing is the progress of the server's response.
type outgoing struct {
	declared, written int64
	waited            time.Duration // for the client, in writes so far
}

// expectRequest sets the deadline for the next request, which has not begun. It moves the deadline
// only once per renewInterval, because setting a timer costs more than a hit.
func (c *Conn) expectRequest(now time.Time) error {
	c.in = incoming{}
	if now.Sub(c.readSet) <= renewInterval {
		return nil
	}
	c.readSet = now
	c.enter(Idle, now)
	if c.sent > 0 && c.overdue(now) {
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
	c.limits.Bodies.Release(&c.share)
	now := time.Now()
	c.enter(Idle, now)
	return c.expectRequest(now)
}

// startRequest sets the deadline of a request from its first byte on. If that fails the connection
// is closed, and the next read returns the error.
func (c *Conn) startRequest(now time.Time) {
	if !c.in.began.IsZero() {
		return
	}
	c.in.began, c.readSet = now, time.Time{}
	c.enter(Reading, now)
	c.Conn.SetReadDeadline(now.Add(c.limits.Request))
}

// readFirst reads the first bytes of a request. A silent connection has ended, but not while its
// client is still taking the last response.
func (c *Conn) readFirst(p []byte) (int, error) {
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
		c.readSet = time.Time{}
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
		until, ok := extension(c.limits.Request, time.Since(c.in.began), c.in.received, c.in.declared)
		if !ok {
			return 0, err
		}
		if err := c.Conn.SetReadDeadline(c.in.began.Add(until)); err != nil {
			return 0, err
		}
	}
}

// ResponseLength announces the length of the body of the server's next response, which gives the
// response its time from the start.
func (c *Conn) ResponseLength(length int64) { c.out.declared = length }

// Write writes a part of the server's response. Only the time that the client makes the edge wait
// counts, so a slow origin does not use it up.
func (c *Conn) Write(p []byte) (int, error) {
	o, now := &c.out, time.Now()
	left := allowance(c.limits.Answer, max(o.written+int64(len(p)), o.declared)) - o.waited
	c.due, c.writeSet = now.Add(left), time.Time{}
	c.answerDue.Store(c.due.UnixMilli())
	if err := c.Conn.SetWriteDeadline(c.due); err != nil {
		return 0, err
	}
	c.enter(Writing, now)
	n, err := c.Conn.Write(p)
	c.enter(Busy, now)
	o.written, o.waited = o.written+int64(n), o.waited+time.Since(now)
	c.addDebt(n)
	if timedOut(err) {
		c.Abort()
	}
	return n, err
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// A debt is the number of bytes that the client must have taken by a deadline.
type debt struct {
	upTo int64 // counted from the first response of the connection
	due  time.Time
}

var errOverdue = errors.New("the client has not taken its responses in time")

// Unread returns the number of written bytes that the client's system has not acknowledged.
func (c *Conn) Unread() int64 { return c.unacked(c.Conn) }

// Due returns the deadline for the client to take the server's last response.
func (c *Conn) Due() time.Time { return time.UnixMilli(c.answerDue.Load()) }

// overdue reports whether the client has left written bytes unread for too long. The write deadline
// does not show that, because the kernel accepts megabytes that no client reads.
func (c *Conn) overdue(now time.Time) bool {
	taken := c.sent - c.Unread()
	if taken >= c.debt.upTo {
		c.debt = debt{}
		if taken < c.sent {
			c.debt = debt{c.sent, c.due}
		}
	}
	return taken < c.debt.upTo && !now.Before(c.debt.due)
}

// addDebt records that n bytes were sent, to be taken by c.due. The deadline of an earlier debt
// stays.
func (c *Conn) addDebt(n int) {
	c.sent += int64(n)
	if c.debt.upTo == 0 {
		c.debt = debt{c.sent, c.due}
	}
}

// Abort counts and cuts off a client that has not taken its responses in time.
func (c *Conn) Abort() {
	if c.limits.Overdue != nil {
		c.limits.Overdue.Add(1)
	}
	c.Cut()
}

// Cut closes the connection at once. Bytes that the client has not received are lost.
func (c *Conn) Cut() {
	beneath := socket(c.Conn)
	if tcp, ok := beneath.(interface{ SetLinger(seconds int) error }); ok {
		tcp.SetLinger(0)
	}
	beneath.Close()
}
