package netloop

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/net/nettest"
)

// newLoop runs a loop until the end of the test. The test is skipped where there are no loops.
func newLoop(t testing.TB) *Loop {
	t.Helper()
	l, err := NewLoop()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("there are no loops on this system")
	}
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { l.Run(); close(done) }()
	t.Cleanup(func() { l.Close(); <-done })
	return l
}

// listen accepts connections of l until the end of the test.
func listen(t testing.TB, l *Loop, each func(*Conn)) (address string) {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := Listen(tcp, []*Loop{l})
	if err != nil {
		t.Fatal(err)
	}
	accepting(t, ln, each)
	return tcp.Addr().String()
}

// accepting accepts connections until the end of the test.
func accepting(t testing.TB, ln net.Listener, each func(*Conn)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			each(c.(*Conn))
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
}

func dial(t testing.TB, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// An echo returns every byte. Every byte that is zero it returns in a goroutine of its own, to
// which the connection is detached.
type echo struct {
	c       *Conn
	detours *atomic.Int64
	unsent  []byte
}

func (e *echo) Ready(why Events) (again bool) {
	var p [16]byte
	for n, err := e.c.TryWrite(e.unsent); ; {
		if e.unsent = append(e.unsent[:0], e.unsent[n:]...); err == syscall.EAGAIN {
			return false
		}
		if n, err = e.c.TryRead(p[:]); err == syscall.EAGAIN {
			return false
		}
		if err != nil {
			e.c.Close()
			return false
		}
		if e.unsent = append(e.unsent, p[:n]...); bytes.IndexByte(p[:n], 0) >= 0 {
			e.detours.Add(1)
			e.c.Detach()
			go e.detour()
			return false
		}
		if n == len(p) {
			return true // others first
		}
		if n, err = e.c.TryWrite(e.unsent); why&Ending == 0 && err == nil {
			e.unsent = e.unsent[:0]
			return false
		}
	}
}

func (e *echo) detour() {
	var p [16]byte
	for {
		if _, err := e.c.Write(e.unsent); err != nil {
			e.c.Close()
			return
		}
		n, err := e.c.TryRead(p[:])
		if e.unsent = append(e.unsent[:0], p[:n]...); err == syscall.EAGAIN {
			e.c.Attach()
			return
		}
		if err != nil {
			e.c.Close()
			return
		}
	}
}

func (e *echo) Expired(time.Time) { e.c.Close() }

// Every byte returns, whether the loop or a goroutine serves the connection at the time, and the
// end of the stream is seen even if it comes with the last bytes.
func TestEcho(t *testing.T) {
	l := newLoop(t)
	var detours atomic.Int64
	address := listen(t, l, func(c *Conn) {
		if err := c.Start(&echo{c: c, detours: &detours}); err != nil {
			t.Error(err)
		}
	})
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for range 8 {
				c := dial(t, address)
				sent := make([]byte, rand.IntN(3000))
				for i := range sent {
					sent[i] = byte(rand.IntN(40))
				}
				go func() {
					for b := sent; len(b) > 0; {
						n := min(len(b), 1+rand.IntN(100))
						c.Write(b[:n])
						b = b[n:]
					}
					c.CloseWrite()
				}()
				if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, sent) {
					t.Errorf("%d of %d bytes returned, %v", len(got), len(sent), err)
				}
				c.Close()
			}
		})
	}
	all.Wait()
	if detours.Load() == 0 {
		t.Error("no connection was ever detached")
	}
	for l.Len() > 0 { // the last ones are about to be closed
		runtime.Gosched()
	}
}

// A detached connection is a net.Conn like those of package net.
func TestDetached(t *testing.T) {
	l := newLoop(t)
	accepted := make(chan *Conn)
	address := listen(t, l, func(c *Conn) { accepted <- c })
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		c := dial(t, address)
		d := <-accepted
		if err := d.StartDetached(nil); err != nil {
			return nil, nil, nil, err
		}
		return c, d, func() { c.Close(); d.Close() }, nil
	})
}

// A timed connection is closed when its time has come.
type timedConn struct {
	*Conn
	over chan time.Time
}

func (c timedConn) Ready(Events) bool     { return false }
func (c timedConn) Expired(now time.Time) { c.Close(); c.over <- now }

func TestTimer(t *testing.T) {
	l := newLoop(t)
	over := make(chan time.Time, 2)
	accepted := make(chan timedConn)
	address := listen(t, l, func(c *Conn) {
		tc := timedConn{c, over}
		tc.Start(tc)
		accepted <- tc
	})
	dial(t, address)
	c := <-accepted
	c.SetTimer(time.Now().Add(time.Hour))
	c.SetTimer(time.Now().Add(20 * time.Millisecond))
	at := time.Now().Add(300 * time.Millisecond)
	c.SetTimer(at)
	if now := <-over; now.Before(at) {
		t.Errorf("it expired %v early", at.Sub(now))
	}
	dial(t, address)
	gone := <-accepted
	gone.SetTimer(time.Now().Add(time.Millisecond))
	gone.Close()
	if l.wheel.held != 0 || l.Len() != 0 {
		t.Error("a closed connection is still in the wheel or in the table")
	}
}

// A wheel reports each timer in the first slot at or after its time, whatever moved in between:
// like a list that is searched each time.
func TestWheel(t *testing.T) {
	var w wheel
	w.start = time.Unix(0, 0)
	conns := make([]Conn, 50)
	due := map[*Conn]int64{}
	now := w.start
	for range 5000 {
		c := &conns[rand.IntN(len(conns))]
		switch rand.IntN(4) {
		case 0:
			w.remove(c)
			delete(due, c)
		case 1, 2: // as SetTimer does
			tick := w.tickOf(now.Add(time.Duration(rand.IntN(100_000)+1) * time.Millisecond))
			c.due.Store(tick)
			if at := c.scheduled.Load(); at == 0 || at > tick {
				w.insert(c, tick)
			}
			due[c] = tick
		case 3:
			now = now.Add(time.Duration(rand.IntN(2000)) * time.Millisecond)
			got := w.advance(now, nil)
			for _, c := range got {
				if due[c] == 0 || due[c] > w.tick {
					t.Fatalf("expired at tick %d, want %d", w.tick, due[c])
				}
				delete(due, c)
			}
			for c, tick := range due {
				if tick <= w.tick {
					t.Fatalf("not expired at tick %d, want %d; scheduled for %d", w.tick, tick, c.scheduled.Load())
				}
			}
		}
		if tick, ok := w.next(); ok != (w.held > 0) || ok && tick <= w.tick {
			t.Fatalf("next is %d, %v; it is tick %d, and %d are held", tick, ok, w.tick, w.held)
		}
	}
}

// Closing a loop closes its connections, and those that are detached return.
func TestCloseLoop(t *testing.T) {
	l, err := NewLoop()
	if err != nil {
		t.Skip(err)
	}
	accepted := make(chan *Conn)
	address := listen(t, l, func(c *Conn) { accepted <- c })
	rests, reads := dial(t, address), dial(t, address)
	c := <-accepted
	c.Start(timedConn{c, nil})
	d := <-accepted
	d.StartDetached(nil)
	result := make(chan error)
	go func() { _, err := d.Read(make([]byte, 1)); result <- err }()
	ran := make(chan struct{})
	go func() { l.Run(); close(ran) }()
	l.Close()
	<-ran
	if err := <-result; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read ends with %v", err)
	}
	for _, c := range []net.Conn{rests, reads} {
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the client reads %v", err)
		}
	}
	late := l.NewConn(-1, c.remote)
	if err := late.Start(nil); err == nil {
		t.Error("a closed loop takes a connection")
	}
}

// Connections have the options that package net gives to its own.
func TestOptions(t *testing.T) {
	l := newLoop(t)
	accepted := make(chan *Conn)
	address := listen(t, l, func(c *Conn) { accepted <- c })
	client := dial(t, address)
	c := <-accepted
	defer c.Close()
	if c.RemoteAddr().String() != client.LocalAddr().String() || c.LocalAddr().String() != address {
		t.Errorf("from %v to %v", c.RemoteAddr(), c.LocalAddr())
	}
	raw, _ := c.SyscallConn()
	raw.Control(func(fd uintptr) {
		for name, o := range map[string][2]int{"no delay": {syscall.IPPROTO_TCP, syscall.TCP_NODELAY},
			"keep alive": {syscall.SOL_SOCKET, syscall.SO_KEEPALIVE}} {
			if v, err := syscall.GetsockoptInt(int(fd), o[0], o[1]); err != nil || v == 0 {
				t.Errorf("%s: %d, %v", name, v, err)
			}
		}
		if v, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE); err != nil || v != keepAlive {
			t.Errorf("the first probe comes after %d s, %v", v, err)
		}
	})
	c.SetLinger(0)
	c.Close()
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client reads %v, want a reset", err)
	}
}

// A resting connection takes few bytes, and no goroutine.
func TestResting(t *testing.T) {
	if size := unsafe.Sizeof(Conn{}); size > 160 {
		t.Errorf("a Conn takes %d bytes", size)
	}
	l := newLoop(t)
	var detours atomic.Int64
	address := listen(t, l, func(c *Conn) { c.Start(&echo{c: c, detours: &detours}) })
	before := runtime.NumGoroutine()
	var clients []*net.TCPConn
	for i := range 100 {
		c := dial(t, address)
		fmt.Fprintf(c, "%02d", i)
		io.ReadFull(c, make([]byte, 2))
		clients = append(clients, c)
	}
	if n := runtime.NumGoroutine() - before; n > 10 || l.Len() != len(clients) {
		t.Errorf("%d connections rest with %d goroutines", l.Len(), n)
	}
}

// A file arrives whole, also where the peer takes it slowly, and one that has become shorter ends.
func TestReadFrom(t *testing.T) {
	l := newLoop(t)
	want := bytes.Repeat([]byte("0123456789"), 1<<20)
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(want); err != nil {
		t.Fatal(err)
	}
	type sent struct {
		n   int64
		err error
	}
	done := make(chan sent, 1)
	address := listen(t, l, func(c *Conn) {
		if err := c.StartDetached(&echo{c: c}); err != nil {
			t.Error(err)
		}
		file.Seek(3, io.SeekStart)
		n, err := c.ReadFrom(&io.LimitedReader{R: file, N: int64(len(want))}) // 3 too many
		done <- sent{n, err}
		c.Close()
	})
	got, err := io.ReadAll(dial(t, address))
	if err != nil || !bytes.Equal(got, want[3:]) {
		t.Errorf("%d of %d bytes: %v", len(got), len(want)-3, err)
	}
	if s := <-done; s.n != int64(len(want)-3) || s.err != nil {
		t.Errorf("%d bytes sent, %v", s.n, s.err)
	}
}
