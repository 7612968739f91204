//go:build linux

package faults

import (
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// blackhole makes connections to the wire's address time out: a listener is there that accepts
// nothing, and whose queue is full.
func blackhole(s *scene) func() {
	s.wire.cut()
	hole, err := listenFull(s.wire.address)
	if err != nil {
		s.t.Errorf("making a full queue: %v", err)
	}
	return func() {
		hole.Close()
		s.wire.listen()
	}
}

// A fullQueue is a listener, with the connections that wait in its queue.
type fullQueue struct {
	listener *os.File
	waiting  []net.Conn
}

func (q *fullQueue) Close() error {
	for _, c := range q.waiting {
		c.Close()
	}
	return q.listener.Close()
}

// listenFull listens with the shortest possible queue, and fills it.
func listenFull(address string) (*fullQueue, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, err
	}
	q := &fullQueue{listener: os.NewFile(uintptr(fd), "full queue")}
	syscall.CloseOnExec(fd)
	if err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()})
	}
	if err == nil {
		err = syscall.Listen(fd, 0)
	}
	for err == nil && len(q.waiting) < 64 {
		c, full := net.DialTimeout("tcp", address, 300*time.Millisecond)
		if full != nil {
			return q, nil
		}
		q.waiting = append(q.waiting, c)
	}
	q.Close()
	return q, err
}
