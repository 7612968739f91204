//go:build linux

package load

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

// A loop is one thread of the client with its connections.
type loop struct {
	cfg  *Config
	base time.Time // when the run began; every moment is nanoseconds since then
	pace pace

	poll   int
	events []unix.EpollEvent
	conns  []conn
	idle   ring // of numbers of connections
	next   int  // place in the plan's order
	last   int  // where a plan that is sent once ends for this loop
	sent   uint64
	in     []byte // what was read last
	out    []byte // what is sent next

	stop     atomic.Bool
	answers  atomic.Int64 // all of them, for the watch
	wrong    atomic.Int64
	broken   atomic.Int64
	counts   counts
	latency  *hdrhistogram.Histogram // nanoseconds
	mistakes []string                // the first ones
}

// counts are of answers within the time that is measured.
type counts struct {
	statuses [600]int64
	bytes    int64 // of bodies
	unsent   int64 // that were due and found no connection
	unheard  int64 // that were sent and not answered
}

// A conn is one connection, and the request that is under way on it.
type conn struct {
	fd      int
	source  netip.Addr
	request *Request // nil: idle
	due     int64    // when it should have been sent, or was, in a closed loop
	answer  answer
}

const (
	readSize    = 128 << 10
	maxMistakes = 5
	maxBroken   = 1000 // connections that broke without an answer since the last one
)

// The histogram tells apart what differs by a thousandth, from a nanosecond to a minute.
const (
	longest = int64(time.Minute)
	digits  = 3
)

// newLoop makes loop i of cfg.Threads and connects its share of connections.
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

// connect opens connection c, which is idle then.
func (l *loop) connect(c int) (err error) {
	if l.conns[c].fd, err = dial(l.cfg.Target, l.conns[c].source); err != nil {
		l.conns[c].fd = -1
		return err
	}
	l.idle.push(c)
	return unix.EpollCtl(l.poll, unix.EPOLL_CTL_ADD, l.conns[c].fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(c)})
}

// run sends and reads until it is told to stop and has its answers, or the plan has been sent and answered.
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

// finished reports whether nothing is left to be sent or to be waited for.
func (l *loop) finished(now, stopped int64) bool {
	over := l.next >= l.last || stopped <= now && !l.pace.behind(now)
	return over && l.idle.n == len(l.conns) || stopped <= now-int64(drain)
}

// sendDue sends what is due on the connections that are free.
func (l *loop) sendDue(now int64) error {
	for l.idle.n > 0 && l.next < l.last {
		due, ok := l.pace.take(now)
		if !ok {
			return nil
		}
		if err := l.send(l.idle.pop(), due); err != nil {
			return err
		}
	}
	return nil
}

// send writes the next request of the plan on connection c. A socket whose last request was answered has room for another.
func (l *loop) send(c int, due int64) error {
	plan, conn := &l.cfg.Plan, &l.conns[c]
	conn.request = &plan.Requests[plan.Order[l.next%len(plan.Order)]]
	l.next++
	l.sent++
	conn.due = due
	conn.answer.begin(l.sent%sampled == 0)
	out := conn.request.Head
	if conn.request.Count != nil {
		l.out = conn.request.append(l.out[:0])
		out = l.out
	}
	n, err := unix.Write(conn.fd, out)
	if err == nil && n < len(out) {
		return fmt.Errorf("sending a request of %d bytes: the socket took %d", len(out), n)
	}
	if err != nil {
		return l.breaks(c)
	}
	return nil
}

// wait reads what has come, and sleeps for it unless something else is due before.
func (l *loop) wait(now int64) error {
	timeout := l.pace.sleep(now, l.idle.n > 0)
	if l.cfg.Spin {
		timeout = 0
	}
	n, err := unix.EpollWait(l.poll, l.events, timeout)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("waiting for answers: %w", err)
	}
	for i := range max(n, 0) {
		if err := l.read(int(l.events[i].Fd)); err != nil {
			return err
		}
	}
	return nil
}

// read takes what has come on connection c; when the answer is complete it is counted, and the next request sent.
func (l *loop) read(c int) error {
	conn := &l.conns[c]
	n, err := unix.Read(conn.fd, l.in)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return nil
	case err != nil, n == 0:
		return l.breaks(c)
	case conn.request == nil:
		l.mistake("bytes that no request asked for")
		return l.breaks(c)
	}
	rest, err := conn.answer.read(l.in[:n])
	if err != nil || len(rest) > 0 {
		if err == nil {
			err = io.ErrShortBuffer
		}
		l.mistake(conn.request.Line() + ": " + err.Error())
		return l.breaks(c)
	}
	if conn.answer.state != complete {
		return nil
	}
	return l.answered(c)
}

// answered counts the answer on connection c, and uses the connection for what is due.
func (l *loop) answered(c int) error {
	conn, now := &l.conns[c], l.now()
	if why := conn.request.Want.wrong(&conn.answer); why != "" {
		l.mistake(conn.request.Line() + ": " + why)
	}
	if l.pace.counts(conn.due, now) {
		l.counts.statuses[min(conn.answer.status, len(l.counts.statuses)-1)]++
		l.counts.bytes += conn.answer.length
		l.record(now - conn.due)
	}
	l.answers.Add(1)
	conn.request = nil
	if conn.answer.closing {
		if err := l.reconnect(c); err != nil {
			return err
		}
	} else {
		l.idle.push(c)
	}
	return l.sendDue(now)
}

func (l *loop) record(latency int64) {
	l.latency.RecordValue(min(max(latency, 1), longest)) // fails only beyond the bounds
}

// mistake counts a wrong answer, and remembers the first ones.
func (l *loop) mistake(what string) {
	l.wrong.Add(1)
	if len(l.mistakes) < maxMistakes {
		l.mistakes = append(l.mistakes, what)
	}
}

// breaks gives connection c up, and opens it anew. Its request is not sent again: it counts as not answered.
func (l *loop) breaks(c int) error {
	if l.conns[c].request != nil {
		if l.broken.Add(1)-l.answers.Load() > maxBroken {
			return errors.New("the server closes its connections without answering")
		}
		l.conns[c].request = nil
	} else {
		l.idle.remove(c)
	}
	return l.reconnect(c)
}

func (l *loop) reconnect(c int) error {
	unix.Close(l.conns[c].fd) // which takes it out of the epoll set
	return l.connect(c)
}

// settle counts what never got its answer: so a server that stood still is charged for it (coordinated omission), with the time that
// had passed until the client gave up.
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
