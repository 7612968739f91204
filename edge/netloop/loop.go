// Package netloop runs connections on event loops: a resting connection needs no goroutine, and a
// few hundred bytes. It works on Linux; elsewhere NewLoop fails with errors.ErrUnsupported.
//
// A Loop waits for the events of its connections in an edge-triggered epoll descriptor. That
// descriptor is itself in the poller of Go's runtime, so a loop without events is a parked
// goroutine: it holds neither a thread nor a processor. For each event the loop calls the Handler
// of the connection, which must not block.
//
// A handler that needs to block detaches its connection from the loop. The Conn is then a net.Conn
// with deadlines for other goroutines, on the same registration, and the loop only wakes them.
// Attach returns the connection to the loop.
//
// The package knows no protocol, and imports nothing of this module.
package netloop

import (
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Events says why a Handler is called.
type Events uint8

// The events.
const (
	Readable Events = 1 << iota // bytes, or the end of the stream, may have arrived
	Writable                    // there is room to write
	// Ending: the peer has closed its sending direction, or the connection failed. The handler must
	// read until there is nothing left, because no other event announces the end.
	Ending
)

// A Handler serves a connection on the goroutine of its loop. It must not block.
type Handler interface {
	// Ready is called after events, and again after the other connections if it returns true. Every
	// event is reported once: a handler that leaves bytes unread returns true or detaches.
	Ready(e Events) (again bool)
	// Expired is called after the time of SetTimer. It may be early if the timer was moved.
	Expired(now time.Time)
}

// batch is the number of events that a loop takes at a time.
const batch = 128

// A Loop serves connections on one goroutine.
type Loop struct {
	file  *os.File        // the epoll descriptor in the poller of the runtime
	raw   syscall.RawConn // of file
	epoll int
	wake  int // an eventfd: there are kicks, or the loop is closed
	timer int // a timerfd for the wheel

	mu      sync.Mutex
	conns   []entry  // by index
	free    []uint32 // indices without a connection
	kicks   []kick   // of other goroutines
	woken   bool     // the eventfd has been written since the last look at kicks
	wheel   wheel
	armed   int64 // tick for which the timer is set; 0: none
	running bool  // Run was called
	ended   bool  // the descriptors are closed
	closed  atomic.Bool

	// The following belong to the goroutine of the loop.
	events  [batch]event
	ready   []kick
	again   []kick // connections that Ready has deferred, to be fair to others
	expired []*Conn
}

// An entry of a loop's table. The generation tells the events of a connection from those of an
// earlier one with the same index.
type entry struct {
	conn       *Conn
	generation uint32
}

// A kick is a connection whose handler is to be called, and why.
type kick struct {
	conn   *Conn
	events Events
}

// The indices of the loop's own descriptors, which no connection has.
const (
	wakeIndex  = 1<<32 - 1
	timerIndex = 1<<32 - 2
)

// NewLoop returns a loop without connections. Run serves it, and Close releases it.
func NewLoop() (*Loop, error) {
	l := &Loop{epoll: -1, wake: -1, timer: -1}
	l.wheel.start = time.Now()
	if err := l.open(); err != nil {
		l.release()
		return nil, err
	}
	return l, nil
}

// open makes the descriptors of l.
func (l *Loop) open() (err error) {
	if l.epoll, err = epollCreate(); err != nil {
		return os.NewSyscallError("epoll_create1", err)
	}
	if l.wake, err = eventCreate(); err != nil {
		return os.NewSyscallError("eventfd2", err)
	}
	if l.timer, err = timerCreate(); err != nil {
		return os.NewSyscallError("timerfd_create", err)
	}
	// Nobody reads these two: edge-triggered, each write and each expiry is an event of its own.
	for index, fd := range map[uint32]int{wakeIndex: l.wake, timerIndex: l.timer} {
		if err := epollAdd(l.epoll, fd, index, 0); err != nil {
			return os.NewSyscallError("epoll_ctl", err)
		}
	}
	l.file = os.NewFile(uintptr(l.epoll), "epoll")
	if err := l.file.SetReadDeadline(time.Time{}); err != nil {
		return err // the runtime can't poll it
	}
	l.raw, err = l.file.SyscallConn()
	return err
}

// release closes the descriptors of l.
func (l *Loop) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if l.file != nil {
		l.file.Close()
	} else {
		closeDescriptor(l.epoll)
	}
	closeDescriptor(l.wake)
	closeDescriptor(l.timer)
}

// Run serves the connections of l until Close.
func (l *Loop) Run() {
	if !l.begin() {
		return
	}
	// Between two calls of the function the goroutine is parked until the epoll descriptor has
	// another event. One that arrives meanwhile ends the parking at once.
	l.raw.Read(func(uintptr) bool {
		if !l.closed.Load() {
			l.turn()
		}
		return l.closed.Load()
	})
	l.end()
}

// end releases l and closes its connections.
func (l *Loop) end() {
	l.release()
	l.mu.Lock()
	conns := slices.Clone(l.conns) // none enters any more
	l.mu.Unlock()
	for _, e := range conns {
		if e.conn != nil {
			e.conn.Close()
		}
	}
}

// begin reports whether l has not been closed.
func (l *Loop) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = true
	return !l.ended
}

// Close ends Run, which closes all connections of l.
func (l *Loop) Close() {
	l.mu.Lock()
	closed, running := l.closed.Swap(true), l.running
	if running && !l.ended {
		eventSignal(l.wake)
	}
	l.mu.Unlock()
	if !closed && !running {
		l.end()
	}
}

// turn handles the events that are there, at most a batch of them.
func (l *Loop) turn() {
	n := epollPoll(l.epoll, l.events[:])
	timed := l.resolve(l.events[:n])
	for _, k := range l.ready {
		l.serve(k)
	}
	clear(l.ready)
	if timed {
		l.expire(time.Now())
	}
	deferred := l.again
	l.again = nil
	for _, k := range deferred {
		l.serve(k)
	}
	if n == batch || len(l.again) > 0 {
		// Parking lets other goroutines run, and the runtime look for their events. This event ends
		// it at once.
		eventSignal(l.wake)
	}
}

// resolve collects the connections of events and of kicks. It reports whether the timer has
// expired.
func (l *Loop) resolve(events []event) (timed bool) {
	l.ready = l.ready[:0]
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range events {
		index, generation := events[i].of()
		if index == timerIndex {
			timed = true
		}
		if int(index) >= len(l.conns) {
			continue
		}
		if e := &l.conns[index]; e.conn != nil && e.generation == generation {
			l.ready = append(l.ready, kick{e.conn, events[i].kinds()})
		}
	}
	l.ready = append(l.ready, l.kicks...)
	clear(l.kicks)
	l.kicks, l.woken = l.kicks[:0], false
	return timed
}

// serve calls the handler of a connection, or wakes the goroutines that use the connection.
func (l *Loop) serve(k kick) {
	if k.conn.deliver(k.events) && k.conn.handler.Ready(k.events) {
		l.again = append(l.again, k)
	}
}

// expire calls the handlers of the connections whose time has come.
func (l *Loop) expire(now time.Time) {
	l.mu.Lock()
	l.expired = l.wheel.advance(now, l.expired[:0])
	l.armed = 0
	l.arm()
	l.mu.Unlock()
	for _, c := range l.expired {
		if c.attached() {
			c.handler.Expired(now)
		}
	}
	clear(l.expired)
}

// arm sets the timer for the next connections in the wheel, unless it is set for an earlier moment.
// l.mu must be held.
func (l *Loop) arm() {
	tick, ok := l.wheel.next()
	if !ok || l.ended || l.armed != 0 && l.armed <= tick {
		return
	}
	l.armed = tick
	timerSet(l.timer, max(l.wheel.until(tick), time.Millisecond))
}

// kick makes the loop call the handler of c.
func (l *Loop) kick(c *Conn, e Events) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kicks = append(l.kicks, kick{c, e})
	if !l.woken && !l.ended {
		l.woken = true
		eventSignal(l.wake)
	}
}

// enter adds c to the table, and registers its descriptor for all events, once.
func (l *Loop) enter(c *Conn, fd int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return net.ErrClosed
	}
	if n := len(l.free); n > 0 {
		c.index, l.free = l.free[n-1], l.free[:n-1]
	} else {
		c.index = uint32(len(l.conns))
		l.conns = append(l.conns, entry{})
	}
	e := &l.conns[c.index]
	e.generation++
	e.conn = c
	c.entered.Store(true)
	if err := epollAdd(l.epoll, fd, c.index, e.generation); err != nil {
		l.remove(c)
		return os.NewSyscallError("epoll_ctl", err)
	}
	if due := c.due.Load(); due != 0 {
		l.wheel.insert(c, due)
		l.arm()
	}
	return nil
}

// leave removes c from the table and from the wheel.
func (l *Loop) leave(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(c)
}

func (l *Loop) remove(c *Conn) {
	l.wheel.remove(c)
	if c.entered.Swap(false) {
		l.conns[c.index].conn = nil
		l.free = append(l.free, c.index)
	}
}

// Len returns the number of connections of l.
func (l *Loop) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns) - len(l.free)
}
