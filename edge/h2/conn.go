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
	"github.com/iconedge/iconedge/edge/plain"
)

// A Conn is one connection. What stands above mu belongs to the goroutine that reads; the rest to whoever holds mu.
type Conn struct {
	srv     *Server
	rw      net.Conn
	link    *Link
	client  netip.Addr
	decoder decoder
	plain   plain.Request
	in      *[]byte // pooled; nil: nothing was read that waits
	r       int
	now     time.Time // of the batch of frames at hand
	renewed time.Time // the use that the read deadline was moved for
	partial bool      // half a frame, or half a header block, is here: the deadline is its
	block   block
	share   bodies.Share // of Config.Bodies: for half a frame, or half a header block
	state   atomic.Int64 // milliseconds since 1970, and in the lowest bit whether a stream is open
	sending atomic.Int64 // since when a write has been under way, in milliseconds since 1970; 0: none is

	mu       sync.Mutex
	out      *[]byte // pooled; nil: nothing waits to be written
	dead     error
	last     uint32 // the highest stream of the client's
	streams  map[uint32]*stream
	queue    []*stream // those with a body that waits for a window, in the order in which they are served
	waiting  int       // bytes of these bodies
	held     int       // bytes of bodies of requests
	heads    int       // bytes of header fields of requests that are not whole
	running  int       // handlers
	window   int64     // for bodies on all streams
	initial  int64     // window of a new stream
	resets   resets    // what this side has reset
	memory   Memory    // of the peer's decoder
	shrunk   bool      // the peer's table became smaller: the next block says so
	final    uint32    // after GOAWAY: no stream above this one is answered
	used     time.Time // when a request last began or ended, or DATA came on an open stream
	begun    bool      // our SETTINGS, which come first (RFC 9113, section 3.4)
	leaving  bool      // it is to be asked to leave
	asked    bool      // to leave, by GOAWAY
	settled  bool      // the peer's SETTINGS have come
	writes   time.Time // when the write deadline was moved
	calm     flood
	sweeping bool
}

func newConn(s *Server, rw net.Conn, link *Link, client netip.Addr) *Conn {
	c := &Conn{srv: s, rw: rw, link: link, client: client, window: ourWindow, initial: ourWindow, final: maxWindow}
	c.decoder.init()
	c.memory.open()
	c.plain.Client, c.plain.Secure, c.plain.Fields = client, rw != net.Conn(link), &c.decoder
	c.calm.begin()
	c.used = time.Now()
	c.tell()
	return c
}

// CountFor has what the connection holds counted against the share of a client (Config.Bodies). It is to be called before Serve.
func (c *Conn) CountFor(client netip.Prefix) { c.share.Client = client }

// ByTier says that the other end is an edge behind this one. It is to be called before Serve.
func (c *Conn) ByTier() { c.plain.Tier = true }

const (
	renew   = 4 * time.Second  // deadlines are moved no more often: timers cost more than a hit
	halfway = 20 * time.Second // for the rest of a frame or header block

	halfCosts = inBuffer + maxBlock // bytes that it takes meanwhile
)

// serve reads until the connection ends.
func (c *Conn) serve() error {
	defer c.close()
	c.now = time.Now()
	if err := c.begin(); err != nil {
		return err
	}
	for {
		if err := c.batch(); err != nil {
			return c.leave(err)
		}
		for err := c.fill(); err != nil; err = c.fill() {
			if !c.waits(err) {
				return c.leave(err)
			}
		}
	}
}

// begin reads the preface, and sends our settings (RFC 9113, section 3.4).
func (c *Conn) begin() error {
	if err := c.rw.SetDeadline(c.now.Add(c.srv.config.Idle)); err != nil {
		return err
	}
	c.renewed, c.writes, c.used = c.now, c.now, c.now
	for n := 0; n < len(Preface); {
		if err := c.fill(); err != nil {
			return err
		}
		b := (*c.in)[c.r:]
		take := min(len(b), len(Preface)-n)
		if string(b[:take]) != Preface[n:n+take] {
			c.srv.counts.broken.Add(1)
			return broken(http2.ErrCodeProtocol, "no preface")
		}
		n += take
		c.r += take
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.append(appendSettings(nil, c.srv.config.MaxList))
	if c.begun = true; c.leaving {
		time.AfterFunc(drainAfter, c.drain) // unless it asks something before
	}
	return c.flush()
}

// fill reads more, behind what is there of a frame. While nothing is there, no buffer is held.
func (c *Conn) fill() error {
	if c.in != nil && c.r == len(*c.in) {
		inBuffers.give(c.in)
		c.in, c.r = nil, 0
	}
	if c.in == nil {
		if !c.link.Ready() {
			c.decoder.rest()
			c.plain.Begin() // it would keep the buffer that its parts lie in
		}
		if err := c.link.Wait(); err != nil {
			return err
		}
		c.in = inBuffers.take()
	}
	b := (*c.in)[:cap(*c.in)]
	have := copy(b, (*c.in)[c.r:])
	n, err := c.rw.Read(b[have:])
	*c.in, c.r = b[:have+n], 0
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// batch answers all that is there, and renews the deadlines.
func (c *Conn) batch() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = time.Now()
	if c.dead != nil {
		return c.dead
	}
	for more := true; more; {
		var err error
		if more, err = c.frames(); err != nil {
			return err
		}
		if more || !c.link.Ready() || c.unsent() > outAtOnce {
			if err := c.flush(); err != nil {
				return err
			}
		}
	}
	if c.leaving && c.last >= c.final && len(c.streams) == 0 {
		return io.EOF
	}
	c.tell()
	return c.extend()
}

// tell writes down, for readers that do not hold mu, whether a stream is open and when the connection was last used.
func (c *Conn) tell() {
	busy := int64(1)
	if len(c.streams) == 0 {
		busy = 0
		c.streams, c.queue = nil, nil // an idle connection keeps no memory of busier days
	}
	c.state.Store(c.used.UnixMilli()<<1 | busy)
}

// extend gives the client time for its next request, or for the rest of a frame that has begun. Only requests and DATA on open
// streams move the deadline: a client that sends PING, WINDOW_UPDATE, SETTINGS, PRIORITY or padding alone does not keep its
// connection by that.
func (c *Conn) extend() error {
	half := c.in != nil && c.r < len(*c.in) || c.block.open()
	used := c.used.Sub(c.renewed) > renew
	switch {
	case half && (!c.partial || used):
		if !c.partial && c.srv.config.Bodies.Keep(&c.share, halfCosts) != nil {
			return broken(http2.ErrCodeEnhanceYourCalm, "the client has too many requests under way")
		}
		c.partial, c.renewed = true, c.used
		return c.rw.SetReadDeadline(c.now.Add(halfway))
	case !half && (c.partial || used):
		if c.partial {
			c.srv.config.Bodies.Give(&c.share)
		}
		c.partial, c.renewed = false, c.used
		return c.rw.SetReadDeadline(c.used.Add(c.srv.config.Idle + renew))
	}
	return nil
}

// waits reports whether an error of reading means only that a silent client waits for responses, or that it has taken the last one
// more recently than its read deadline knows.
func (c *Conn) waits(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !errors.Is(err, os.ErrDeadlineExceeded) || c.partial || c.dead != nil {
		return false
	}
	from, now := c.used, time.Now()
	switch {
	case len(c.streams) > 0:
		from = now
	case c.leaving || now.Sub(from) >= c.srv.config.Idle:
		return false
	}
	c.renewed = from
	return c.rw.SetReadDeadline(from.Add(c.srv.config.Idle)) == nil
}

// leave ends the connection, and tells the client why where that is its doing.
func (c *Conn) leave(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.leaveLocked(err)
}

func (c *Conn) leaveLocked(err error) error {
	code := http2.ErrCodeNo
	if ce, ok := errors.AsType[*connError](err); ok {
		code = ce.code
		if code == http2.ErrCodeEnhanceYourCalm {
			c.srv.counts.calmed.Add(1)
		} else {
			c.srv.counts.broken.Add(1)
		}
	}
	c.append(appendGoAway(nil, c.last, code))
	c.flush()
	c.end(err)
	return err
}

// end wakes everybody who writes: there is nobody to write to.
func (c *Conn) end(err error) {
	if c.dead == nil {
		c.dead = err
	}
	for _, s := range c.streams {
		c.abandon(s)
	}
	c.streams, c.queue = nil, nil
}

func (c *Conn) close() {
	c.mu.Lock()
	c.end(errClosed)
	if c.out != nil {
		outBuffers.give(c.out)
		c.out = nil
	}
	c.srv.config.Bodies.Give(&c.share)
	leaving := c.leaving
	c.mu.Unlock()
	if c.in != nil {
		inBuffers.give(c.in)
		c.in = nil
	}
	if leaving {
		c.linger()
	}
	c.rw.Close()
}

// linger gives the client the time to take the last answer: with something of the client's unread, closing at once would reset the connection,
// and the answer could be lost (RFC 9112, section 9.6, gives the reason; TCP is the same here).
func (c *Conn) linger() {
	half, ok := c.rw.(interface{ CloseWrite() error })
	if ok && half.CloseWrite() == nil && c.rw.SetReadDeadline(time.Now().Add(drainAfter)) == nil {
		io.CopyN(io.Discard, c.rw, lingerBytes)
	}
}

const lingerBytes = 256 << 10

// drain has the client take its further requests elsewhere.
func (c *Conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaving = true; c.begun && c.dead == nil {
		c.announce()
		c.flush()
	}
}

// announce says that no further requests are taken. Those on their way are answered: the number of the last one is told
// when the client has had the time to hear of it (RFC 9113, section 6.8).
func (c *Conn) announce() {
	if c.asked {
		return
	}
	c.asked = true
	c.append(appendGoAway(nil, maxWindow, http2.ErrCodeNo))
	time.AfterFunc(drainAfter, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.dead != nil {
			return
		}
		c.final = c.last
		c.append(appendGoAway(nil, c.last, http2.ErrCodeNo))
		if c.flush() != nil || len(c.streams) == 0 {
			c.rw.SetReadDeadline(time.Now()) // it reads, and waits for nothing
		}
	})
}

// drainAfter is more than most clients are away, there and back.
const drainAfter = 500 * time.Millisecond

// append puts frames behind those that wait to be written.
func (c *Conn) append(b []byte) {
	if c.out == nil {
		c.out = outBuffers.take()
	}
	*c.out = append(*c.out, b...)
}

func (c *Conn) unsent() int {
	if c.out == nil {
		return 0
	}
	return len(*c.out)
}

// flush writes what waits, of TLS in as few records as it fits into and in one go.
func (c *Conn) flush() error {
	if c.out == nil || c.dead != nil {
		return c.dead
	}
	now := time.Now()
	if now.Sub(c.writes) > renew {
		c.writes = now
		if err := c.rw.SetWriteDeadline(now.Add(c.srv.config.Send + renew)); err != nil {
			return c.failed(err)
		}
	}
	c.sending.Store(now.UnixMilli())
	defer c.sending.Store(0)
	var err error
	if c.link == c.rw {
		_, err = c.link.Write(*c.out)
	} else {
		c.link.cork()
		_, err = c.rw.Write(*c.out)
		if sent := c.link.uncork(); err == nil {
			err = sent
		}
	}
	outBuffers.give(c.out)
	c.out = nil
	return c.failed(err)
}

// failed ends a connection that can't be written to.
func (c *Conn) failed(err error) error {
	if err != nil {
		c.end(err)
		c.rw.Close() // so that nobody reads on
	}
	return err
}
