package wire

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestLostAfter(t *testing.T) {
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "socket")} {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c, err := (&net.Dialer{Control: LostAfter(20 * time.Second)}).DialContext(t.Context(), network, l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		tcp, ok := c.(*net.TCPConn)
		if !ok {
			continue
		}
		raw, err := tcp.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		raw.Control(func(fd uintptr) {
			if ms, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout); err != nil || ms != 20_000 {
				t.Errorf("%d ms, %v", ms, err)
			}
		})
	}
}
