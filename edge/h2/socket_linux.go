package h2

import (
	"net"
	"syscall"
	"unsafe"
)

// A socket reads and writes a non-blocking descriptor with raw system calls, of which the scheduler
// is not informed, because it might take the processor away from a goroutine whose call returns at
// once. For a connection without a descriptor it uses the connection's own methods.
type socket struct {
	raw    syscall.RawConn
	link   *Link
	read   int // result of a read; reads and writes may run at the same time
	failed error
	unsent []byte
	err    error
	onRead func(fd uintptr) bool // made once, because a closure for each call would be garbage
	onSend func(fd uintptr) bool
}

func (s *socket) init(c net.Conn) {
	if sc, ok := c.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			s.raw = raw
			s.onRead, s.onSend = s.readSome, s.sendSome
		}
	}
}

// fill takes a buffer when there is something to read, and reads into it.
func (s *socket) fill(l *Link) error {
	if s.raw == nil {
		return l.readDone(l.Conn.Read(l.take()))
	}
	s.link = l
	if err := s.raw.Read(s.onRead); err != nil {
		return err
	}
	return l.readDone(s.read, s.failed)
}

func (s *socket) readSome(fd uintptr) bool {
	b := s.link.take()
	s.read, s.failed = call(syscall.SYS_READ, fd, b)
	if s.failed == syscall.EAGAIN {
		s.link.release()
		return false
	}
	return true
}

// write sends all of p.
func (s *socket) write(l *Link, p []byte) (int, error) {
	if s.raw == nil {
		return l.Conn.Write(p)
	}
	s.unsent, s.err = p, nil
	err := s.raw.Write(s.onSend)
	if err == nil {
		err = s.err
	}
	n := len(p) - len(s.unsent)
	s.unsent = nil
	return n, err
}

func (s *socket) sendSome(fd uintptr) bool {
	for len(s.unsent) > 0 {
		n, err := call(syscall.SYS_WRITE, fd, s.unsent)
		if err == syscall.EAGAIN {
			return false
		}
		if s.err = err; err != nil {
			return true
		}
		s.unsent = s.unsent[n:]
	}
	return true
}

// call reads or writes, and tries again after an interruption.
func call(trap, fd uintptr, b []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}
