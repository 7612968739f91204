package h1

import (
	"net"
	"syscall"
	"unsafe"
)

// queued is how many bytes that were written to c its client's system has not acknowledged (SIOCOUTQ, tcp(7)).
func queued(c net.Conn) int64 {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return 0
	}
	var n int32
	err = raw.Control(func(fd uintptr) {
		if _, _, no := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&n))); no != 0 {
			n = 0
		}
	})
	if err != nil {
		return 0
	}
	return int64(n)
}
