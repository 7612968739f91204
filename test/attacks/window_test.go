package attacks

import "syscall"

// smallWindow has the system keep little for a connection that is to be opened.
func smallWindow(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10) })
}
