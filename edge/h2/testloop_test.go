package h2

import (
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// onLoop says whether connections of the tests are served on an event loop, or by a goroutine each.
var onLoop bool

// All tests run twice: with a goroutine for each connection, and on event loops.
func TestMain(m *testing.M) {
	code := m.Run()
	if others := flag.Lookup("test.bench").Value.String() + flag.Lookup("test.fuzz").Value.String(); code == 0 && others == "" {
		fmt.Println("on event loops:")
		onLoop = true
		code = m.Run()
	}
	os.Exit(code)
}

// once skips a test the second time, because it serves its connections itself, in both runs in the
// same way.
func once(t *testing.T) {
	t.Helper()
	if onLoop {
		t.Skip("it ran already")
	}
}

// serveConn serves a connection of a client until it ends.
func serveConn(s *Server, c net.Conn, config *tls.Config, client netip.Prefix, begin func(*Conn)) {
	var l *testLoop
	if onLoop {
		l = newTestLoop(c)
		c = l
	}
	link := NewLink(c, config != nil, nil)
	rw := net.Conn(link)
	if config != nil {
		rw = tls.Server(link, config)
	}
	conn := s.NewConn(rw, link, client.Addr())
	conn.SetClient(client)
	if begin != nil {
		begin(conn)
	}
	if !onLoop {
		conn.Serve()
		return
	}
	link.OnLoop(l)
	l.link, l.conn = link, conn
	if over, ok := rw.(*tls.Conn); ok && over.Handshake() != nil {
		l.Close()
		l.ends.Wait()
		return
	}
	ended := make(chan struct{})
	conn.OnLoop(l, func() { close(ended) })
	conn.Start()
	<-ended
	l.Close()
	l.ends.Wait()
}

// A testLoop is an event loop with a socket of its own, over any connection. As with edge-triggered
// epoll, each event is reported once.
type testLoop struct {
	net.Conn
	link *Link
	conn *Conn
	ends sync.WaitGroup

	mu                   sync.Mutex
	changed              sync.Cond
	in, out              []byte // in the buffers of the system
	inErr, outErr        error
	full                 bool // a write has not found room
	event, ready, ending bool // for the loop: call Ready; for bytes, at the end of the stream
	expired              bool
	attached, closed     bool
	timer, deadline      *time.Timer
	late                 bool // the deadline of a read that waits has passed
}

const testBuffer = 48 << 10

func newTestLoop(c net.Conn) *testLoop {
	l := &testLoop{Conn: c}
	l.changed.L = &l.mu
	l.timer = time.AfterFunc(time.Hour, func() { l.change(func() { l.expired = true }) })
	l.timer.Stop()
	l.deadline = time.AfterFunc(time.Hour, func() { l.change(func() { l.late = true }) })
	l.deadline.Stop()
	l.ends.Go(l.receive)
	l.ends.Go(l.send)
	l.ends.Go(l.run)
	return l
}

func (l *testLoop) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	l.changed.Broadcast()
}

// receive fills the buffer of received bytes: from a pipe with small pieces, so that frames arrive
// in parts, and from TCP with all that has arrived, because a part of a frame counts against the
// share of its client, which some tests use up.
func (l *testLoop) receive() {
	size := 1000
	if _, ok := l.Conn.(*net.TCPConn); ok {
		size = testBuffer
	}
	for b := make([]byte, size); ; {
		n, err := l.Conn.Read(b)
		l.mu.Lock()
		for len(l.in) > testBuffer && !l.closed {
			l.changed.Wait()
		}
		l.in = append(l.in, b[:n]...)
		l.inErr, l.event, l.ready, l.ending = err, true, true, err != nil
		over := err != nil || l.closed
		l.changed.Broadcast()
		l.mu.Unlock()
		if over {
			return
		}
	}
}

// send empties the buffer of sent bytes, and closes the connection.
func (l *testLoop) send() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		for len(l.out) == 0 && !l.closed {
			l.changed.Wait()
		}
		if len(l.out) == 0 || l.outErr != nil {
			break
		}
		part := append([]byte(nil), l.out[:min(len(l.out), 3000)]...)
		l.mu.Unlock()
		_, err := l.Conn.Write(part)
		l.mu.Lock()
		if l.out = l.out[len(part):]; err != nil {
			l.outErr, l.event, l.ending = err, true, true
		}
		if l.full {
			l.full, l.event = false, true
		}
		l.changed.Broadcast()
	}
	for !l.closed {
		l.changed.Wait()
	}
	l.Conn.Close()
}

// run calls the handler.
func (l *testLoop) run() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for again := false; ; {
		for !(l.attached && (l.event || l.expired || again)) && !l.closed {
			l.changed.Wait()
		}
		if l.closed {
			return
		}
		ready, ending, expired := l.ready, l.ending, l.expired
		event := l.event || again
		l.event, l.ready, l.ending, l.expired = false, false, false, false
		l.mu.Unlock()
		if expired {
			l.conn.Expired(time.Now())
		}
		if event {
			again = l.conn.Ready(ready, ending)
		}
		l.mu.Lock()
	}
}

func (l *testLoop) TryRead(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.take(p)
}

func (l *testLoop) take(p []byte) (int, error) {
	switch n := copy(p, l.in); {
	case l.closed:
		return 0, net.ErrClosed
	case n > 0:
		l.in = l.in[n:]
		l.changed.Broadcast()
		return n, nil
	case l.inErr != nil:
		return 0, l.inErr
	}
	return 0, syscall.EAGAIN
}

func (l *testLoop) TryWrite(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.give(p)
}

func (l *testLoop) give(p []byte) (n int, err error) {
	if l.closed {
		return 0, net.ErrClosed
	}
	if l.outErr != nil {
		return 0, l.outErr
	}
	n = max(0, min(len(p), testBuffer-len(l.out)))
	l.out = append(l.out, p[:n]...)
	l.changed.Broadcast()
	if n < len(p) {
		l.full = true
		err = syscall.EAGAIN
	}
	return n, err
}

// Read waits, for a connection that is not attached.
func (l *testLoop) Read(p []byte) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		if l.late {
			return 0, os.ErrDeadlineExceeded
		}
		if n, err = l.take(p); err != syscall.EAGAIN {
			return n, err
		}
		l.changed.Wait()
	}
}

// Write waits, for a connection that is not attached.
func (l *testLoop) Write(p []byte) (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		m, err := l.give(p[n:])
		if n += m; err != syscall.EAGAIN {
			return n, err
		}
		l.changed.Wait()
	}
}

func (l *testLoop) SetReadDeadline(at time.Time) error {
	l.change(func() { l.late = false })
	l.deadline.Stop()
	if !at.IsZero() {
		l.deadline.Reset(time.Until(at))
	}
	return nil
}

func (l *testLoop) SetTimer(at time.Time) { l.timer.Reset(time.Until(at)) }
func (l *testLoop) Wake()                 { l.change(func() { l.event = true }) }

func (l *testLoop) Attach() {
	l.link.TryOnly(true)
	l.change(func() { l.attached = true })
}

func (l *testLoop) Detach() {
	l.link.TryOnly(false)
	l.change(func() { l.attached = false })
}

func (l *testLoop) Close() error {
	l.timer.Stop()
	l.deadline.Stop()
	l.change(func() { l.closed = true })
	return nil
}

// However many handlers write to a client that reads slowly, each makes progress.
func TestTurnsOfHandlers(t *testing.T) {
	if !onLoop {
		t.Skip("a goroutine writes one response after the other")
	}
	const streams, all = 100, 20 << 20
	s, c := New(app{}, app{}, Config{}), dialPair(t)
	go serveConn(s, c[0], nil, netip.Prefix{}, nil)
	p := dial(t, c[1], http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	p.WriteWindowUpdate(0, maxWindow-ourWindow)
	for range streams {
		p.openStream("GET", "/bytes/1000000", true)
	}
	for begun := 0; begun < streams; {
		if _, ok := p.read().(*http2.MetaHeadersFrame); ok {
			begun++
		}
	}
	p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: maxWindow})
	got := map[uint32]int{}
	for total := 0; total < all; {
		if d, ok := p.read().(*http2.DataFrame); ok {
			total += len(d.Data())
			got[d.StreamID] += len(d.Data())
		}
	}
	least := all
	for i := range uint32(streams) {
		least = min(least, got[2*i+1])
	}
	if least < leastTurn {
		t.Errorf("one stream got %d of %d bytes", least, all)
	}
	c[1].Close()
}

// dialPair returns both ends of a TCP connection, the server's first. A silent server fails the
// test.
func dialPair(t *testing.T) [2]net.Conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	theirs, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ours, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { theirs.Close() })
	theirs.SetDeadline(time.Now().Add(2 * time.Minute))
	return [2]net.Conn{ours, theirs}
}
