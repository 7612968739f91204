package edge

import (
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// A lastListener holds the connection that it accepted last.
type lastListener struct {
	net.Listener
	last atomic.Pointer[net.TCPConn]
}

func (l *lastListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.last.Store(c.(*net.TCPConn))
	}
	return c, err
}

// unread returns how many bytes of responses wait in the system's buffers (SIOCOUTQ, tcp(7)).
func (l *lastListener) unread(t *testing.T) int64 {
	t.Helper()
	c := l.last.Load()
	if c == nil {
		return 0
	}
	raw, err := c.SyscallConn()
	must(t, err)
	var n int32
	must(t, raw.Control(func(fd uintptr) {
		if _, _, failed := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCOUTQ, uintptr(unsafe.Pointer(&n))); failed != 0 {
			t.Error(failed)
		}
	}))
	return int64(n)
}

// A response that the client does not read takes little of the system's memory.
func TestUnreadMemoryIsSmall(t *testing.T) {
	ln := &lastListener{Listener: listenTest(t)}
	w, length := largeResponse(t, time.Minute, func(c *Config) { c.Listener = ln })
	c := w.from(t, "127.0.0.2")
	io.WriteString(c, "GET /large HTTP/1.1\r\nHost: edge.test\r\n\r\n")
	before, now := int64(0), int64(-1)
	settled(t, "the system takes no more", func() bool {
		time.Sleep(50 * time.Millisecond) // enough for the system to buffer it all
		before, now = now, ln.unread(t)
		return now > 0 && now == before
	})
	if now > 512<<10 {
		t.Errorf("%d bytes of %d wait in the system", now, length)
	}
	c.Close()
}
