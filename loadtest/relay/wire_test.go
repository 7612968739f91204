//go:build linux

package relay

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"
)

// newWire opens a wire, or skips the test where that is not allowed.
func newWire(t *testing.T, path *Path) *Wire {
	t.Helper()
	w, err := OpenWire(path)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
		t.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// TCP crosses a wire that loses packets: the kernel sends them again. A byte takes the delay both
// ways.
func TestWireOfTCP(t *testing.T) {
	const delay, size = 20 * time.Millisecond, 200_000
	path := NewPath(delay, 0.05, 1)
	w := newWire(t, path)
	l, err := net.Listen("tcp", netip.AddrPortFrom(w.Near, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		io.Copy(c, c)
		c.Close()
	}()
	port := l.Addr().(*net.TCPAddr).AddrPort().Port()
	c, err := net.Dial("tcp", netip.AddrPortFrom(w.Far, port).String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	began := time.Now()
	go func() {
		c.Write(make([]byte, size))
		c.(*net.TCPConn).CloseWrite()
	}()
	n, err := io.Copy(io.Discard, c)
	if took := time.Since(began); n != size || err != nil || took < 2*delay || path.Lost() == 0 {
		t.Errorf("%d bytes came back in %v (%v), %d packets lost", n, took, err, path.Lost())
	}
}

// Packets of UDP are lost at the path's rate, and all of them while it is silent. Those that arrive
// come from the address that the client has sent to.
func TestWireOfUDP(t *testing.T) {
	const sent = 400
	path := NewPath(0, 0.25, 1)
	w := newWire(t, path)
	server, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(w.Near, 0)))
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	port := server.LocalAddr().(*net.UDPAddr).AddrPort().Port()
	client, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(w.Far, port)))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	path.Silence()
	client.Write([]byte("lost"))
	for path.Lost() == 0 {
		runtime.Gosched()
	}
	path.Mend()
	arrived := 0
	for range sent { // one by one, so that none is lost for want of a buffer
		before := path.Lost()
		client.Write([]byte("x"))
		b := make([]byte, 10)
		for path.Lost() == before {
			server.SetReadDeadline(time.Now().Add(time.Millisecond))
			n, from, err := server.ReadFromUDPAddrPort(b)
			if err == nil {
				if arrived++; string(b[:n]) != "x" || from.Addr().Unmap() != w.Far {
					t.Fatalf("%q from %v", b[:n], from)
				}
				break
			}
		}
	}
	if lost := sent - arrived; lost < sent/8 || lost > sent/2 {
		t.Errorf("%d of %d packets were lost", lost, sent)
	}
}
