package h2

import (
	"syscall"
	"unsafe"
)

// call reads or writes, once or after an interruption again.
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
