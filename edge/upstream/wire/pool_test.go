package wire

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// pair returns both ends of a connection over loopback.
func pair(t *testing.T) (near, far net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if near, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if far, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

// An idle connection serves again, unless bytes have arrived on it, it was closed, or its origin
// has another address now.
func TestTake(t *testing.T) {
	for why, change := range map[string]func(far net.Conn){"quiet": nil,
		"bytes": func(c net.Conn) { c.Write([]byte("HTTP/1.1 200 OK\r\n")) }, "closed": func(c net.Conn) { c.Close() }} {
		near, far := pair(t)
		p := Pool{Most: 1, After: time.Hour}
		c := NewConn(near, near, 1)
		p.Put(c, time.Now())
		if change != nil {
			change(far)
			var b [1]byte
			near.SetReadDeadline(time.Now().Add(time.Minute))
			if n, _ := near.Read(b[:]); n > 0 { // more follow: the rest stays in the socket
				t.Log("the change has arrived")
			}
		}
		if got := p.Take(1); (got == c) != (change == nil) {
			t.Errorf("%s: %v", why, got)
		}
	}
	near, _ := pair(t)
	p := Pool{Most: 1, After: time.Hour}
	p.Put(NewConn(near, near, 1), time.Now())
	if p.Take(2) != nil {
		t.Error("a connection to an earlier address")
	}
	if _, err := near.Write([]byte("x")); err == nil {
		t.Error("it is not closed")
	}
}

// A pool closes connections that are too many, that have unread bytes, or that have been idle for
// long.
func TestPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Pool{Most: 2, After: time.Minute}
		put := func(received string) net.Conn {
			near, far := net.Pipe()
			c := NewConn(near, pipe{near}, 0)
			c.Received = []byte(received)
			p.Put(c, time.Now())
			return far
		}
		open := func(far net.Conn) bool {
			far.SetReadDeadline(time.Now().Add(time.Nanosecond))
			_, err := far.Read(make([]byte, 1))
			timeout, ok := err.(net.Error)
			return ok && timeout.Timeout()
		}
		dirty, first := put("HTTP"), put("")
		time.Sleep(30 * time.Second)
		second, third := put(""), put("")
		if open(dirty) || !open(first) || !open(second) || open(third) {
			t.Error("a connection with unread bytes, and one too many, must be closed, and no other")
		}
		time.Sleep(31 * time.Second)
		if open(first) || !open(second) {
			t.Error("after a minute the first must be closed, and it alone")
		}
		if c := p.Take(0); c == nil || c != nil && p.Take(0) != nil {
			t.Error("one connection must be left")
		}
		time.Sleep(time.Hour)
	})
}

// A pipe is a connection on which nothing arrives.
type pipe struct{ net.Conn }

func (pipe) Quiet() bool { return true }
