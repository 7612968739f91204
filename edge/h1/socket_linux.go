package h1

import (
	"net"
	"syscall"
	"unsafe"
)

// onSocket calls f with the descriptor that lies beneath c, and reports whether c has one that is open.
func onSocket(c net.Conn, f func(fd uintptr)) bool {
	sc, ok := socket(c).(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	return err == nil && raw.Control(f) == nil
}

const (
	tcpNotSentLowat = 25        // TCP_NOTSENT_LOWAT (linux/tcp.h)
	mostUnsent      = 128 << 10 // bytes
)

// bound lets the system take no more from us than it can soon send: it would else hold megabytes for each client that does not read.
func bound(c net.Conn) {
	onSocket(c, func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotSentLowat, mostUnsent) })
}

// queued is how many bytes that were written to c its client's system has not acknowledged (SIOCOUTQ, tcp(7)).
func queued(c net.Conn) int64 {
	var n int32
	onSocket(c, func(fd uintptr) {
		if _, _, no := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&n))); no != 0 {
			n = 0
		}
	})
	return int64(n)
}

// Waiting reports whether the client has sent something that nobody has read.
func (c *Conn) Waiting() (waiting bool) {
	onSocket(c.Conn, func(fd uintptr) { n, _ := peek(fd); waiting = n > 0 })
	return waiting
}

// peek looks at what is to be read next, and leaves it there.
func peek(fd uintptr) (int, error) {
	n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return n, err
}

// Left reports whether the client has closed its end, or broken the connection. A client that has closed one direction alone looks the
// same.
func (c *Conn) Left() (left bool) {
	onSocket(c.Conn, func(fd uintptr) {
		n, err := peek(fd)
		left = n == 0 && err == nil || err != nil && err != syscall.EAGAIN && err != syscall.EINTR
	})
	return left
}
