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
	"github.com/iconedge/iconedge/edge/eligible"
)

// A Conn is an HTTP/2 connection. The fields above mu belong to the reading goroutine; mu guards
// the fields below it.
type Conn struct {
	srv          *Server
	rw           net.Conn
	link         *Link
	client       netip.Addr
	decoder      decoder
	request      eligible.Request
	in           *[]byte // pooled; nil: no bytes are waiting
	r            int
	now          time.Time     // of the current batch of frames
	pause        time.Duration // before more frames are read
	readRenewed  time.Time     // the last use for which the read deadline was moved
	partial      bool          // a frame or header block is incomplete; its deadline runs
	block        block
	share        bodies.Share // of Config.Bodies, for an incomplete frame or header block
	state        atomic.Int64 // last use in milliseconds since 1970, times 2; +1: a stream is open
	writingSince atomic.Int64 // start of the current write, in milliseconds since 1970; 0: none

	mu           sync.Mutex
	out          *[]byte // pooled; nil: nothing is waiting to be written
	dead         error   // the reason why the connection has ended; nil: it has not
	last         uint32  // the highest stream that the client has opened
	streams      map[uint32]*stream
	queue        []*stream // streams whose bodies wait for a window, in the order of sending
	queuedBytes  int       // bytes of these bodies
	bodyBytes    int       // bytes of bodies of requests
	headBytes    int       // bytes of header fields of incomplete requests
	handlers     int       // running now, or in starting
	starting     []starting
	window       int64       // for bodies on all streams
	initial      int64       // window of a new stream
	resets       resets      // streams that this side has reset
	memory       ClientTable // of the client's decoder
	tableShrunk  bool        // the client made its table smaller; the next block must say so
	lastAllowed  uint32      // after GOAWAY: streams above this one are ignored
	lastUse      time.Time   // when a request last began or ended, or DATA came
	settingsSent bool        // our SETTINGS were sent, which come first (RFC 9113, section 3.4)
	draining     bool        // the server is draining
	goAwaySent   bool        // the first GOAWAY was sent
	gotSettings  bool        // the client's SETTINGS have come
	writeRenewed time.Time   // when the write deadline was moved
	flood        flood
	sweeping     bool
}

func newConn(s *Server, rw net.Conn, link *Link, client netip.Addr) *Conn {
	c := &Conn{srv: s, rw: rw, link: link, client: client, window: ourWindow, initial: ourWindow, lastAllowed: maxWindow}
	c.decoder.init()
	c.memory.open()
	c.request.Client, c.request.Secure, c.request.Fields = client, rw != net.Conn(link), &c.decoder
	c.flood.begin()
	c.lastUse = time.Now()
	c.publishState()
	return c
}

// SetClient counts the memory of the connection against the share of a client (Config.Bodies). It
// must be called before Serve.
func (c *Conn) SetClient(client netip.Prefix) { c.share.Client = client }

// SetTier records that the client is another edge of our own. It must be called before Serve.
func (c *Conn) SetTier() { c.request.Tier = true }

const (
	renewInterval  = 4 * time.Second  // between changes of a deadline, which cost more than a hit
	partialTimeout = 20 * time.Second // for the rest of a frame or header block

	partialCost = inBuffer + maxBlock // bytes that a partial frame or header block may take
)

// serve reads frames until the connection ends.
func (c *Conn) serve() error {
	defer c.close()
	c.now = time.Now()
	if err := c.handshake(); err != nil {
		return err
	}
	for {
		if err := c.batch(); err != nil {
			return c.terminate(err)
		}
		if c.pause > 0 {
			time.Sleep(c.pause)
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
	c.readRenewed, c.writeRenewed, c.lastUse = c.now, c.now, c.now
	for n := 0; n < len(Preface); {
		if err := c.fill(); err != nil {
			return err
		}
		b := (*c.in)[c.r:]
		take := min(len(b), len(Preface)-n)
		if string(b[:take]) != Preface[n:n+take] {
			c.srv.counts.broken.Add(1)
			return connectionError(http2.ErrCodeProtocol, "no preface")
		}
		n += take
		c.r += take
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.append(appendSettings(nil, c.srv.config))
	if c.settingsSent = true; c.draining {
		time.AfterFunc(drainAfter, c.drain) // gives the client time for a request
	}
	return c.flush()
}

// fill reads more bytes after those of an incomplete frame. While it waits without any, it holds no
// buffer.
func (c *Conn) fill() error {
	if c.in != nil && c.r == len(*c.in) {
		inBuffers.give(c.in)
		c.in, c.r = nil, 0
	}
	if c.in == nil {
		if !c.link.Ready() {
			c.decoder.release()
			c.request.Reset() // drops the references to the buffer
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

// batch handles all frames that have arrived, and renews the deadlines.
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
		c.start()
		if more || !c.link.Ready() || c.unsent() > maxBatch {
			if err := c.flush(); err != nil {
				return err
			}
		}
	}
	if c.draining && c.last >= c.lastAllowed && len(c.streams) == 0 {
		return io.EOF
	}
	c.pause = c.flood.pause()
	c.publishState()
	return c.extend()
}

// publishState publishes, for readers without mu, whether a stream is open and when the connection
// was last used.
func (c *Conn) publishState() {
	busy := int64(1)
	if len(c.streams) == 0 {
		busy = 0
		c.streams, c.queue = nil, nil // an idle connection keeps no memory
	}
	c.state.Store(c.lastUse.UnixMilli()<<1 | busy)
}

// extend moves the deadline for the next request, or for the rest of an incomplete frame. Only
// requests and DATA on open streams count as use: a client can't keep its connection with PING,
// WINDOW_UPDATE, SETTINGS, PRIORITY or padding alone.
func (c *Conn) extend() error {
	half := c.in != nil && c.r < len(*c.in) || c.block.open()
	used := c.lastUse.Sub(c.readRenewed) > renewInterval
	switch {
	case half && (!c.partial || used):
		if !c.partial && c.srv.config.Bodies.ReserveShare(&c.share, partialCost) != nil {
			return connectionError(http2.ErrCodeEnhanceYourCalm, "the client has too many requests under way")
		}
		c.partial, c.readRenewed = true, c.lastUse
		return c.rw.SetReadDeadline(c.now.Add(partialTimeout))
	case !half && (c.partial || used):
		if c.partial {
			c.srv.config.Bodies.Release(&c.share)
		}
		c.partial, c.readRenewed = false, c.lastUse
		return c.rw.SetReadDeadline(c.lastUse.Add(c.srv.config.Idle + renewInterval))
	}
	return nil
}

// keepsWaiting reports whether a read error is only a deadline that does not end the connection:
// the silent client waits for responses, or took the last one after the deadline was set.
func (c *Conn) keepsWaiting(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !errors.Is(err, os.ErrDeadlineExceeded) || c.partial || c.dead != nil {
		return false
	}
	from, now := c.lastUse, time.Now()
	switch {
	case len(c.streams) > 0:
		from = now
	case c.draining || now.Sub(from) >= c.srv.config.Idle:
		return false
	}
	c.readRenewed = from
	return c.rw.SetReadDeadline(from.Add(c.srv.config.Idle)) == nil
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
	c.append(appendGoAway(nil, c.last, code))
	c.flush()
	c.end(err)
	return err
}

// end marks the connection as dead and stops all writers.
func (c *Conn) end(err error) {
	if c.dead == nil {
		c.dead = err
	}
	for _, s := range c.streams {
		c.abandon(s)
	}
	c.streams, c.queue = nil, nil
	c.start() // gives back the memory of those that have not begun, because their streams are gone
}

func (c *Conn) close() {
	c.mu.Lock()
	c.end(errClosed)
	if c.out != nil {
		outBuffers.give(c.out)
		c.out = nil
	}
	c.srv.config.Bodies.Release(&c.share)
	draining := c.draining
	c.mu.Unlock()
	if c.in != nil {
		inBuffers.give(c.in)
		c.in = nil
	}
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
	if c.draining = true; c.settingsSent && c.dead == nil {
		c.sendGoAway()
		c.flush()
	}
}

// sendGoAway sends a GOAWAY that accepts all streams, because requests may be on their way. A
// second one names the last stream when the client has had time to receive the first (RFC 9113,
// section 6.8).
func (c *Conn) sendGoAway() {
	if c.goAwaySent {
		return
	}
	c.goAwaySent = true
	c.append(appendGoAway(nil, maxWindow, http2.ErrCodeNo))
	time.AfterFunc(drainAfter, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.dead != nil {
			return
		}
		c.lastAllowed = c.last
		c.append(appendGoAway(nil, c.last, http2.ErrCodeNo))
		if c.flush() != nil || len(c.streams) == 0 {
			c.rw.SetReadDeadline(time.Now()) // ends the read, because nothing is left to wait for
		}
	})
}

// drainAfter is longer than the round trip to most clients.
const drainAfter = 500 * time.Millisecond

// append adds frames to those that wait to be written.
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

// flush writes the waiting frames in one go, over TLS in as few records as possible.
func (c *Conn) flush() error {
	if c.out == nil || c.dead != nil {
		return c.dead
	}
	now := time.Now()
	if now.Sub(c.writeRenewed) > renewInterval {
		c.writeRenewed = now
		if err := c.rw.SetWriteDeadline(now.Add(c.srv.config.Send + renewInterval)); err != nil {
			return c.failed(err)
		}
	}
	c.writingSince.Store(now.UnixMilli())
	defer c.writingSince.Store(0)
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

// failed ends a connection after a write error.
func (c *Conn) failed(err error) error {
	if err != nil {
		c.end(err)
		c.rw.Close() // ends the read as well
	}
	return err
}
