package h1

import (
	"net"
	"syscall"
	"unsafe"
)

// onSocket calls f with the file descriptor of c, and reports whether c has an open one.
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
	maxUnsent       = 128 << 10 // bytes
	// maxUnsentFile is maxUnsent while a file is sent, whose bytes take no memory of their own. The
	// edge wakes up less often.
	maxUnsentFile = 4 << 20
)

// limitUnsent limits the unsent bytes that the kernel accepts, because it would otherwise hold
// megabytes for each client that does not read.
func limitUnsent(c net.Conn, most int) {
	onSocket(c, func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotSentLowat, most) })
}

// unacked returns the number of bytes written to c that the client's system has not acknowledged
// (SIOCOUTQ, tcp(7)).
func unacked(c net.Conn) int64 {
	var n int32
	onSocket(c, func(fd uintptr) {
		if _, _, no := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&n))); no != 0 {
			n = 0
		}
	})
	return int64(n)
}

// Waiting reports whether the client has sent bytes that have not been read.
func (c *Conn) Waiting() (waiting bool) {
	onSocket(c.Conn, func(fd uintptr) { n, _ := peek(fd); waiting = n > 0 })
	return waiting
}

// peek reads the next byte without removing it.
func peek(fd uintptr) (int, error) {
	n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	return n, err
}

// ClientGone reports whether the client has closed or reset the connection, also behind bytes that
// have not been read. A client that has closed only its sending direction looks the same.
func (c *Conn) ClientGone() (left bool) {
	onSocket(c.Conn, func(fd uintptr) {
		// The first four bytes of struct tcp_info.
		if info, err := syscall.GetsockoptInet4Addr(int(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO); err == nil {
			left = info[0] == tcpClose || info[0] == tcpCloseWait
			return
		}
		n, err := peek(fd) // another socket than one of TCP
		left = n == 0 && err == nil || err != nil && err != syscall.EAGAIN && err != syscall.EINTR
	})
	return left
}

// States of a connection: the first byte of struct tcp_info (linux/tcp.h, net/tcp_states.h).
const (
	tcpClose     = 7
	tcpCloseWait = 8
)
