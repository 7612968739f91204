//go:build unix

package wire

import (
	"net"
	"syscall"
)

// quietOf returns a function that reports, without waiting, whether a socket is open and nothing
// has arrived on it. Bytes that nobody has asked for could pass for the response to the next
// request.
func quietOf(c net.Conn) func() bool {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil
	}
	var b [1]byte
	var peeked error
	peek := func(fd uintptr) bool {
		_, _, peeked = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK) // it does not block
		return true
	}
	return func() bool { return raw.Read(peek) == nil && peeked == syscall.EAGAIN }
}
