package h2

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	"github.com/iconedge/iconedge/edge/bodies"
	"github.com/iconedge/iconedge/edge/request"
)

// A Conn is an HTTP/2 connection. The fields above mu belong to the reading goroutine; mu guards
// the fields below it. On an event loop (loop.go) mu guards all of them.
type Conn struct {
	srv      *Server
	rw       net.Conn
	link     *Link
	in       input
	decoder  decoder
	block    block
	request  request.Request
	now      time.Time // of the current batch of frames
	deadline deadline  // of reading
	loop     *loopConn // nil: a goroutine reads the connection
	answered int       // requests answered at once since it was last set to 0
	refused  *stream   // a stream that was refused, for the next one; nil: none

	mu      sync.Mutex
	phase   phase
	use     use
	streams streams
	load    load
	sender  sender
	encoder encoder
	out     output
	flood   flood
}

// A phase is the progress of a connection from the preface to its end.
type phase struct {
	settingsSent bool  // our SETTINGS were sent, which come first (RFC 9113, section 3.4)
	gotSettings  bool  // the client's SETTINGS have come
	draining     bool  // the server is draining
	goAwaySent   bool  // the first GOAWAY was sent
	dead         error // the reason why the connection has ended; nil: it has not
}

// mayGoAway reports whether a connection that drains can say so now.
func (p *phase) mayGoAway() bool { return p.draining && p.settingsSent && p.dead == nil }

// A use is when a connection was last used, that is when a request last began or ended, or DATA
// came. Other goroutines may call load without mu.
type use struct {
	last  time.Time
	state atomic.Int64 // last in milliseconds since 1970, times 2; +1: a stream is open
}

// publish makes load return the last use, and whether a stream is open.
func (u *use) publish(open bool) {
	state := u.last.UnixMilli() << 1
	if open {
		state |= 1
	}
	u.state.Store(state)
}

func (u *use) load() (idle bool, since time.Time) {
	v := u.state.Load()
	return v&1 == 0, time.UnixMilli(v >> 1)
}

func newConn(s *Server, rw net.Conn, link *Link, client netip.Addr) *Conn {
	c := &Conn{srv: s, rw: rw, link: link}
	c.sender.window, c.sender.initial, c.streams.lastAllowed = ourWindow, ourWindow, maxWindow
	c.decoder.init()
	c.encoder.table.open()
	c.request.Client, c.request.Secure, c.request.Fields = client, rw != net.Conn(link), &c.decoder
	c.flood.begin()
	c.use.last = time.Now()
	c.publishState()
	return c
}

// SetClient counts the memory of the connection against the share of a client (Config.Bodies). It
// must be called before Serve.
func (c *Conn) SetClient(client netip.Prefix) { c.deadline.share.Client = client }

// SetTier records that the client is another edge of our own. It must be called before Serve.
func (c *Conn) SetTier() { c.request.Tier = true }

// serve reads frames until the connection ends.
func (c *Conn) serve() error {
	defer c.close()
	c.now = time.Now()
	if err := c.handshake(); err != nil {
		return err
	}
	for {
		pause, err := c.batch()
		if err != nil {
			return c.terminate(err)
		}
		if pause > 0 {
			time.Sleep(pause)
		}
		for err := c.fill(); err != nil; err = c.fill() {
			if !c.keepsWaiting(err) {
				return c.terminate(err)
			}
		}
	}
}

// handshake sends our settings after it has read the preface (RFC 9113, section 3.4).
func (c *Conn) handshake() error {
	if err := c.rw.SetDeadline(c.now.Add(c.srv.config.Idle)); err != nil {
		return err
	}
	c.deadline.renewed, c.out.renewed, c.use.last = c.now, c.now, c.now
	for n := 0; n < len(Preface); {
		err := c.fill()
		if err == nil {
			n, err = c.preface(n)
		}
		if err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.greet()
}

// preface checks the next bytes of the preface, of which n have been checked.
func (c *Conn) preface(n int) (int, error) {
	b := c.in.rest()
	take := min(len(b), len(Preface)-n)
	if string(b[:take]) != Preface[n:n+take] {
		c.srv.counts.broken.Add(1)
		return n, connectionError(http2.ErrCodeProtocol, "no preface")
	}
	c.in.r += take
	return n + take, nil
}

// greet sends our settings.
func (c *Conn) greet() error {
	c.out.append(appendSettings(nil, c.srv.config))
	if c.phase.settingsSent = true; c.phase.draining {
		time.AfterFunc(drainAfter, c.drain) // gives the client time for a request
	}
	return c.flush()
}

// fill reads more bytes after those of an incomplete frame. While it waits without any, it holds no
// buffer.
func (c *Conn) fill() error {
	if c.in.empty() {
		c.in.release()
		if !c.link.Ready() {
			c.rest()
		}
		if err := c.link.Wait(); err != nil {
			return err
		}
	}
	return c.in.read(c.rw, c.link)
}

// rest frees the memory that is not needed until the next frame.
func (c *Conn) rest() {
	c.decoder.release()
	c.request.Reset() // drops the references to the buffer
	c.refused = nil
}

// batch handles all frames that have arrived, and renews the deadlines. It returns how long to wait
// before more frames are read.
func (c *Conn) batch() (pause time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = time.Now()
	if c.phase.dead != nil {
		return 0, c.phase.dead
	}
	for more := true; more; {
		if more, err = c.frames(); err != nil {
			return 0, err
		}
		c.start()
		if more || !c.link.Ready() || c.out.size() > maxBatch {
			if err := c.flush(); err != nil {
				return 0, err
			}
		}
	}
	if c.phase.draining && c.streams.finished() {
		return 0, io.EOF
	}
	pause = c.flood.pause()
	c.publishState()
	return pause, c.extend()
}

// publishState publishes, for readers without mu, whether a stream is open and when the connection
// was last used.
func (c *Conn) publishState() {
	open := len(c.streams.open) > 0
	if !open {
		c.streams.open, c.sender.queue = nil, nil // an idle connection keeps no memory
	}
	c.use.publish(open || c.backedUp())
}

// extend moves the deadline for the next request, or for the rest of an incomplete frame.
func (c *Conn) extend() error {
	until, err := c.deadline.next(!c.in.empty() || c.block.open(), c.now, c.use.last, &c.srv.config)
	if err != nil || until.IsZero() {
		return err
	}
	return c.readBy(until)
}

// readBy sets the deadline for reading.
func (c *Conn) readBy(at time.Time) error {
	if c.loop != nil {
		c.loop.readBy = at
		c.arm()
		return nil
	}
	return c.rw.SetReadDeadline(at)
}

// interrupt ends a read that waits, because there is nothing left to wait for.
func (c *Conn) interrupt() {
	if c.loop != nil {
		c.loop.socket.Wake()
		return
	}
	c.rw.SetReadDeadline(time.Now())
}

// keepsWaiting reports whether a read error is only a deadline that does not end the connection:
// the silent client waits for responses, or took the last one after the deadline was set.
func (c *Conn) keepsWaiting(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keepsWaitingLocked(err)
}

func (c *Conn) keepsWaitingLocked(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || c.deadline.partial || c.phase.dead != nil {
		return false
	}
	from, now := c.use.last, time.Now()
	switch {
	case len(c.streams.open) > 0:
		from = now
	case c.phase.draining || now.Sub(from) >= c.srv.config.Idle:
		return false
	}
	c.deadline.renewed = from
	return c.readBy(from.Add(c.srv.config.Idle)) == nil
}

// terminate ends the connection, and sends GOAWAY with the client's error, if it made one.
func (c *Conn) terminate(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.terminateLocked(err)
}

func (c *Conn) terminateLocked(err error) error {
	code := http2.ErrCodeNo
	if ce, ok := errors.AsType[*connError](err); ok {
		code = ce.code
		if code == http2.ErrCodeEnhanceYourCalm {
			c.srv.counts.calmed.Add(1)
		} else {
			c.srv.counts.broken.Add(1)
		}
	}
	c.out.append(appendGoAway(nil, c.streams.last, code))
	c.flush()
	c.end(err)
	return err
}

// end marks the connection as dead and stops all writers.
func (c *Conn) end(err error) {
	if c.phase.dead == nil {
		c.phase.dead = err
	}
	for _, s := range c.streams.open {
		c.abandon(s)
	}
	c.streams.open, c.sender.queue = nil, nil
	c.start() // gives back the memory of those that have not begun, because their streams are gone
}

func (c *Conn) close() {
	c.mu.Lock()
	c.end(errClosed)
	c.out.release()
	c.srv.config.Bodies.Release(&c.deadline.share)
	draining := c.phase.draining
	c.mu.Unlock()
	c.in.release()
	if draining {
		c.linger()
	}
	c.rw.Close()
}

// linger gives the client time to take the last response: closing with unread bytes would reset the
// connection, and the response could be lost (RFC 9112, section 9.6).
func (c *Conn) linger() {
	half, ok := c.rw.(interface{ CloseWrite() error })
	if ok && half.CloseWrite() == nil && c.rw.SetReadDeadline(time.Now().Add(drainAfter)) == nil {
		io.CopyN(io.Discard, c.rw, lingerBytes)
	}
}

const lingerBytes = 256 << 10

// drain asks the client to send further requests on another connection.
func (c *Conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase.draining = true; c.phase.mayGoAway() {
		c.sendGoAway()
		c.flush()
	}
}

// sendGoAway sends a GOAWAY that accepts all streams, because requests may be on their way. A
// second one names the last stream when the client has had time to receive the first (RFC 9113,
// section 6.8).
func (c *Conn) sendGoAway() {
	if c.phase.goAwaySent {
		return
	}
	c.phase.goAwaySent = true
	c.out.append(appendGoAway(nil, maxWindow, http2.ErrCodeNo))
	time.AfterFunc(drainAfter, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.phase.dead != nil {
			return
		}
		c.streams.lastAllowed = c.streams.last
		c.out.append(appendGoAway(nil, c.streams.last, http2.ErrCodeNo))
		if c.flush() != nil || len(c.streams.open) == 0 {
			c.interrupt()
		}
	})
}

// drainAfter is longer than the round trip to most clients.
const drainAfter = 500 * time.Millisecond

// flush writes the waiting frames.
func (c *Conn) flush() error {
	if c.out.buffer == nil || c.phase.dead != nil {
		return c.phase.dead
	}
	if c.loop != nil {
		return c.failed(c.flushNow())
	}
	if n := c.out.size(); n > freeBatch {
		waiting := bodies.Share{Client: c.deadline.share.Client}
		if err := c.srv.config.Bodies.ReserveResponse(&waiting, int64(n)); err != nil {
			return c.failed(err)
		}
		defer c.srv.config.Bodies.Release(&waiting)
	}
	return c.failed(c.out.write(c.rw, c.link, c.srv.config.Send))
}

// freeBatch is the number of bytes that are written without a reservation, where a write waits for
// the client.
const freeBatch = 16 << 10

// failed ends a connection after a write error.
func (c *Conn) failed(err error) error {
	if err != nil {
		c.end(err)
		c.rw.Close() // ends the read as well
		if c.loop != nil {
			c.finish()
		}
	}
	return err
}
