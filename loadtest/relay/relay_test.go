//go:build linux

package relay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// echo returns the address of a server that sends back all data.
func echo(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { defer c.Close(); io.Copy(c, c) })
		}
	})
	return l.Addr().String()
}

func open(t *testing.T, path *Path) (*Relay, *net.TCPConn) {
	t.Helper()
	r, err := Listen(echo(t), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, dial(t, r)
}

func dial(t *testing.T, r *Relay) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", r.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// TestBytes: all data comes back complete and in order despite losses, and so does the end of the
// data. the data.
func TestBytes(t *testing.T) {
	_, c := open(t, NewPath(time.Millisecond, 0.01, 1))
	said := make([]byte, 300_000)
	for i := range said {
		said[i] = byte(rand.Uint32())
	}
	go func() {
		c.Write(said)
		c.CloseWrite()
	}()
	heard, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(heard, said) {
		t.Errorf("%d bytes came back of %d, or others (%v)", len(heard), len(said), err)
	}
}

// TestTime: the first response takes two round trips: one for the handshake, one of its own. The
// next one takes one; the test does not check that, because a busy machine may delay it.
func TestTime(t *testing.T) {
	const delay = 20 * time.Millisecond
	began := time.Now() // before the dial, because the handshake counts
	_, c := open(t, NewPath(delay, 0, 1))
	say(t, c, "first")
	if took := time.Since(began); took < 4*delay {
		t.Errorf("the first answer took %v, want %v", took, 4*delay)
	}
}

// TestCut: a cut path resets open and new connections; after Mend new connections pass.
func TestCut(t *testing.T) {
	path := NewPath(0, 0, 1)
	r, c := open(t, path)
	say(t, c, "before")
	path.Cut()
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("an open connection: %v, want a reset", err)
	}
	if err := refused(r); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a new connection: %v, want a reset", err)
	}
	path.Mend()
	say(t, dial(t, r), "after")
}

// say sends words and expects them back.
func say(t *testing.T, c net.Conn, words string) {
	t.Helper()
	c.SetDeadline(time.Now().Add(time.Minute))
	heard := make([]byte, len(words))
	if _, err := io.WriteString(c, words); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, heard); err != nil || string(heard) != words {
		t.Fatalf("%q comes back as %q, %v", words, heard, err)
	}
}

// refused returns the error of a new connection, which may be reset before or after its handshake.
func refused(r *Relay) error {
	c, err := net.Dial("tcp", r.Addr())
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Read(make([]byte, 1))
	return err
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	r, err := Listen(l.Addr().String(), NewPath(0, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := refused(r); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("without a listener: %v, want a reset", err)
	}
}

// TestSilence: silence holds back data in transit until it ends.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, began := NewPath(time.Second, 0, 1), time.Now()
		l := newLane(path, began)
		path.Silence()
		time.AfterFunc(time.Minute, path.Mend)
		var out bytes.Buffer
		err := l.deliver(t.Context(), &out, chunk{bytes: []byte("x"), arrives: l.arrival(1, began)})
		if took := time.Since(began); err != nil || out.String() != "x" || took != time.Minute {
			t.Errorf("%q arrives after %v (%v), want x after a minute", &out, took, err)
		}
		path.Silence()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := l.deliver(ctx, &out, chunk{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a connection that ends in silence: %v", err)
		}
	})
}

// TestArrival: data never overtakes data that was delayed before it.
func TestArrival(t *testing.T) {
	t0 := time.Now()
	l := newLane(NewPath(100*time.Millisecond, 0, 1), t0.Add(200*time.Millisecond))
	for _, row := range []struct{ at, arrives time.Duration }{
		{0, 300 * time.Millisecond}, // after the handshake
		{250 * time.Millisecond, 350 * time.Millisecond},
	} {
		if got := l.arrival(1, t0.Add(row.at)).Sub(t0); got != row.arrives {
			t.Errorf("data sent at %v arrives after %v, want %v", row.at, got, row.arrives)
		}
	}
	l.last = t0.Add(time.Second)
	if got := l.arrival(1, t0.Add(300*time.Millisecond)).Sub(t0); got != time.Second {
		t.Errorf("data behind a chunk that arrives after a second arrives after %v", got)
	}
}

func TestPause(t *testing.T) {
	if got := NewPath(0, 0, 1).pause(1 << 20); got != 0 {
		t.Errorf("without loss: %v", got)
	}
	all := NewPath(50*time.Millisecond, 1, 1) // 300 ms, doubled six times
	if got, want := all.pause(segment+1), 300*time.Millisecond*(1<<mostRetries-1); got != want || all.Lost() != 2*mostRetries {
		t.Errorf("with total loss: %v and %d segments, want %v and %d", got, all.Lost(), want, 2*mostRetries)
	}
	some := NewPath(0, 0.01, 1)
	for range 10_000 {
		some.pause(segment)
	}
	if lost := some.Lost(); lost < 50 || lost > 160 {
		t.Errorf("of 10,000 segments %d were lost, want about 100", lost)
	}
}
