package netloop

import (
	"cmp"
	"context"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// OpenEach opens n sockets at one TCP address, among which the system distributes new connections
// (SO_REUSEPORT, socket(7)). If the port is 0, all of them have the port that the system chooses
// for the first. Only processes of the same user can open further ones there.
func OpenEach(ctx context.Context, address string, n int) (all []net.Listener, err error) {
	lc := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		failed := raw.Control(func(s uintptr) { err = unix.SetsockoptInt(int(s), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
		return cmp.Or(failed, err)
	}}
	// A socket of Multipath TCP takes no filter, which takeQueue needs.
	lc.SetMultipathTCP(false)
	for range n {
		l, err := lc.Listen(ctx, "tcp", address)
		if err != nil {
			for _, l := range all {
				l.Close()
			}
			return nil, err
		}
		all, address = append(all, l), l.Addr().String()
	}
	return all, nil
}

// ListenAlone is Listen for a socket that no other process has, whose connections are all for one
// loop. Close loses none of them: Accept goes on to return those in the queue of the socket.
func ListenAlone(l net.Listener, loop *Loop) (*Listener, error) {
	n, err := Listen(l, []*Loop{loop})
	if err == nil {
		n.alone = true
	}
	return n, err
}

// dropAll is a filter that lets no packet through.
var dropAll = [1]unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K}}

// takeQueue takes the connections in the queue of the socket, after which no other can enter it.
func (l *Listener) takeQueue() {
	l.raw.Control(func(s uintptr) {
		unix.SetsockoptSockFprog(int(s), unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &dropAll[0]})
		for {
			fd, sa, err := unix.Accept4(int(s), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
			switch err {
			case nil:
				l.mu.Lock()
				l.queue = append(l.queue, l.newConn(fd, sa))
				l.mu.Unlock()
			case unix.ECONNABORTED, unix.EINTR:
			default:
				return
			}
		}
	})
}

// queued returns a connection that takeQueue has taken; nil: there is none.
func (l *Listener) queued() *Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return nil
	}
	c := l.queue[0]
	l.queue = l.queue[1:]
	return c
}
