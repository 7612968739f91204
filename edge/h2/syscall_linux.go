package h2

import (
	"syscall"
	"unsafe"
)

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
