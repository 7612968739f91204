package h1

import (
	"bytes"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// A connection on an event loop rests without a goroutine. When bytes have arrived, its Turn
// answers the eligible requests. The first request that is not certain to be eligible makes a
// goroutine serve the connection, with the bytes read so far, exactly as it would without a loop;
// when the next request has not arrived, the connection returns to its loop.

const (
	turnBuffer  = 16 << 10 // bytes read in a turn: no more than the server's buffer takes
	turnAnswers = 64       // answered in a turn, after which other connections have theirs
)

// A Socket is the socket of a connection on an event loop.
type Socket interface {
	// TryRead and TryWrite return syscall.EAGAIN where they would have to wait. TryRead fills p, or
	// reads all that has arrived; one of TLS (secure) may read less. TryWrite first sends what the
	// socket has left of its own bytes, as those of TLS, and does so without p too.
	TryRead(p []byte) (int, error)
	TryWrite(p []byte) (int, error)
	// SetTimer makes the loop call Expired at a time.
	SetTimer(at time.Time)
	// Detach makes it a connection for a goroutine, and Attach ends that.
	Detach()
	Attach()
	// Wake makes the loop call netloop.Handler.Ready.
	Wake()
}

// A secure socket is one of TLS.
type secure interface {
	// More reports whether TryRead may find more before the next event.
	More() bool
}

// A Scratch is the memory for turns of the connections of one loop.
type Scratch struct {
	in       [turnBuffer]byte
	out      []byte // responses
	body     []byte // of the last one, which belongs to the Answerer; nil: out has it
	joined   int    // bytes of it that out has too
	request  parsedHead
	declined bool // the Answerer left request to the server
	size     int  // of that request, in bytes
}

// NewScratch returns the memory for the turns on a loop.
func NewScratch() *Scratch {
	s := &Scratch{}
	s.request.Fields, s.request.TakesBody = &s.request, true
	return s
}

// A backlog holds bytes until the client takes more of its responses.
type backlog struct {
	unsent []byte // responses
	body   []byte // follows them
	early  []byte // requests that have arrived behind them
	fetch  *fetch // makes the response to the first of them ready; nil: nothing does
}

// NewLooped returns a connection that rests on an event loop, before its first request. c is the
// same as socket, or reads from it.
func NewLooped(c net.Conn, socket Socket, a Answerer, l *Limits, client netip.Addr) *Conn {
	w := &Conn{Conn: c, socket: socket, answerer: a, limits: l, client: client}
	w.begin()
	limitUnsent(c, maxUnsent)
	now := time.Now()
	w.phase.enter(Idle, now)
	w.expectNext(now)
	return w
}

// ServeFirst makes a goroutine serve the first request of a detached connection.
func (c *Conn) ServeFirst() {
	c.serve()
	c.fresh = true
	c.reading.force()
	c.expectRequest(time.Now()) // if it fails, the first Read fails too
}

// A Next says what happens to a connection after its turn.
type Next uint8

// The ways in which a connection continues.
const (
	Wait      Next = iota // for events, or for the timer
	Again                 // it has another turn, after other connections
	ForServer             // the server must read from it, in a goroutine
	End                   // it must be closed
)

// Turn answers the eligible requests that have arrived. ending says that the client may have sent
// its last byte. Turn must be called on the goroutine of the loop.
func (c *Conn) Turn(s *Scratch, ending bool) Next {
	c.mu.Lock()
	defer c.unlock()
	c.ending = c.ending || ending
	if c.backlog != nil && c.backlog.fetch != nil {
		return c.fetched(s)
	}
	n, next := c.arrived(s)
	if n == 0 {
		return next
	}
	now, fresh := time.Now(), !c.begun
	c.begun = true
	answered, why := c.answerTurn(s, s.in[:n], now)
	if answered > 0 {
		c.inARow = 0
	}
	early := s.in[answered:n]
	err := c.sendTurn(s, early, now)
	s.body, s.joined = nil, 0 // the entry may be evicted before the next turn
	if err != nil {
		return c.lost()
	}
	switch {
	case c.backlog != nil:
		return Wait
	case len(early) == 0 && (c.ending || c.unread):
		return Again
	case len(early) == 0:
		return Wait
	case why == forHitPath:
		c.backlog = &backlog{early: bytes.Clone(early)}
		return Again
	case s.declined && c.fetch(s, early, now, &fetch{fresh: fresh && answered == 0}):
		return Wait
	}
	c.toServer(early, now)
	c.fresh = fresh && answered == 0
	c.declined = s.declined
	return ForServer
}

// arrived sends the backlog, and returns the number of bytes of requests that are in s then. If
// that is 0, next says how the turn ends.
func (c *Conn) arrived(s *Scratch) (n int, next Next) {
	if b := c.backlog; b != nil {
		c.unread = true // this turn may be that of an event for bytes, too
		err := c.tryWrite(&b.unsent, &b.body)
		if err == syscall.EAGAIN {
			return 0, Wait
		}
		if err != nil {
			return 0, c.lost()
		}
		now := time.Now()
		c.backlog = nil
		c.limits.Bodies.Release(&c.share)
		c.phase.enter(Idle, now)
		c.expectNext(now)
		if len(b.early) > 0 {
			return copy(s.in[:], b.early), Again
		}
	} else if c.secure {
		if _, err := c.socket.TryWrite(nil); err != nil { // TLS has answered by itself
			c.unread = true
			if err == syscall.EAGAIN {
				return 0, Wait
			}
			return 0, c.lost()
		}
	}
	n, err := c.socket.TryRead(s.in[:])
	if err == syscall.EAGAIN {
		c.ending, c.unread = false, false // the event was that of an earlier turn
		return 0, Wait
	}
	if err != nil {
		return 0, c.lost()
	}
	c.unread = n == len(s.in)
	if c.secure {
		c.unread = c.unread || c.socket.(secure).More()
	}
	return n, Again
}

// lost ends the connection. Its client has as long to take the last responses as before.
func (c *Conn) lost() Next {
	c.delivery.expectBy(c.delivery.due)
	c.socket.SetTimer(time.Time{})
	return End
}

// answerTurn appends the responses to the eligible requests at the beginning of b to s.out, and
// returns the size of these requests. The state is why it stopped: forHitPath if there are more
// requests than fit into a turn.
func (c *Conn) answerTurn(s *Scratch, b []byte, now time.Time) (answered int, why state) {
	if cap(s.out) > 2*maxBatch {
		s.out = nil
	}
	s.out, s.declined = s.out[:0], false
	r := &s.request
	c.describe(&r.Request, now)
	for n := 0; answered < len(b); n++ {
		if n == turnAnswers || len(s.out) >= maxBatch {
			return answered, forHitPath
		}
		v := parse(b[answered:], r)
		if v.state != forHitPath {
			return answered, v.state
		}
		out, ok := c.answerer.Answer(s.out, &r.Request)
		if !ok {
			s.declined, s.size = true, v.size
			return answered, other
		}
		s.out, answered = out, answered+v.size
		if r.Body != nil {
			s.body, s.joined = r.Body, min(len(r.Body), max(0, maxJoined-len(out)))
			s.out = append(out, s.body[:s.joined]...)
			return answered, forHitPath
		}
	}
	return answered, forHitPath
}

// maxJoined is how much is sent in one write with the beginning of a long body, in bytes.
const maxJoined = 32 << 10

// tryWrite writes what the client takes of a and b, and leaves the rest there.
func (c *Conn) tryWrite(a, b *[]byte) error {
	for i, p := range [...]*[]byte{a, b} {
		if len(*p) == 0 && (i > 0 || !c.secure) {
			continue
		}
		n, err := c.socket.TryWrite(*p)
		if *p = (*p)[n:]; err != nil {
			return err
		}
	}
	return nil
}

// sendTurn sends the responses of s. What the client does not take at once waits, with the requests
// that arrived early.
func (c *Conn) sendTurn(s *Scratch, early []byte, now time.Time) error {
	if len(s.out) == 0 {
		return nil
	}
	out, body := s.out, s.body[s.joined:]
	c.delivery.due = now.Add(c.limits.Answer)
	c.delivery.add(len(out) + len(body))
	err := c.tryWrite(&out, &body)
	if err == syscall.EAGAIN {
		if sent := len(s.body) - len(body); len(out) <= sent { // only a part of the body is left
			out, body = nil, s.body[sent-len(out):]
		}
		return c.postpone(&backlog{unsent: bytes.Clone(out), body: body, early: bytes.Clone(early)}, now)
	}
	if err == nil && c.reading.due(now) {
		c.phase.enter(Idle, now)
		if c.overdue(now) {
			c.Abort()
			return errOverdue
		}
		c.socket.SetTimer(now.Add(c.limits.Idle + renewInterval))
	}
	return err
}

// postpone keeps b until the client takes more, unless its memory exceeds the client's share.
func (c *Conn) postpone(b *backlog, now time.Time) error {
	costs := len(b.unsent) + len(b.early)
	if c.secure {
		costs += SecureBatch
	}
	if err := c.limits.Bodies.ReserveResponse(&c.share, int64(costs)); err != nil {
		return err
	}
	c.backlog = b
	c.phase.enter(Writing, now)
	c.socket.SetTimer(c.delivery.due)
	return nil
}

// SecureBatch is the number of bytes that a socket of TLS encrypts before it writes them. If the
// client takes no more, it keeps as many.
const SecureBatch = 64 << 10

// expectNext sets the timer for the next request.
func (c *Conn) expectNext(now time.Time) {
	c.reading = renewal(now)
	c.socket.SetTimer(now.Add(c.limits.Idle + renewInterval))
}

// Expired reports whether the connection must be closed, because its client has sent no request, or
// has not taken its responses in time.
func (c *Conn) Expired(now time.Time) bool {
	c.mu.Lock()
	defer c.unlock()
	switch idle := time.Time(c.reading).Add(c.limits.Idle + renewInterval); {
	case c.backlog != nil && c.backlog.fetch != nil:
		c.expire(c.backlog.fetch, now)
	case c.backlog != nil && now.Before(c.delivery.due):
		c.socket.SetTimer(c.delivery.due)
	case c.backlog != nil:
		c.Abort()
		return true
	case now.Before(idle):
		c.socket.SetTimer(idle)
	case c.Unread() == 0:
		return true
	case c.overdue(now):
		c.Abort()
		return true
	default:
		c.socket.SetTimer(now.Add(renewInterval)) // the client still takes the last response
	}
	return false
}

// toServer takes the connection from its loop. The server gets the bytes with its first Read.
func (c *Conn) toServer(already []byte, now time.Time) {
	c.serve()
	c.buffered.replace(already)
	c.ending, c.unread = false, false
	c.phase.enter(Busy, now)
	c.socket.Detach()
}

// Fresh reports whether the server will get the first bytes of the connection.
func (c *Conn) Fresh() bool { return c.fresh }

// Rests reports whether the server's last Read has ended because the connection can return to its
// loop.
func (c *Conn) Rests() bool { return c.serving != nil && c.rests }

// Rest returns the connection to its loop.
func (c *Conn) Rest(now time.Time) {
	c.serving = nil
	c.phase.enter(Idle, now)
	c.expectNext(now)
	c.socket.Attach()
}
