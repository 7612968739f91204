package h2

import (
	"io"
	"os"
	"syscall"
	"time"

	"github.com/iconedge/iconedge/edge/bodies"
)

// A connection on an event loop has no goroutine. When bytes have arrived, its turn handles the
// frames; handlers of requests still have goroutines of their own. No write waits: the link keeps
// what the client does not take, and until it has taken that, no more frames are read and handlers
// wait.

// After so many requests or frames a turn ends, and other connections have theirs. Bytes of
// responses (maxBatch) and parts of the input (turnParts) end it too.
const (
	turnAnswers = 64
	turnFrames  = 512
)

// A LoopControl is the part of an event loop that a connection needs.
type LoopControl interface {
	// SetTimer makes the loop call Expired at a time.
	SetTimer(at time.Time)
	// Wake makes the loop call Ready.
	Wake()
	// Attach puts the connection on the loop; Detach makes its reads and writes wait instead.
	Attach()
	Detach()
}

// A loopConn is the state of a connection on an event loop.
type loopConn struct {
	socket  LoopControl
	ended   func()
	preface int       // bytes of the preface that have been read
	readBy  time.Time // deadline of reading
	sendBy  time.Time // deadline for the client to take the unsent bytes; zero: there are none
	until   time.Time // no frames are read before, because the client sends useless ones
	more    bool      // whole frames wait in c.in
	frames  int       // handled in this turn
	turn    bool      // frames may be read although the client takes nothing
	over    bool
	unread  *bodies.Share // of Config.Bodies, for the unsent bytes; nil: there are none
}

// OnLoop makes an event loop serve the connection from Start on, instead of Serve. Its Link must be
// on the loop too. ended is called once, on another goroutine, when the connection has ended.
func (c *Conn) OnLoop(socket LoopControl, ended func()) {
	c.loop = &loopConn{socket: socket, ended: ended}
}

// Start begins to serve the connection on its loop, unless Closed was called before.
func (c *Conn) Start() {
	c.srv.enter(c)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loop.over {
		c.srv.leave(c)
		return
	}
	c.now = time.Now()
	c.deadline.renewed, c.use.last = c.now, c.now
	c.readBy(c.now.Add(c.srv.config.Idle))
	c.loop.socket.Attach()
	c.loop.socket.Wake() // for the bytes that the link has read already
}

// arm sets the timer for the next deadline.
func (c *Conn) arm() {
	at := c.loop.readBy
	if by := c.loop.sendBy; !by.IsZero() && by.Before(at) {
		at = by
	}
	c.loop.socket.SetTimer(at)
}

// Ready handles an event. again means that the connection needs another turn, after the others.
func (c *Conn) Ready(readable, ending bool) (again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loop.over {
		return false
	}
	c.link.Event(readable, ending)
	c.now = time.Now()
	if c.backedUp() {
		if c.failed(c.flushNow()) != nil || c.backedUp() && (c.phase.dead != nil || !c.loop.turn) {
			return false
		}
	}
	if c.phase.dead != nil { // and the client has taken the GOAWAY
		c.finishTurn()
		return false
	}
	if c.now.Before(c.loop.until) {
		return false
	}
	c.loop.turn = false
	again, err := c.turn()
	if err == nil && c.phase.draining && c.streams.finished() {
		err = io.EOF
	}
	if err == nil && !c.backedUp() && c.link.Unsent() { // TLS has answered by itself
		err = c.failed(c.flushNow())
	}
	if err == nil {
		pause := c.flood.pause()
		c.publishState()
		if pause > 0 {
			c.loop.until, again = c.now.Add(pause), false
			time.AfterFunc(pause, c.loop.socket.Wake)
		}
		if !c.loop.more {
			err = c.extend()
		}
	}
	if err != nil && !c.phase.settingsSent {
		c.finish() // it has no preface
		return false
	}
	if err != nil {
		c.terminateNow(err)
		return false
	}
	return again && !c.backedUp()
}

// turn reads and handles frames, and sends the responses.
func (c *Conn) turn() (again bool, err error) {
	for c.answered, c.loop.frames = 0, 0; ; {
		if !c.loop.more {
			if c.link.Dry() {
				break
			}
			if err = c.in.read(c.rw, c.link); err == ErrWait {
				break
			}
			if err != nil {
				return false, err
			}
		}
		if c.loop.preface < len(Preface) {
			if c.loop.preface, err = c.preface(c.loop.preface); err != nil {
				return false, err
			}
			if c.loop.preface < len(Preface) {
				continue
			}
			if err = c.greet(); err != nil {
				return false, err
			}
		}
		if c.loop.more, err = c.frames(); err != nil {
			return false, err
		}
		c.start()
		if c.loop.more || c.answered >= turnAnswers || c.out.size() > maxBatch {
			return true, c.flush()
		}
	}
	if c.in.empty() {
		c.in.release()
		c.rest()
	}
	return !c.link.Dry(), c.flush()
}

// flushNow sends the bytes that the client has not taken, and then the waiting frames.
func (c *Conn) flushNow() error {
	var err error
	waited := c.backedUp()
	if c.out.buffer == nil || waited {
		err = c.link.Flush()
	}
	if err == nil && c.out.buffer != nil {
		waited = false // the client has taken what waited; these frames have a time of their own
		if err = c.out.send(c.rw, c.link); err == nil && c.link.Unsent() {
			err = syscall.EAGAIN
		}
	}
	switch stalled := err == syscall.EAGAIN; {
	case stalled && !waited:
		if c.reserveUnread() != nil {
			return bodies.ErrOverloaded
		}
		now := time.Now()
		c.out.writing.Store(now.UnixMilli())
		c.loop.sendBy = now.Add(c.srv.config.Send + renewInterval)
		c.arm()
		c.publishState()
	case stalled:
	case c.backedUp():
		c.out.writing.Store(0)
		c.loop.sendBy = time.Time{}
		c.releaseUnread()
		c.takeTurns()
		c.publishState()
	}
	if err == syscall.EAGAIN {
		return nil
	}
	return err
}

// reserveUnread reserves memory for the bytes that the client does not take, and for the frames
// that follow them.
func (c *Conn) reserveUnread() error {
	if c.loop.unread == nil {
		c.loop.unread = &bodies.Share{Client: c.deadline.share.Client, Holder: unread{c}}
	}
	return c.srv.config.Bodies.ReserveResponse(c.loop.unread, int64(c.link.kept()+outBuffer))
}

func (c *Conn) releaseUnread() {
	if c.loop != nil && c.loop.unread != nil {
		c.srv.config.Bodies.Release(c.loop.unread)
		c.loop.unread = nil
	}
}

// unread is the Holder of the bytes that the client of a connection does not take.
type unread struct{ c *Conn }

// End closes the connection.
func (u unread) End() {
	c := u.c
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.loop.unread; s != nil && c.srv.config.Bodies.Leaves(s) {
		c.failed(bodies.ErrOverloaded)
	}
}

// takeTurns wakes the handlers, and the reading of frames, because the client has taken all that
// waited. Each may write a part of its response, and more frames be read once, even if those that
// wake first back the connection up again. So none waits for ever, and the handlers together add no
// more than a batch.
func (c *Conn) takeTurns() {
	if c.loop.turn = true; c.loop.more || !c.link.Dry() {
		c.loop.socket.Wake()
	}
	for _, s := range c.streams.open {
		s.turn = max(leastTurn, maxBatch/len(c.streams.open))
		s.wake()
	}
}

const leastTurn = 512

// backedUp reports whether bytes wait until the client takes more. Only on an event loop a caller
// that holds mu can see that.
func (c *Conn) backedUp() bool { return c.out.writing.Load() > 0 }

// terminateNow ends the connection as terminate does, as soon as the client has taken the GOAWAY.
func (c *Conn) terminateNow(err error) {
	if c.phase.dead == nil {
		c.terminateLocked(err)
	}
	if c.out.buffer != nil && !c.loop.over { // the GOAWAY waits for bytes that were sent before
		if c.flushNow() != nil {
			c.finish()
		}
	}
	if !c.backedUp() {
		c.finishTurn()
	}
}

// finishTurn closes the connection at the end of a turn. If the server is draining, it gives the
// client time to take the last response.
func (c *Conn) finishTurn() {
	if c.loop.over || !c.phase.draining {
		c.finish()
		return
	}
	c.loop.over = true
	c.loop.socket.Detach()
	c.free()
	go func() {
		c.linger()
		c.rw.Close()
		c.gone()
	}()
}

// finish closes the connection. Any goroutine may call it.
func (c *Conn) finish() {
	if c.loop.over {
		return
	}
	c.loop.over = true
	c.free()
	c.rw.Close()
	go c.gone()
}

// free ends all streams, and frees the memory of the connection.
func (c *Conn) free() {
	c.end(errClosed)
	c.out.release()
	c.in.release()
	c.decoder.release()
	c.srv.config.Bodies.Release(&c.deadline.share)
	c.releaseUnread()
}

func (c *Conn) gone() {
	c.srv.leave(c)
	c.loop.ended()
}

// Closed says that the connection below has been closed by others.
func (c *Conn) Closed() {
	if c.loop == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finish()
}

// Expired ends the connection if its client is late.
func (c *Conn) Expired(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.loop
	switch {
	case l.over:
		return
	case !l.sendBy.IsZero() && !now.Before(l.sendBy):
		c.finish()
		return
	case now.Before(l.readBy):
	case c.backedUp() || l.more: // the client has sent more, or must take more first
		l.readBy = now.Add(renewInterval)
	case !c.phase.settingsSent:
		c.finish()
		return
	case !c.keepsWaitingLocked(os.ErrDeadlineExceeded):
		c.terminateNow(os.ErrDeadlineExceeded)
		return
	}
	c.arm()
}
