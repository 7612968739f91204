package h1

import (
	"errors"
	"io"
	"net"
	"time"
)

// Deadlines are for the whole of a request and for the whole of an answer, not for one read or one write: what drips is cut as what
// stops. Whoever sends or takes more than a MiB has as much time again for each further one.

const (
	part = 1 << 20 // bytes that a timeout is for

	// leastPart is what must have come by the end of each period for the next one to be granted: who says that he will send 8 MiB, and
	// drips, has no more time than others.
	leastPart = 64 << 10
)

// allowance is how long so many bytes may take.
func allowance(each time.Duration, bytes int64) time.Duration {
	return each * time.Duration(max(1, (bytes+part-1)/part))
}

// granted is how long after its beginning a request may go on that has taken so long and is not whole. It is not ok where that is
// too long.
func granted(each, taken time.Duration, received, declared int64) (until time.Duration, ok bool) {
	periods := taken / each
	return (periods + 1) * each, taken < allowance(each, max(received, declared)) && received >= int64(periods)*leastPart
}

// An incoming request, while it is read.
type incoming struct {
	began    time.Time // its first byte; zero: none has come
	received int64
	declared int64 // head and body; 0: unknown
}

// An outgoing answer of the server's.
type outgoing struct {
	declared, written int64
	waited            time.Duration // for the client, so far
}

// wait gives the connection its time for the next request, that has not begun. Timers are moved once in a while: they cost more than
// a hit.
func (c *Conn) wait(now time.Time) error {
	c.in = incoming{}
	if now.Sub(c.reads) <= renew {
		return nil
	}
	c.reads = now
	c.enter(Idle, now)
	if c.sent > 0 && c.overdue(now) {
		c.GiveUp()
		return errOverdue
	}
	return c.Conn.SetReadDeadline(now.Add(c.limits.Idle + renew))
}

// await ends a request that the server was given: it has been answered, and the next one is expected.
func (c *Conn) await() error {
	if c.in.began.IsZero() {
		return nil
	}
	c.out = outgoing{}
	c.limits.Bodies.Give(&c.held)
	now := time.Now()
	c.enter(Idle, now)
	return c.wait(now)
}

// begin gives a request its time, from its first byte on. Where that fails the connection is closed, and the next read says so.
func (c *Conn) begin(now time.Time) {
	if !c.in.began.IsZero() {
		return
	}
	c.in.began, c.reads = now, time.Time{}
	c.enter(Reading, now)
	c.Conn.SetReadDeadline(now.Add(c.limits.Request))
}

// first reads the first bytes of a request. A connection that stays silent has ended; as long as its client still takes the last answer
// it is not.
func (c *Conn) first(p []byte) (int, error) {
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
			c.GiveUp()
			return 0, io.EOF
		}
		c.reads = time.Time{}
		if err := c.Conn.SetReadDeadline(now.Add(renew)); err != nil {
			return 0, err
		}
	}
}

// further reads on in a request that has begun, for as long as it has.
func (c *Conn) further(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		c.in.received += int64(n)
		if n > 0 || !timedOut(err) {
			return n, err
		}
		until, ok := granted(c.limits.Request, time.Since(c.in.began), c.in.received, c.in.declared)
		if !ok {
			return 0, err
		}
		if err := c.Conn.SetReadDeadline(c.in.began.Add(until)); err != nil {
			return 0, err
		}
	}
}

// Answer says how long the body of the server's next answer is, so that it has its time from the start.
func (c *Conn) Answer(length int64) { c.out.declared = length }

// Write writes a part of the server's answer. What counts is the time that the client lets us wait: an answer that comes slowly itself
// may take longer.
func (c *Conn) Write(p []byte) (int, error) {
	o, now := &c.out, time.Now()
	left := allowance(c.limits.Answer, max(o.written+int64(len(p)), o.declared)) - o.waited
	c.due, c.writes = now.Add(left), time.Time{}
	c.answerDue.Store(c.due.UnixMilli())
	if err := c.Conn.SetWriteDeadline(c.due); err != nil {
		return 0, err
	}
	c.enter(Writing, now)
	n, err := c.Conn.Write(p)
	c.enter(Busy, now)
	o.written, o.waited = o.written+int64(n), o.waited+time.Since(now)
	c.owe(n)
	if timedOut(err) {
		c.GiveUp()
	}
	return n, err
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// A debt is what the client is to have taken by some moment.
type debt struct {
	upTo int64 // of all the bytes that were sent
	due  time.Time
}

var errOverdue = errors.New("the client has not taken its answers in time")

// Unread is how many bytes wait in the system for the client to take them.
func (c *Conn) Unread() int64 { return c.queued(c.Conn) }

// Due is by when the client has to have taken the server's last answer.
func (c *Conn) Due() time.Time { return time.UnixMilli(c.answerDue.Load()) }

// overdue reports whether the client has left something too long that was written: the system takes megabytes of what nobody reads,
// and then a write tells nothing.
func (c *Conn) overdue(now time.Time) bool {
	taken := c.sent - c.Unread()
	if taken >= c.owed.upTo {
		c.owed = debt{}
		if taken < c.sent {
			c.owed = debt{c.sent, c.due}
		}
	}
	return taken < c.owed.upTo && !now.Before(c.owed.due)
}

// owe notes that so many bytes were sent, to be taken by c.due. Of a debt that stands already the time does not change.
func (c *Conn) owe(n int) {
	c.sent += int64(n)
	if c.owed.upTo == 0 {
		c.owed = debt{c.sent, c.due}
	}
}

// GiveUp cuts off a client that has not taken its answers in time.
func (c *Conn) GiveUp() {
	if c.limits.Overdue != nil {
		c.limits.Overdue.Add(1)
	}
	c.Cut()
}

// Cut ends the connection at once. What the client has not taken is lost.
func (c *Conn) Cut() {
	beneath := socket(c.Conn)
	if tcp, ok := beneath.(interface{ SetLinger(seconds int) error }); ok {
		tcp.SetLinger(0)
	}
	beneath.Close()
}
