package netloop

import (
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A Conn is a TCP connection that its loop serves, or, while it is detached, a net.Conn for other
// goroutines. Close and the methods that set options may be called at any time.
type Conn struct {
	loop    *Loop
	handler Handler
	remote  netip.AddrPort

	mu     sync.Mutex
	fd     int32
	users  int32 // system calls under way, after which the descriptor may be closed
	closed bool
	waiter *waiter // nil: the connection is on its loop

	index     uint32       // in loop.conns, under loop.mu
	entered   atomic.Bool  // it is in loop.conns
	timed     timed        // under loop.mu
	scheduled atomic.Int64 // timed.tick
	due       atomic.Int64 // the tick of its timer; 0: none
}

// A waiter lets goroutines wait for events of a detached connection.
type waiter struct{ read, write side }

// A side is one direction of a detached connection. Its fields are under Conn.mu.
type side struct {
	event    sync.Cond
	ready    bool // there was an event since the last system call
	expired  bool
	deadline time.Time
	timer    *time.Timer
}

// NewConn returns a connection of l on a non-blocking socket, which it then owns. No event is
// reported before Start or StartDetached.
func (l *Loop) NewConn(fd int, remote netip.AddrPort) *Conn {
	return &Conn{loop: l, fd: int32(fd), remote: remote}
}

// Start lets the loop serve c by h.
func (c *Conn) Start(h Handler) error { return c.start(h, nil) }

// StartDetached lets goroutines use c. After Attach the loop serves it by h.
func (c *Conn) StartDetached(h Handler) error { return c.start(h, c.newWaiter()) }

func (c *Conn) start(h Handler, w *waiter) error {
	c.handler, c.waiter = h, w
	fd, err := c.begin(nil)
	if err != nil {
		return err
	}
	defer c.end()
	return c.loop.enter(c, fd)
}

func (c *Conn) newWaiter() *waiter {
	w := &waiter{}
	w.read.event.L, w.write.event.L = &c.mu, &c.mu
	return w
}

// Detach takes c from the loop, so that goroutines can use it as a net.Conn without deadlines. Only
// its Handler may call it.
func (c *Conn) Detach() {
	w := c.newWaiter()
	c.due.Store(0)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiter = w
}

// Attach returns c to its loop. No other method may be under way or be called later by the caller,
// except Close. The loop calls Ready if there was an event since the last read.
func (c *Conn) Attach() {
	c.mu.Lock()
	w := c.waiter
	if w == nil || c.closed {
		c.mu.Unlock()
		return
	}
	c.waiter = nil
	w.read.stop()
	w.write.stop()
	ready := w.read.ready
	c.mu.Unlock()
	if ready {
		c.loop.kick(c, Readable|Writable|Ending)
	}
}

// Wake makes the loop call Ready, without an event. Any goroutine may call it.
func (c *Conn) Wake() { c.loop.kick(c, 0) }

// attached reports whether the loop serves c.
func (c *Conn) attached() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiter == nil && !c.closed
}

// deliver reports whether the loop serves c. Otherwise it wakes the goroutines that wait for the
// events.
func (c *Conn) deliver(e Events) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	w := c.waiter
	if w == nil {
		return true
	}
	if e&(Readable|Ending) != 0 {
		w.read.wake()
	}
	if e&(Writable|Ending) != 0 {
		w.write.wake()
	}
	return false
}

func (s *side) wake() {
	s.ready = true
	s.event.Broadcast()
}

func (s *side) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// begin returns the descriptor for a system call, which end must follow. s is the direction of the
// call; nil: neither.
func (c *Conn) begin(s *side) (fd int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	if s != nil {
		if s.expired {
			return 0, os.ErrDeadlineExceeded
		}
		s.ready = false
	}
	c.users++
	return int(c.fd), nil
}

// end ends a system call.
func (c *Conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users--
	c.closeUnused()
}

// closeUnused closes the descriptor of a closed connection, if no system call uses it. Its number
// may be another connection's from then on.
func (c *Conn) closeUnused() {
	if c.closed && c.users == 0 && c.fd >= 0 {
		closeDescriptor(int(c.fd))
		c.fd = -1
	}
}

// Close closes c. Reads and writes under way return net.ErrClosed.
func (c *Conn) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return net.ErrClosed
	}
	c.closed = true
	c.closeUnused()
	if w := c.waiter; w != nil {
		w.read.stop()
		w.write.stop()
		w.read.wake()
		w.write.wake()
	}
	c.mu.Unlock()
	if c.entered.Load() {
		c.loop.leave(c)
	}
	return nil
}

// TryRead reads the bytes that have arrived. It returns syscall.EAGAIN if there are none.
func (c *Conn) TryRead(p []byte) (int, error) {
	fd, err := c.begin(c.side(readSide))
	if err != nil {
		return 0, err
	}
	n, err := readNow(fd, p)
	c.end()
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// TryWrite writes the bytes that there is room for. It returns syscall.EAGAIN if some are left.
func (c *Conn) TryWrite(p []byte) (n int, err error) {
	fd, err := c.begin(c.side(writeSide))
	if err != nil {
		return 0, err
	}
	for n < len(p) && err == nil {
		var m int
		m, err = writeNow(fd, p[n:])
		n += m
	}
	c.end()
	return n, err
}

func readSide(w *waiter) *side  { return &w.read }
func writeSide(w *waiter) *side { return &w.write }

// side returns a direction of c while it is detached, else nil.
func (c *Conn) side(of func(*waiter) *side) *side {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiter == nil {
		return nil
	}
	return of(c.waiter)
}

// SetTimer makes the loop call Expired at a time, at most 250 ms later, unless c is detached. It
// replaces the time of the last call; zero: never.
func (c *Conn) SetTimer(at time.Time) {
	if at.IsZero() {
		c.due.Store(0)
		return
	}
	l := c.loop
	tick := l.wheel.tickOf(at)
	c.due.Store(tick)
	if at := c.scheduled.Load(); at != 0 && at <= tick {
		return // it is looked at before
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.entered.Load() {
		return // closed, or not started
	}
	l.wheel.insert(c, tick)
	l.arm()
}

// Read implements net.Conn for a detached connection.
func (c *Conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n := 0
	err := c.block("read", readSide, func(fd int) (err error) {
		n, err = readSome(fd, p)
		return err
	})
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// Write implements net.Conn for a detached connection.
func (c *Conn) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		err = c.block("write", writeSide, func(fd int) error {
			m, err := writeSome(fd, p[n:])
			n += m
			return err
		})
	}
	return n, err
}

// ReadFrom implements io.ReaderFrom for a detached connection. The system sends a file, as the
// reader of a LimitedReader, without a copy into this process.
func (c *Conn) ReadFrom(r io.Reader) (n int64, err error) {
	rest, _ := r.(*io.LimitedReader)
	if rest == nil {
		return io.Copy(struct{ io.Writer }{c}, r)
	}
	file, ok := rest.R.(*os.File)
	if !ok {
		return io.Copy(struct{ io.Writer }{c}, r)
	}
	from, err := file.SyscallConn()
	if err != nil {
		return 0, err
	}
	for rest.N > 0 && err == nil {
		sent := 0
		err = c.block("sendfile", writeSide, func(fd int) (err error) {
			failed := from.Control(func(in uintptr) { sent, err = sendFile(fd, int(in), rest.N) })
			if failed != nil {
				return failed
			}
			return err
		})
		n, rest.N = n+int64(sent), rest.N-int64(sent)
		if sent == 0 {
			break // the file has ended
		}
	}
	return n, err
}

// block makes system calls until one does not return EAGAIN.
func (c *Conn) block(op string, of func(*waiter) *side, call func(fd int) error) error {
	s := c.side(of)
	if s == nil {
		return c.failed(op, net.ErrClosed) // its handler has it
	}
	for {
		fd, err := c.begin(s)
		if err != nil {
			return c.failed(op, err)
		}
		err = call(fd)
		c.end()
		if err == syscall.EAGAIN {
			c.await(s)
			continue
		}
		if err != nil {
			return c.failed(op, os.NewSyscallError(op, err))
		}
		return nil
	}
}

// await waits for an event, for the deadline or for Close.
func (c *Conn) await(s *side) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !s.ready && !s.expired && !c.closed {
		s.event.Wait()
	}
}

// failed returns the error of an operation. It lacks the address of this end, which takes a system
// call: a deadline passes each time that a goroutine waits in vain for the next request.
func (c *Conn) failed(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: c.RemoteAddr(), Err: err}
}

// SetDeadline implements net.Conn for a detached connection.
func (c *Conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn for a detached connection.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.setDeadline(readSide, t) }

// SetWriteDeadline implements net.Conn for a detached connection.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.setDeadline(writeSide, t) }

func (c *Conn) setDeadline(of func(*waiter) *side, t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.waiter == nil {
		return c.failed("set", net.ErrClosed)
	}
	s := of(c.waiter)
	s.deadline, s.expired = t, false
	left := time.Until(t)
	switch {
	case t.IsZero():
		s.stop()
	case left <= 0:
		s.stop()
		s.expired = true
		s.event.Broadcast()
	case s.timer == nil:
		s.timer = time.AfterFunc(left, func() { c.expire(s) })
	default:
		s.timer.Reset(left)
	}
	return nil
}

// expire ends the calls of a direction, unless its deadline was moved while the timer expired.
func (c *Conn) expire(s *side) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.deadline.IsZero() && !time.Now().Before(s.deadline) {
		s.expired = true
		s.event.Broadcast()
	}
}

// RemoteAddr returns the address of the peer.
func (c *Conn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.remote) }

// Loop returns the loop of c.
func (c *Conn) Loop() *Loop { return c.loop }

// LocalAddr returns the address of this end, or nil once c is closed.
func (c *Conn) LocalAddr() net.Addr {
	fd, err := c.begin(nil)
	if err != nil {
		return nil
	}
	defer c.end()
	return localAddr(fd)
}

// CloseWrite closes the sending direction.
func (c *Conn) CloseWrite() error {
	return c.option("shutdown", closeWrite)
}

// SetLinger sets how Close treats bytes that the peer has not acknowledged; 0: it drops them and
// resets the connection.
func (c *Conn) SetLinger(seconds int) error {
	return c.option("setsockopt", func(fd int) error { return setLinger(fd, seconds) })
}

// option makes a system call that does not block.
func (c *Conn) option(name string, call func(fd int) error) error {
	fd, err := c.begin(nil)
	if err != nil {
		return c.failed("set", err)
	}
	defer c.end()
	return os.NewSyscallError(name, call(fd))
}

// SyscallConn implements syscall.Conn.
func (c *Conn) SyscallConn() (syscall.RawConn, error) { return rawConn{c}, nil }

type rawConn struct{ c *Conn }

func (r rawConn) Control(f func(fd uintptr)) error {
	return r.c.option("control", func(fd int) error { f(uintptr(fd)); return nil })
}

// Read calls f again after each event, until it returns true.
func (r rawConn) Read(f func(fd uintptr) (done bool)) error {
	return r.c.block("read", readSide, untilDone(f))
}

// Write calls f again after each event, until it returns true.
func (r rawConn) Write(f func(fd uintptr) (done bool)) error {
	return r.c.block("write", writeSide, untilDone(f))
}

func untilDone(f func(fd uintptr) bool) func(fd int) error {
	return func(fd int) error {
		if f(uintptr(fd)) {
			return nil
		}
		return syscall.EAGAIN
	}
}
