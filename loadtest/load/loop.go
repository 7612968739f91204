//go:build linux

package load

import (
	"math"
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

// A loop is one thread of the client, with its connections.
type loop struct {
	cfg  *Config
	base time.Time // start of the run; moments are nanoseconds since then
	pace pace

	poll   int
	events []unix.EpollEvent
	conns  []conn
	idle   ring // numbers of idle connections
	next   int  // position in the plan's order
	last   int  // end of this loop's part of a plan that is sent once
	sent   uint64
	in     []byte // the bytes read last
	out    []byte // the bytes sent next

	stop     atomic.Bool
	answers  atomic.Int64 // total, for watch
	wrong    atomic.Int64
	broken   atomic.Int64
	counts   counts
	latency  *hdrhistogram.Histogram // nanoseconds
	mistakes []string                // the first wrong responses
}

// counts are counters of the measurement.
type counts struct {
	statuses [600]int64
	bytes    int64 // of bodies
	unsent   int64 // requests that were due and found no free connection
	unheard  int64 // requests that were sent and not answered
}

// A conn is a connection, and the request in flight on it.
type conn struct {
	fd      int
	source  netip.Addr
	request *Request // nil: idle
	due     int64    // when the request was due (open loop) or sent (closed loop)
	answer  answer
}

const (
	readSize    = 128 << 10
	maxMistakes = 5
	maxBroken   = 1000 // connections that broke without a response since the last response
)

// The range and precision of the histogram: from a nanosecond to a minute, with a relative error of
// a thousandth.
const (
	longest = int64(time.Minute)
	digits  = 3
)

// newLoop makes loop i of cfg.Threads and its share of the connections.
func newLoop(cfg *Config, i int) (*loop, error) {
	n, order := cfg.Connections, len(cfg.Plan.Order)
	share := func(of int) (from, to int) { return of * i / cfg.Threads, of * (i + 1) / cfg.Threads }
	first, end := share(n)
	l := &loop{
		cfg: cfg, pace: newPace(cfg, i), events: make([]unix.EpollEvent, min(end-first, 512)), conns: make([]conn, end-first),
		idle: newRing(end - first), in: make([]byte, readSize), latency: hdrhistogram.New(1, longest, digits),
	}
	l.next, l.last = share(order)
	if !cfg.Plan.Once {
		l.last = math.MaxInt
	}
	var err error
	if l.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	for c := range l.conns {
		l.conns[c].fd = -1
		if len(cfg.Sources) > 0 {
			l.conns[c].source = cfg.Sources[(first+c)%len(cfg.Sources)]
		}
	}
	for c := range l.conns {
		if err := l.connect(c); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

func (l *loop) close() {
	for c := range l.conns {
		if l.conns[c].fd >= 0 {
			unix.Close(l.conns[c].fd)
		}
	}
	unix.Close(l.poll)
}

// connect opens connection c and marks it idle.
func (l *loop) connect(c int) (err error) {
	if l.conns[c].fd, err = dial(l.cfg.Target, l.conns[c].source); err != nil {
		l.conns[c].fd = -1
		return err
	}
	l.idle.push(c)
	return unix.EpollCtl(l.poll, unix.EPOLL_CTL_ADD, l.conns[c].fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(c)})
}

// run sends and reads until it is stopped and has its responses, or until the plan is complete.
func (l *loop) run(base time.Time) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer l.close()
	l.base = base
	stopped := int64(math.MaxInt64)
	for {
		now := l.now()
		if l.stop.Load() && stopped == math.MaxInt64 {
			stopped = now
			l.pace.end(now)
		}
		if l.finished(now, stopped) {
			l.settle(now)
			return nil
		}
		if err := l.sendDue(now); err != nil {
			return err
		}
		if err := l.wait(now); err != nil {
			return err
		}
	}
}

func (l *loop) now() int64 { return int64(time.Since(l.base)) }

// finished reports whether nothing is left to send or to wait for.
func (l *loop) finished(now, stopped int64) bool {
	over := l.next >= l.last || stopped <= now && !l.pace.behind(now)
	return over && l.idle.n == len(l.conns) || stopped <= now-int64(drain)
}

// settle counts the requests without a response, with the latency until the client gave up. So a
// server that stalls is charged for them (coordinated omission).
func (l *loop) settle(now int64) {
	for c := range l.conns {
		if conn := &l.conns[c]; conn.request != nil && l.pace.counts(conn.due, now) {
			l.counts.unheard++
			l.record(now - conn.due)
		}
	}
	for l.pace.behind(now) {
		due, _ := l.pace.take(now)
		if l.pace.counts(due, now) {
			l.counts.unsent++
			l.record(now - due)
		}
	}
}
