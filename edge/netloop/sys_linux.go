package netloop

import (
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An event has the index of a connection in Fd, and its generation in Pad.
type event unix.EpollEvent

func (e *event) of() (index, generation uint32) { return uint32(e.Fd), uint32(e.Pad) }

func (e *event) kinds() (k Events) {
	if e.Events&unix.EPOLLIN != 0 {
		k |= Readable
	}
	if e.Events&unix.EPOLLOUT != 0 {
		k |= Writable
	}
	if e.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		k |= Ending | Readable | Writable
	}
	return k
}

// epollCreate returns a non-blocking epoll descriptor, which the runtime can poll.
func epollCreate() (int, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return -1, err
	}
	return fd, unix.SetNonblock(fd, true)
}

func eventCreate() (int, error) { return unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK) }

func eventSignal(fd int) { unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) }

func timerCreate() (int, error) {
	return unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
}

func timerSet(fd int, after time.Duration) {
	unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(after))}, nil)
}

func epollAdd(epoll, fd int, index, generation uint32) error {
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(index), Pad: int32(generation)}
	return unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &e)
}

// The following system calls never block, so the scheduler is not informed of them: it might take
// the processor away from the loop.

// epollPoll returns the number of events that are there now.
func epollPoll(epoll int, events []event) int {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll),
		uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// sendFile sends at most n bytes of a file, from its current position. It may wait for the disk.
func sendFile(fd, file int, n int64) (int, error) {
	for {
		sent, err := unix.Sendfile(fd, file, nil, int(min(n, maxSendFile)))
		if err != unix.EINTR {
			return max(sent, 0), err
		}
	}
}

// maxSendFile is how many bytes a call of sendFile sends at most.
const maxSendFile = 1 << 30

func readNow(fd int, p []byte) (int, error)  { return callNow(unix.SYS_READ, fd, p) }
func writeNow(fd int, p []byte) (int, error) { return callNow(unix.SYS_WRITE, fd, p) }

func callNow(trap uintptr, fd int, p []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(trap, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
		switch errno {
		case 0:
			return int(n), nil
		case syscall.EINTR:
		default:
			return 0, errno
		}
	}
}

// readSome and writeSome are for goroutines, which may have much to read or to write.
func readSome(fd int, p []byte) (n int, err error)  { return retried(syscall.Read, fd, p) }
func writeSome(fd int, p []byte) (n int, err error) { return retried(syscall.Write, fd, p) }

func retried(call func(fd int, p []byte) (int, error), fd int, p []byte) (int, error) {
	for {
		n, err := call(fd, p)
		if err != syscall.EINTR {
			return max(0, n), err
		}
	}
}

func closeDescriptor(fd int) {
	if fd >= 0 {
		unix.Close(fd)
	}
}

func closeWrite(fd int) error { return unix.Shutdown(fd, unix.SHUT_WR) }

func setLinger(fd, seconds int) error {
	l := unix.Linger{Linger: int32(seconds)}
	if seconds >= 0 {
		l.Onoff = 1
	}
	return unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &l)
}

func localAddr(fd int) net.Addr {
	if sa, err := unix.Getsockname(fd); err == nil {
		return net.TCPAddrFromAddrPort(addrPort(sa))
	}
	return nil
}
