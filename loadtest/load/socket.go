//go:build linux

package load

import (
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// dialTime is the time limit for a connection.
const dialTime = 30 * time.Second

// dial connects from source, or from any address if source is the zero value. The socket is
// non-blocking and has TCP_NODELAY.
func dial(target netip.AddrPort, source netip.Addr) (fd int, err error) {
	family := unix.AF_INET
	if target.Addr().Is6() {
		family = unix.AF_INET6
	}
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err = connect(fd, target, source); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func connect(fd int, target netip.AddrPort, source netip.Addr) error {
	timeout := unix.NsecToTimeval(int64(dialTime))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &timeout); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return err
	}
	if source.IsValid() {
		// The kernel chooses the port at connect, so 10,000 connections from one address do not run
		// out of ports (ip(7)).
		if err := unix.SetsockoptInt(fd, unix.SOL_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
			return err
		}
		if err := unix.Bind(fd, sockaddr(netip.AddrPortFrom(source, 0))); err != nil {
			return err
		}
	}
	err := unix.Connect(fd, sockaddr(target))
	if err == unix.EINTR {
		err = connected(fd)
	}
	if err != nil {
		return err
	}
	return unix.SetNonblock(fd, true)
}

// connected waits for a connection whose call of connect was interrupted by a signal, and which is
// made nevertheless (connect(2)).
func connected(fd int) error {
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, int(dialTime/time.Millisecond))
		if err == unix.EINTR {
			continue
		}
		failed := 0
		if err == nil {
			failed, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
		}
		if err == nil && failed != 0 {
			err = unix.Errno(failed)
		}
		return err
	}
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if a.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}
