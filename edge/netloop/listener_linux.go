package netloop

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// A Listener accepts connections for loops, in turn.
type Listener struct {
	net.Listener // the original, of which file is a duplicate
	file         *os.File
	raw          syscall.RawConn
	loops        []*Loop
	next         atomic.Uint32
	inherited    bool // connections inherit their options
	alone        bool // no other process has the socket

	mu    sync.Mutex
	queue []*Conn // of a closed socket
}

// Listen returns a Listener on the socket of l, which it then owns. The connections have the
// options that package net sets on each. They inherit them from the socket where the system can.
func Listen(l net.Listener, loops []*Loop) (*Listener, error) {
	tcp, ok := l.(*net.TCPListener)
	if !ok || len(loops) == 0 {
		return nil, errors.ErrUnsupported
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	n, fd := &Listener{Listener: l, loops: loops}, -1
	controlled := raw.Control(func(s uintptr) {
		n.inherited = setOptions(int(s))
		fd, err = unix.FcntlInt(s, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err = cmp.Or(controlled, os.NewSyscallError("fcntl", err)); err != nil {
		return nil, err
	}
	n.file = os.NewFile(uintptr(fd), "listener")
	if n.raw, err = n.file.SyscallConn(); err != nil {
		n.file.Close()
		return nil, err
	}
	return n, nil
}

// keepAlive is the number of seconds until the first probe of a silent connection, and between two.
const keepAlive = 15

// setOptions sets the options of a socket, and reports whether it could: Multipath TCP, which
// package net uses for listeners, has not had all of them from the start.
func setOptions(socket int) bool {
	for _, o := range []struct{ level, name, value int }{
		{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1}, {unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, keepAlive}, {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, keepAlive},
	} {
		if unix.SetsockoptInt(socket, o.level, o.name, o.value) != nil {
			return false
		}
	}
	return true
}

// Accept returns the next connection, a *Conn that has not started.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		fd, remote, err := l.accept()
		switch err {
		case nil:
			return l.newConn(fd, remote), nil
		case unix.ECONNABORTED, unix.EINTR: // the client left while it waited
		case net.ErrClosed:
			if c := l.queued(); c != nil {
				return c, nil
			}
			fallthrough
		default:
			return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: err}
		}
	}
}

func (l *Listener) accept() (fd int, remote unix.Sockaddr, err error) {
	closed := l.raw.Read(func(s uintptr) bool {
		fd, remote, err = unix.Accept4(int(s), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		return err != unix.EAGAIN
	})
	if closed != nil {
		return -1, nil, net.ErrClosed
	}
	return fd, remote, err
}

// newConn returns an accepted connection, on the loop whose turn it is.
func (l *Listener) newConn(fd int, remote unix.Sockaddr) *Conn {
	if !l.inherited {
		setOptions(fd)
	}
	return l.loops[int(l.next.Add(1))%len(l.loops)].NewConn(fd, addrPort(remote))
}

// Close closes the listener. Connections in the queue of a socket that another process holds too
// wait for that process.
func (l *Listener) Close() error {
	if l.alone {
		l.takeQueue()
	}
	return errors.Join(l.file.Close(), l.Listener.Close())
}

func addrPort(sa unix.Sockaddr) netip.AddrPort {
	switch a := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		ip := netip.AddrFrom16(a.Addr)
		if a.ZoneId != 0 {
			ip = ip.WithZone(zone(a.ZoneId))
		}
		return netip.AddrPortFrom(ip, uint16(a.Port))
	}
	return netip.AddrPort{}
}

// zone returns the name of an interface, or its number if it has none.
func zone(id uint32) string {
	if i, err := net.InterfaceByIndex(int(id)); err == nil {
		return i.Name
	}
	return strconv.Itoa(int(id))
}
